//! The manual's manifests: they fit Kubernetes' schemas, and what they run works as it is written there, in
//! containers of a sort.

mod credentials;
mod hostile;
mod manifest;
mod others;
mod plugins;
mod pod_label;
mod words;

use std::os::unix::fs::PermissionsExt;

use elect_testkit::program::{children, copy, line_of, name};
use elect_testkit::servers::{fetched, free_port};
use nix::sys::signal::kill;

use self::manifest::{Container, Manifest, words};
use crate::cli::manual::{block, blocks};
use crate::prelude::*;
use crate::support::waiting;
use crate::web::{Application, BUSY, WELL, get};

/// The first version with native sidecars, and the newest that the checker knows.
const VERSIONS: [&str; 2] = ["1.29.1", "1.37.0"];
const SETUP: &str = "run `tests/run setup` once, which installs it";

fn manifests() -> [String; 2] {
    ["In front of the entrypoint", "Beside an application"]
        .map(|heading| block("kubernetes", heading, "yaml"))
}

/// All of them, as the checker takes long to start.
fn fit(manifests: &[String], version: &str) -> Result<(), String> {
    let checker = fetched("python/bin/kubernetes-validate");
    let checker = checker.unwrap_or_else(|| panic!("kubernetes-validate is missing: {SETUP}"));
    let folder = TempDir::new().expect("a folder");
    let mut command = Command::new(checker);
    command.args(["--strict", "-k", version]);
    for (number, manifest) in manifests.iter().enumerate() {
        let file = folder.path().join(format!("manifest{number}.yaml"));
        fs::write(&file, manifest).expect("a file");
        command.arg(file);
    }
    let output = command.output().expect("a checker");
    let said = [output.stdout, output.stderr].concat();
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&said).into_owned()) }
}

#[test]
fn the_manifests_fit_the_schemas() {
    let parts = [
        ("kubernetes", "Drains and rollouts"),
        ("kubernetes-service", "A label for the leader"),
        ("kubernetes-store", "Rights"),
        ("kubernetes-store", "A Deployment"),
        ("kubernetes-store", "A CronJob"),
        ("kubernetes-store", "Fewer rights"),
        ("kubernetes", "Network policy"),
    ];
    let parts = parts.iter().flat_map(|(topic, heading)| blocks(topic, heading, "yaml"));
    let parts = parts.chain(manifests());
    let all: Vec<String> =
        parts.flat_map(|part| part.split("---\n").map(str::to_owned).collect::<Vec<_>>()).collect();
    for version in VERSIONS {
        fit(&all, version).unwrap_or_else(|why| panic!("{version}: {why}"));
    }
    for manifest in manifests() {
        let wrong = manifest.replace("terminationGracePeriodSeconds", "terminationGracePeriod");
        assert!(fit(&[wrong], VERSIONS[0]).is_err(), "an unknown key has to be refused");
    }
}

/// By the port that the manifests name.
#[test]
fn prometheus_finds_the_pods() {
    let [monitor, settings] = &blocks("kubernetes-service", "Logs and metrics", "yaml")[..] else {
        panic!("two blocks")
    };
    let monitor: Value = serde_yaml::from_str(monitor).expect("YAML");
    let port = &monitor["spec"]["podMetricsEndpoints"][0]["port"];
    assert_eq!(monitor["kind"], "PodMonitor");
    assert!(
        settings.contains(&format!("port_name], regex: {}, action: keep", port.as_str().unwrap()))
    );
    let [worker, web] = manifests().map(|manifest| Manifest::read(&manifest));
    let store = blocks("kubernetes-store", "A Deployment", "yaml");
    let labelled = block("kubernetes-service", "A label for the leader", "yaml");
    for container in [
        worker.container("containers"),
        web.container("initContainers"),
        Manifest::read(&store[0]).container("containers"),
        Manifest::read(&labelled).container("containers"),
    ] {
        assert_eq!(container.value()["ports"][0]["name"], *port);
        assert_eq!(container.value()["ports"][0]["containerPort"], 9090);
        let words = container.words().join(" ").replace('=', " ");
        assert!(words.contains("--http 0.0.0.0:9090"), "{words}");
    }
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("prometheus.yml");
    // Debian's build of Prometheus knows no Kubernetes; what it does with the labels is the same for all targets.
    let (discovery, others) = ("kubernetes_sd_configs: [{role: pod}]", "static_configs: []");
    assert!(settings.contains(discovery), "{settings}");
    fs::write(&file, settings.replace(discovery, others)).expect("a file");
    let checked = Command::new("promtool").args(["check", "config"]).arg(&file).output();
    let checked = checked.expect("promtool is there: apt-get install prometheus");
    assert!(checked.status.success(), "{checked:?}");
}

/// A node with an etcd that demands a login, and what the pods on it have in common.
struct Node {
    etcd: Etcd,
    folder: TempDir,
}

impl Node {
    fn new() -> Self {
        let etcd = Etcd::start(1);
        // The "secret" is made of the keys, see above.
        etcd.demand_logins(&[("user", "password", &["readwrite elect/"])]);
        let node = Self { etcd, folder: TempDir::new().expect("a folder") };
        let binaries = node.folder.path().join("bin");
        fs::create_dir(&binaries).expect("a folder");
        copy(ELECT.as_ref(), &binaries.join("elect"));
        let server = "#!/bin/sh\n\
                      trap 'echo told >/run/elect/told; exit 0' TERM\n\
                      echo \"$ELECT_LEADER_ID $*\" >/run/elect/serves\n\
                      while :; do sleep 3600 & wait; done\n";
        fs::write(binaries.join("server"), server).expect("a file");
        for program in ["elect", "server"] {
            let all = fs::Permissions::from_mode(0o755);
            fs::set_permissions(binaries.join(program), all).expect("ours");
        }
        node
    }

    /// The folder that the containers of this pod share.
    fn shared(&self, pod: &str) -> PathBuf {
        let shared = self.folder.path().join(pod);
        if !shared.exists() {
            fs::create_dir(&shared).expect("a folder");
            fs::set_permissions(&shared, fs::Permissions::from_mode(0o777)).expect("ours");
        }
        shared
    }

    /// These words in this container, with addresses of the cluster replaced by those of this machine.
    fn exec(
        &self,
        pod: &str,
        container: &Container,
        words: &[String],
        here: &[(&str, &str)],
    ) -> Elect {
        let url = self.etcd.url();
        let replaced = [("etcd://etcd:2379", url.as_str())].into_iter().chain(here.iter().copied());
        let words: Vec<String> = words
            .iter()
            .map(|word| {
                replaced.clone().fold(word.clone(), |word, (old, new)| word.replace(old, new))
            })
            .collect();
        let script =
            concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/store/kubernetes/container.sh");
        let elect = Elect::new("unshare").args(["--mount", "--pid", "--fork", "--mount-proc"]);
        let elect = elect.args(["--kill-child", "sh", script]).arg(self.shared(pod));
        let elect = elect.arg(self.folder.path().join("bin")).arg(container.access());
        let variables = container.variables(pod);
        let elect = elect.arg(container.user()).args(words);
        variables.iter().fold(elect, |elect, (name, value)| elect.env(name, value))
    }

    fn start(&self, pod: &str, container: &Container, here: &[(&str, &str)]) -> Running {
        self.exec(pod, container, &container.words(), here).spawn()
    }

    /// Returns the waiting candidates, by pod.
    fn queue(&self, election: &str) -> Vec<String> {
        let status =
            Elect::new(ELECT).args(["status", "-o", "json", "-b", &self.etcd.url(), election]);
        waiting(&status.env("ELECT_USER", "user").env("ELECT_PASSWORD", "password").run())
    }

    #[track_caller]
    fn wait_for_queue(&self, election: &str, pods: &[&str]) {
        eventually(&format!("the queue {pods:?}"), || (self.queue(election) == pods).then_some(()));
    }
}

/// Tells the first process of a container to end, as the kubelet does.
#[track_caller]
fn terminate(container: &mut Running) {
    let unshare = container.pid();
    let first = eventually("the first process", || {
        children(unshare).into_iter().find(|&pid| name(pid).as_deref() == Some("elect"))
    });
    kill(Pid::from_raw(first), Signal::SIGTERM).expect("it lives");
}

#[test]
fn pods_with_elect_before_the_entrypoint_work_as_written() {
    let manifest = Manifest::read(&manifests()[0]);
    let container = manifest.container("containers");
    assert_eq!(manifest.replicas(), 2);
    let node = Node::new();
    let probe = words(&container.value()["readinessProbe"]["exec"]["command"]);
    let is_ready = |pod: &str| node.exec(pod, &container, &probe, &[]).run().code() == 0;
    let wait_until_ready =
        |pod: &str| eventually(&format!("{pod} to be ready"), || is_ready(pod).then_some(()));

    // The file name must not exist: `touch` on another user's file would fail for a different reason.
    for folder in ["/tmp", "/", "/run"] {
        let touch = ["touch".to_owned(), format!("{folder}/elect-writes-here")];
        node.exec("worker-0", &container, &touch, &[]).run().exits(1).says("Read-only file system");
    }
    // The containers share the network of this machine.
    let here = [("0.0.0.0:9090", "127.0.0.1:0")];
    let mut one = node.start("worker-1", &container, &here);
    wait_until_ready("worker-1");
    let mut two = node.start("worker-2", &container, &here);
    node.wait_for_queue("worker", &["worker-2"]);
    assert!(!is_ready("worker-2"));
    let serves = line_of(&node.shared("worker-1").join("serves"));
    assert!(serves.starts_with("worker-1-") && serves.ends_with(" --port 8080\n"), "{serves}");

    terminate(&mut one);
    one.wait().exits(0);
    assert_eq!(line_of(&node.shared("worker-1").join("told")), "told\n");
    wait_until_ready("worker-2");
    let mut three = node.start("worker-3", &container, &here);
    node.wait_for_queue("worker", &["worker-3"]);
    terminate(&mut three);
    three.wait().exits(143).prints("");
    terminate(&mut two);
    two.wait().exits(0);
}

#[test]
fn pods_are_given_the_time_that_their_ends_take() {
    let manifests = manifests();
    let (worker, web) = (Manifest::read(&manifests[0]), Manifest::read(&manifests[1]));
    let limit = |manifest: &Manifest| manifest.pod()["terminationGracePeriodSeconds"].as_u64();
    let stop = |manifest: &Manifest| {
        let command = manifest.container("containers").words().join(" ").replace('=', " ");
        let (_, stop) = command.split_once("--stop-timeout ").expect("a flag");
        let (stop, _) = stop.split_once("s ").expect("seconds");
        stop.parse::<u64>().expect("seconds")
    };
    assert!(limit(&worker).expect("a limit") >= stop(&worker) + 5);
    let labelled = block("kubernetes-service", "A label for the leader", "yaml");
    let labelled = Manifest::read(&labelled);
    assert!(limit(&labelled).expect("a limit") >= stop(&labelled) + 2 + 5, "the label's removal");
    let web_itself = web.container("containers");
    let hook = &web_itself.value()["lifecycle"]["preStop"]["sleep"]["seconds"];
    assert!(limit(&web).expect("a limit") >= hook.as_u64().expect("a number") + 30);
}

#[test]
fn pods_with_a_sidecar_work_as_written() {
    let manifest = Manifest::read(&manifests()[1]);
    let (sidecar, web) = (manifest.container("initContainers"), manifest.container("containers"));
    assert_eq!(sidecar.value()["restartPolicy"], "Always");
    assert_eq!(sidecar.value()["ports"][0]["containerPort"], 9090, "where --http listens");
    let node = Node::new();
    let served = format!("127.0.0.1:{}", free_port());
    let probe = |name: &str| {
        let path = sidecar.value()[name]["httpGet"]["path"].as_str().expect("a path").to_owned();
        assert_eq!(sidecar.value()[name]["httpGet"]["port"], "elect");
        get(&served, &path).map_or(0, |(status, _)| status)
    };
    let application = Application::start(BUSY);
    let address = application.address().to_string();
    let here = [("127.0.0.1:8080", address.as_str()), ("0.0.0.0:9090", served.as_str())];
    let asks = |pod: &str| {
        let check = ["elect".to_owned(), "check".to_owned()];
        node.exec(pod, &web, &check, &[]).run().code()
    };

    let mut one = node.start("web-1", &sidecar, &here);
    eventually("a server", || (probe("readinessProbe") != 0).then_some(()));
    assert_eq!(probe("readinessProbe"), 503, "the application is not well");
    assert_eq!(asks("web-1"), 1);
    application.answers(WELL);
    eventually("a leader", || (asks("web-1") == 0).then_some(()));
    assert_eq!((probe("readinessProbe"), get(&served, "/leader").map(|it| it.0)), (200, Some(200)));

    let other = Application::start(WELL);
    let address = other.address().to_string();
    let there = [("127.0.0.1:8080", address.as_str()), ("0.0.0.0:9090", "127.0.0.1:0")];
    let mut two = node.start("web-2", &sidecar, &there);
    node.wait_for_queue("web", &["web-2"]);
    assert_eq!(asks("web-2"), 1);
    // The kubelet ends the application first, then its sidecar.
    application.answers(BUSY);
    terminate(&mut one);
    one.wait().exits(0);
    eventually("the next leader", || (asks("web-2") == 0).then_some(()));
    terminate(&mut two);
    two.wait().exits(0);
}

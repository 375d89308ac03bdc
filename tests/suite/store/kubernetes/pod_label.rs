//! `--pod-label`: the pod has the label while it leads, and no longer.

use elect_testkit::program::children;
use elect_testkit::servers::kubernetes::{Fault, Rule, Scope};
use nix::sys::signal::kill;

use crate::cli::manual::blocks;
use crate::prelude::*;

const PODS: &str = "/api/v1/namespaces/elect/pods";
/// All that elections need.
const LEASES: &[&str] = &["get", "list", "watch", "create", "update", "delete"];
/// Says that it runs, and ends when it is told to and there is a file "go".
const SLOW: &str = "trap 'echo >\"$D/told\"' TERM; echo >\"$D/runs\"; \
                    until [ -e \"$D/go\" ]; do sleep 0.02; done; exit 0";

/// A namespace with two pods.
struct Cluster {
    server: ApiServer,
    folder: TempDir,
}

impl Cluster {
    fn new() -> Self {
        let server = ApiServer::start();
        for name in ["worker-1", "worker-2"] {
            let pod = json!({
                "metadata": {"name": name, "labels": {"app": "worker"}},
                "spec": {"containers": [{"name": "worker", "image": "worker:1"}]},
            });
            assert_eq!(server.call("POST", PODS, Some(&pod)).0, 201);
        }
        Self { server, folder: TempDir::new().expect("a folder") }
    }

    /// Returns the folder that the command in this pod knows as `D`.
    fn folder_of(&self, pod: &str) -> PathBuf {
        let folder = self.folder.path().join(pod.replace('/', "-"));
        fs::create_dir_all(&folder).expect("a folder");
        folder
    }

    /// Returns this subcommand in this pod, with the rights of an administrator.
    fn elect(&self, subcommand: &str, pod: &str) -> Elect {
        self.elect_at(subcommand, pod, &self.server.url("elect"))
    }

    fn elect_at(&self, subcommand: &str, pod: &str, url: &str) -> Elect {
        let words = [subcommand, "-b", url, "-e", "worker", "--pod-label"];
        let elect = Elect::new(ELECT).args(words).env("ELECT_TTL", "6s");
        elect.env("POD_NAME", pod).env("D", self.folder_of(pod))
    }

    fn labels(&self, pod: &str) -> Value {
        self.server.call("GET", &format!("{PODS}/{pod}"), None).1["metadata"]["labels"].take()
    }

    fn is_labelled(&self, pod: &str) -> bool {
        self.labels(pod)["elect/leader"] == "true"
    }

    #[track_caller]
    fn wait_for_label(&self, pod: &str, wanted: bool) {
        let what = format!("the label of {pod} to be {wanted}");
        eventually(&what, || (self.is_labelled(pod) == wanted).then_some(()));
    }

    #[track_caller]
    fn wait_for(&self, pod: &str, file: &str) {
        let path = self.folder_of(pod).join(file);
        eventually(file, || path.exists().then_some(()));
    }

    /// Has the command in this pod end.
    fn go(&self, pod: &str) {
        fs::write(self.folder_of(pod).join("go"), "").expect("a file");
    }

    /// Waits until a candidate waits in the queue.
    #[track_caller]
    fn wait_for_waiter(&self) {
        let leases = "/apis/coordination.k8s.io/v1/namespaces/elect/leases";
        eventually("a waiter", || {
            let (_, list) = self.server.call("GET", leases, None);
            let is_waiter =
                |lease: &Value| lease["metadata"]["annotations"]["elect/waiter"].is_string();
            list["items"].as_array()?.iter().any(is_waiter).then_some(())
        });
    }
}

/// Kills a whole tree at once, as the kernel ends a container.
fn kill_tree(run: &mut Running) {
    let (mut all, mut next) = (vec![run.pid()], 0);
    while let Some(&pid) = all.get(next) {
        all.extend(children(pid));
        next += 1;
    }
    // All are stopped first, so that no process acts on the death of another.
    for signal in [Signal::SIGSTOP, Signal::SIGKILL] {
        for &pid in &all {
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }
}

/// Nothing is said about the label.
fn says_nothing(ended: &Ended) {
    assert!(!ended.stderr.contains("--pod-label"), "{ended:?}");
}

#[test]
fn the_pod_has_the_label_while_it_leads_and_loses_it_before_its_command_ends() {
    let cluster = Cluster::new();
    let mut one = cluster.elect("run", "worker-1").sh(SLOW).spawn();
    cluster.wait_for_label("worker-1", true);
    assert_eq!(
        cluster.labels("worker-1"),
        json!({"app": "worker", "elect/leader": "true", "elect/election": "worker"})
    );
    let mut two = cluster.elect("run", "worker-2").sh(SLOW).spawn();
    cluster.wait_for_waiter();
    assert!(!cluster.is_labelled("worker-2"));
    cluster.wait_for("worker-1", "runs");
    one.signal(Signal::SIGTERM);
    cluster.wait_for_label("worker-1", false);
    cluster.wait_for("worker-1", "told");
    assert!(one.is_running(), "its command has not ended");
    assert_eq!(cluster.labels("worker-1"), json!({"app": "worker"}));
    cluster.go("worker-1");
    says_nothing(&one.wait().exits(0));
    cluster.wait_for_label("worker-2", true);
    cluster.wait_for("worker-2", "runs");
    two.signal(Signal::SIGTERM);
    cluster.go("worker-2");
    two.wait().exits(0);
    assert!(!cluster.is_labelled("worker-2"));
}

#[test]
fn the_next_leader_removes_the_label_of_one_that_was_killed() {
    let cluster = Cluster::new();
    let mut one = cluster.elect("run", "worker-1").sh(SLOW).spawn();
    cluster.wait_for_label("worker-1", true);
    kill_tree(&mut one);
    drop(one);
    assert!(cluster.is_labelled("worker-1"));
    let mut two = cluster.elect("run", "worker-2").sh(SLOW).spawn();
    cluster.wait_for_label("worker-2", true);
    assert!(!cluster.is_labelled("worker-1"));
    cluster.wait_for("worker-2", "runs");
    two.signal(Signal::SIGTERM);
    cluster.go("worker-2");
    two.wait().exits(0);
}

#[test]
fn a_container_that_starts_again_removes_its_old_label() {
    let cluster = Cluster::new();
    let other = cluster.elect("run", "worker-2").args(["--id", "other"]).sh(SLOW).spawn();
    cluster.wait_for_label("worker-2", true);
    let left =
        json!({"metadata": {"labels": {"elect/leader": "true", "elect/election": "worker"}}});
    cluster.server.call("PATCH", &format!("{PODS}/worker-1"), Some(&left));
    let again = cluster.elect("run", "worker-1").sh(SLOW).spawn();
    cluster.wait_for_label("worker-1", false);
    assert!(cluster.is_labelled("worker-2"), "that one leads");
    again.ended_by(Signal::SIGTERM).exits(143);
    drop(other);
}

#[test]
fn a_command_that_ends_leaves_no_label() {
    let cluster = Cluster::new();
    let script = "until [ -e \"$D/go\" ]; do sleep 0.02; done; exit 3";
    let run = cluster.elect("run", "worker-1").sh(script).spawn();
    cluster.wait_for_label("worker-1", true);
    cluster.go("worker-1");
    says_nothing(&run.wait().exits(3));
    assert_eq!(cluster.labels("worker-1"), json!({"app": "worker"}));
}

#[test]
fn a_leader_that_resigns_loses_the_label_and_gets_it_again() {
    let cluster = Cluster::new();
    let url = cluster.server.url("elect");
    let run = cluster.elect("run", "worker-1").args(["--after-loss", "campaign"]);
    let run = run.sh("exec sleep 3600").spawn();
    cluster.wait_for_label("worker-1", true);
    Elect::new(ELECT).args(["pause", "-b", &url, "worker"]).run().exits(0);
    assert!(!cluster.is_labelled("worker-1"));
    Elect::new(ELECT).args(["resume", "-b", &url, "worker"]).run().exits(0);
    cluster.wait_for_label("worker-1", true);
    run.ended_by(Signal::SIGTERM);
    assert!(!cluster.is_labelled("worker-1"));
}

#[test]
fn a_sidecar_labels_its_pod_too() {
    let cluster = Cluster::new();
    // A grace that no look is too late for.
    let sidecar = cluster.elect("sidecar", "worker-1").args(["--grace", "1h"]);
    let mut one = sidecar.env("ELECT_TTL", "10h").spawn();
    cluster.wait_for_label("worker-1", true);
    one.signal(Signal::SIGTERM);
    cluster.wait_for_label("worker-1", false);
    assert!(one.is_running(), "its grace is not over");
}

#[test]
fn a_label_that_the_role_denies_is_reported_once_and_disturbs_nothing() {
    let cluster = Cluster::new();
    let leases = Rule::leases("elect", LEASES);
    for (rules, warnings) in [
        (vec![leases.clone()], 2),
        (vec![leases, Rule::new("", "pods", "elect", &["get", "update"])], 1),
    ] {
        let may_label = warnings == 1;
        let url = ApiServer::url_with("elect", &cluster.server.kubeconfig_of(&rules));
        let mut run = cluster.elect_at("run", "worker-1", &url).sh(SLOW).spawn();
        cluster.wait_for("worker-1", "runs");
        if may_label {
            cluster.wait_for_label("worker-1", true);
        } else {
            // To remove what was left, and to set the label after all else was tried.
            let asked = || cluster.server.counts().of("get", "pods") >= 2;
            eventually("requests", || asked().then_some(()));
        }
        run.signal(Signal::SIGTERM);
        cluster.go("worker-1");
        let ended = run.wait().exits(0);
        let said = ended.stderr.matches("--pod-label").count();
        assert_eq!(said, warnings, "{}", ended.stderr);
        let lacks = |verb| ended.stderr.contains(&format!("lacks the verb {verb} on pods"));
        assert!(lacks("list") && lacks("get") != may_label, "{}", ended.stderr);
        for file in ["runs", "go", "told"] {
            let _ = fs::remove_file(cluster.folder_of("worker-1").join(file));
        }
        assert!(!cluster.is_labelled("worker-1"));
    }
}

/// Returns the rules of the manual's Role.
fn rules_of_the_manual() -> Vec<Rule> {
    let manifests = blocks("kubernetes-service", "A label for the leader", "yaml");
    let parts = manifests.iter().flat_map(|block| block.split("---\n"));
    let mut parts = parts.map(|part| serde_yaml::from_str::<Value>(part).expect("YAML"));
    let found = parts.find(|part| part["kind"] == "Role").expect("a Role");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let rule = |rule: &Value| {
        let verbs: Vec<String> =
            rule["verbs"].as_array().expect("verbs").iter().map(text).collect();
        let verbs: Vec<&str> = verbs.iter().map(String::as_str).collect();
        let (group, resource) = (text(&rule["apiGroups"][0]), text(&rule["resources"][0]));
        Rule::new(&group, &resource, "elect", &verbs)
    };
    found["rules"].as_array().expect("rules").iter().map(rule).collect()
}

#[test]
fn the_role_of_the_manual_is_enough() {
    let cluster = Cluster::new();
    let kubeconfig = cluster.server.kubeconfig_of(&rules_of_the_manual());
    let url = ApiServer::url_with("elect", &kubeconfig);
    let left =
        json!({"metadata": {"labels": {"elect/leader": "true", "elect/election": "worker"}}});
    cluster.server.call("PATCH", &format!("{PODS}/worker-2"), Some(&left));
    let mut run = cluster.elect_at("run", "worker-1", &url).sh(SLOW).spawn();
    cluster.wait_for_label("worker-1", true);
    assert!(!cluster.is_labelled("worker-2"));
    cluster.wait_for("worker-1", "runs");
    run.signal(Signal::SIGTERM);
    cluster.go("worker-1");
    says_nothing(&run.wait().exits(0));
    assert!(!cluster.is_labelled("worker-1"));
    let refused = cluster.server.counts().answers.get(&403).copied();
    assert_eq!(refused, None, "nothing is denied");
}

#[test]
fn an_answer_that_does_not_come_delays_neither_start_nor_stop() {
    let cluster = Cluster::new();
    let hang = |verbs: &[&str]| Fault::Hang { scope: Scope::verbs(verbs).of("pods"), done: false };
    cluster.server.fault(hang(&["list", "get", "update"]));
    let mut run = cluster.elect("run", "worker-1").sh(SLOW).spawn();
    cluster.wait_for("worker-1", "runs");
    run.signal(Signal::SIGTERM);
    cluster.wait_for("worker-1", "told");
    cluster.go("worker-1");
    let ended = run.wait().exits(0);
    assert!(ended.stderr.contains("--pod-label: "), "{}", ended.stderr);
    cluster.server.fault(Fault::None);
}

#[test]
fn a_label_that_could_not_be_set_is_set_later() {
    let cluster = Cluster::new();
    let broken = Scope::verbs(&["update"]).of("pods").times(1);
    cluster.server.fault(Fault::Fail { scope: broken, status: 500, done: false });
    let mut run = cluster.elect("run", "worker-1").sh(SLOW).spawn();
    cluster.wait_for_label("worker-1", true);
    cluster.wait_for("worker-1", "runs");
    run.signal(Signal::SIGTERM);
    cluster.go("worker-1");
    run.wait().exits(0).says("--pod-label: cannot label the pod worker-1 in the namespace elect");
}

#[test]
fn stores_that_know_no_pods_refuse_it() {
    let folder = TempDir::new().expect("a folder");
    let file = format!("file://{}", folder.path().display());
    for url in [file.as_str(), "etcd://127.0.0.1:1", "zk://127.0.0.1:1"] {
        for subcommand in ["run", "sidecar"] {
            let elect = Elect::new(ELECT).args([subcommand, "-b", url, "-e", "job", "--pod-label"]);
            let elect = if subcommand == "run" { elect.arg("true") } else { elect };
            let ended = elect.run().exits(125).says("--pod-label needs a store on Kubernetes");
            assert!(ended.stderr.contains(url) && ended.stderr.contains("hooks"), "{ended:?}");
        }
    }
    let variable = Elect::new(ELECT).args(["run", "-b", &file, "-e", "job", "true"]);
    variable.env("ELECT_POD_LABEL", "yes").run().exits(125).says("ELECT_POD_LABEL");
}

#[test]
fn a_pod_without_a_fitting_name_and_a_divided_election_are_refused() {
    let cluster = Cluster::new();
    let nameless = cluster.elect("run", "a/b").arg("true");
    nameless.run().exits(125).says("cannot label the pod").says("POD_NAME is \"a/b\"");
    for flags in [["--slots", "2"], ["--shards", "2"]] {
        let divided = cluster.elect("run", "worker-1").args(flags).arg("true");
        divided.run().exits(125).says("--pod-label").says(flags[0]);
    }
}

#[test]
fn elect_inside_the_command_labels_nothing() {
    let cluster = Cluster::new();
    let state = format!("file://{}", cluster.folder.path().display());
    let inner = format!("exec {ELECT} run -b {state} -e inner true");
    let words = ["run", "-b", &cluster.server.url("elect"), "-e", "worker"];
    let run = Elect::new(ELECT).args(words).env("POD_NAME", "worker-1");
    run.env("ELECT_POD_LABEL", "true").sh(&inner).run().exits(0);
}

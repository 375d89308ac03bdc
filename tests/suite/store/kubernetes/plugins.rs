//! Programs that print who we are: children of elect that belong to no command.

use std::os::unix::fs::PermissionsExt as _;

use elect_testkit::program::is_alive;

use crate::prelude::*;

/// An API server, and a folder with a user's plugin.
struct Cluster {
    server: ApiServer,
    folder: TempDir,
}

impl Cluster {
    /// A user whose plugin prints a token that is good for a minute, and is asked again with each request. It runs
    /// `script` first, which knows `$D`, the folder, and in `$N` how often it has been asked.
    fn new(script: &str) -> Self {
        let (server, folder) = (ApiServer::start(), TempDir::new().expect("a folder"));
        let admin = server.kubeconfig();
        let token = server.token(admin);
        let plugin = format!(
            "#!/bin/sh\necho run >>\"$D/runs\"; N=$(wc -l <\"$D/runs\")\n{script}\n\
             until=$(date -u -d \"@$(($(date +%s) + 59))\" +%Y-%m-%dT%H:%M:%SZ)\n\
             echo '{{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":{{\"token\":\"{token}\",\
             \"expirationTimestamp\":\"'$until'\"}}}}'\n"
        );
        let path = folder.path().join("plugin");
        fs::write(&path, plugin).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("ours");
        let text = fs::read_to_string(admin).expect("a configuration");
        let mut config: Value = serde_yaml::from_str(&text).expect("a configuration");
        config["users"][0]["user"] = json!({"exec": {
            "apiVersion": "client.authentication.k8s.io/v1", "command": "./plugin",
            "interactiveMode": "Never", "env": [{"name": "D", "value": folder.path()}]}});
        fs::write(folder.path().join("config"), config.to_string()).expect("a file");
        Self { server, folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `elect run` of this script.
    fn run(&self, script: &str) -> Elect {
        let url = ApiServer::url_with("elect", &self.path("config"));
        let elect = Elect::new(ELECT).args(["run", "-b", &url, "-e", "job", "--ttl", "6s"]);
        elect.env("D", self.folder.path()).sh(script)
    }
}

/// A process id that is written there.
fn pid_in(path: &Path) -> i32 {
    eventually("a process id", || fs::read_to_string(path).ok()?.strip_suffix('\n')?.parse().ok())
}

#[test]
fn a_plugin_is_asked_while_the_command_runs_and_says_nothing_in_its_place() {
    let cluster = Cluster::new("echo hello >&2");
    let script = "until [ $(wc -l <\"$D/runs\") -ge 5 ]; do sleep 0.05; done; echo done";
    let ended = cluster.run(script).run().exits(0).prints("done\n");
    assert!(!ended.stderr.contains("hello"), "{}", ended.stderr);
}

#[test]
fn no_run_waits_for_a_plugin_that_hangs_and_it_ends_with_elect() {
    let hangs = "[ $N = 1 ] || { echo $$ >\"$D/pid\"; exec sleep 600; }";
    for is_killed in [false, true] {
        let cluster = Cluster::new(hangs);
        let script = "until [ -e \"$D/end\" ]; do sleep 0.05; done; echo done";
        let mut elect = cluster.run(script).spawn();
        let (wrapper, plugin) = (elect.pid(), pid_in(&cluster.path("pid")));
        let stat = fs::read_to_string(format!("/proc/{plugin}/stat")).expect("it lives");
        let fields: Vec<_> = stat.split(' ').collect();
        let [parent, session] =
            [fields[3], fields[5]].map(|field| field.parse().expect("a number"));
        assert_eq!((parent, session), (wrapper, plugin), "{stat}");
        if is_killed {
            elect.ended_by(Signal::SIGKILL).exits(128 + Signal::SIGKILL as i32);
        } else {
            fs::write(cluster.path("end"), "").expect("a file");
            elect.wait().exits(0).prints("done\n");
        }
        eventually("the end of the plugin", || (!is_alive(plugin)).then_some(()));
        drop(cluster.server);
    }
}

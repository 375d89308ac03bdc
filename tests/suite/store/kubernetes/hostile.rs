//! Kubeconfigs that strangers can write, and API servers that send too much.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, chown};

use elect_testkit::servers::free_port;

use crate::prelude::*;
use crate::usage::other_user;

/// A home whose kubeconfig has a plugin, which leaves a mark and shows its environment.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        Self::within(&std::env::temp_dir())
    }

    fn within(folder: &Path) -> Self {
        let home = Self(TempDir::new_in(folder).expect("a folder"));
        fs::set_permissions(home.0.path(), fs::Permissions::from_mode(0o755)).expect("ours");
        let plugin = home.path("plugin");
        fs::write(&plugin, format!("#!/bin/sh\nenv >'{}'\n", home.path("mark").display()))
            .expect("a file");
        fs::set_permissions(&plugin, fs::Permissions::from_mode(0o755)).expect("ours");
        let config = json!({"current-context": "x",
            "clusters": [{"name": "c", "cluster": {"server": format!("http://127.0.0.1:{}", free_port())}}],
            "users": [{"name": "u", "user": {"exec": {
                "apiVersion": "client.authentication.k8s.io/v1", "command": plugin,
                "interactiveMode": "Never", "env": [{"name": "LISTEN_PID", "value": "mine"}]}}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}]});
        fs::create_dir(home.path(".kube")).expect("a folder");
        fs::write(home.path(".kube/config"), config.to_string()).expect("a file");
        fs::set_permissions(home.path(".kube/config"), fs::Permissions::from_mode(0o600))
            .expect("ours");
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Returns elect's messages, with this home, or with its kubeconfig named in the environment.
    fn status(&self, elect: Elect, is_named: bool) -> String {
        let config = self.path(".kube/config");
        let listed = if is_named { config.into_os_string() } else { "".into() };
        let elect = elect.args(["status", "-b", "kubernetes:", "job"]);
        let elect = elect.env("HOME", self.0.path()).env("KUBECONFIG", listed);
        elect.env("KUBERNETES_SERVICE_HOST", "").run().exits(125).stderr
    }

    /// Returns the environment that the plugin saw, if it was run.
    fn mark(&self) -> Option<String> {
        fs::read_to_string(self.path("mark")).ok()
    }
}

#[test]
fn a_kubeconfig_that_other_users_can_write_is_refused() {
    let home = Home::new();
    let config = home.path(".kube/config");
    for is_named in [true, false] {
        fs::set_permissions(&config, fs::Permissions::from_mode(0o666)).expect("ours");
        let said = home.status(Elect::new(ELECT), is_named);
        assert!(said.contains("it can be written by others: chmod go-w it"), "{said}");
        assert!(said.contains("another user could have it run any program"), "{said}");
        fs::set_permissions(&config, fs::Permissions::from_mode(0o600)).expect("ours");
        // In a folder in which all may write anybody can put another one there.
        fs::set_permissions(home.path(".kube"), fs::Permissions::from_mode(0o777)).expect("ours");
        let said = home.status(Elect::new(ELECT), is_named);
        assert!(said.contains(".kube can be written by others: chmod go-w it"), "{said}");
        fs::set_permissions(home.path(".kube"), fs::Permissions::from_mode(0o755)).expect("ours");
        assert_eq!(home.mark(), None, "its plugin was run");
    }
    home.status(Elect::new(ELECT), false);
    home.mark().expect("it is ours again");
}

/// As `sudo` does it where it keeps `HOME` or `KUBECONFIG`. Root has made that home, and given it away.
#[test]
fn root_obeys_no_kubeconfig_of_another_user() {
    let (home, user) = (Home::within(Path::new(env!("CARGO_TARGET_TMPDIR"))), other_user());
    for name in ["", ".kube", ".kube/config"] {
        chown(home.path(name), Some(user.id), Some(user.id)).expect("we are root");
    }
    for is_named in [true, false] {
        let said = home.status(Elect::new(ELECT), is_named);
        let distrust = format!("belongs to user {}, whom elect does not trust there", user.id);
        assert!(said.contains(&distrust), "{said}");
        assert_eq!(home.mark(), None, "its plugin was run");
    }
}

#[test]
fn a_user_obeys_a_kubeconfig_of_its_own() {
    let (home, user) = (Home::new(), other_user());
    for name in ["", ".kube", ".kube/config"] {
        chown(home.path(name), Some(user.id), Some(user.id)).expect("we are root");
    }
    let said = home.status(user.elect(), true);
    assert!(said.contains("plugin"), "{said}");
    home.mark().expect("it is that user's own");
}

/// As if root's shell stands in another user's folder.
#[test]
fn a_plugin_is_not_looked_for_where_elect_stands() {
    let home = Home::new();
    let (config, plugin) = (home.path(".kube/config"), home.path("plugin"));
    let text = fs::read_to_string(&config).expect("a file");
    let text = text.replace(&plugin.display().to_string(), "plugin");
    fs::write(&config, text).expect("a file");
    let folder = home.0.path().display().to_string();
    let status = |path: &str| {
        let elect = Elect::new(ELECT).under(["/usr/bin/env", "-C", &folder]);
        home.status(elect.env("PATH", path), true)
    };
    for path in ["", ":/usr/bin:/bin", ".:/usr/bin:/bin"] {
        let said = status(path);
        assert!(said.contains("cannot run the plugin plugin: it is not in PATH"), "{said}");
        assert_eq!(home.mark(), None, "its plugin was run");
    }
    status(&format!("{folder}:/usr/bin:/bin"));
    home.mark().expect("it is in PATH");
}

#[test]
fn a_plugin_gets_nothing_that_is_for_elect_alone() {
    let home = Home::new();
    let elect = [
        ("ELECT_USER", "me"),
        ("ELECT_PASSWORD", "hush"),
        ("ELECT_PASSWORD_FILE", "/hush"),
        ("NOTIFY_SOCKET", "/run/notify"),
        ("WATCHDOG_USEC", "1000000"),
        ("WATCHDOG_PID", "1"),
        ("LISTEN_FDS", "1"),
        ("LISTEN_PID", "1"),
        ("OTHER", "stays"),
    ]
    .iter()
    .fold(Elect::new(ELECT), |elect, (name, value)| elect.env(name, value));
    home.status(elect, true);
    let seen = home.mark().expect("it was run");
    let ours = ["ELECT_", "NOTIFY_SOCKET=", "WATCHDOG_", "LISTEN_FDS=", "LISTEN_PID=1"];
    let kept: Vec<_> =
        seen.lines().filter(|line| ours.iter().any(|name| line.starts_with(name))).collect();
    assert_eq!(kept, [""; 0]);
    assert!(seen.contains("OTHER=stays\n") && seen.contains("LISTEN_PID=mine\n"), "{seen}");
    assert!(seen.contains("KUBERNETES_EXEC_INFO="), "{seen}");
}

#[test]
fn a_namespace_of_a_kubeconfig_leads_nowhere_else() {
    let (server, folder) = (ApiServer::start(), TempDir::new().expect("a folder"));
    let text = fs::read_to_string(server.kubeconfig()).expect("a configuration");
    let text = text.replace("namespace: elect", "namespace: default/../../secrets?x=");
    let config = folder.path().join("config");
    fs::write(&config, text).expect("a file");
    let url = format!("kubernetes:?kubeconfig={}", config.display());
    let before = server.counts().requests;
    let said = Elect::new(ELECT).args(["status", "-b", &url, "job"]).run().exits(125);
    said.says("\"default/../../secrets?x=\" is no namespace")
        .says("the context kubernetes-admin of");
    assert_eq!(server.counts().requests, before);
}

/// The most that the program may have had in memory, in KiB.
const SMALL: u64 = 64 << 10;

/// A server that answers each request with this. Its kubeconfig.
fn flooding(folder: &TempDir, body: impl Fn(&str) -> String + Send + Sync + 'static) -> PathBuf {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    let body = Arc::new(body);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let body = Arc::clone(&body);
            thread::spawn(move || {
                let mut lines = BufReader::new(&stream);
                let mut first = String::new();
                while lines.read_line(&mut first).is_ok_and(|read| read > 0) {
                    let mut line = String::new();
                    while line != "\r\n" && lines.read_line(&mut line).is_ok_and(|read| read > 0) {
                        if line != "\r\n" {
                            line.clear();
                        }
                    }
                    let text = body(&first);
                    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", text.len());
                    let mut stream = &stream;
                    if stream.write_all(head.as_bytes()).is_err()
                        || stream.write_all(text.as_bytes()).is_err()
                    {
                        return;
                    }
                    first.clear();
                }
            });
        }
    });
    let config = json!({"current-context": "x",
        "clusters": [{"name": "c", "cluster": {"server": format!("http://{address}")}}],
        "contexts": [{"name": "x", "context": {"cluster": "c"}}]});
    let path = folder.path().join("config");
    fs::write(&path, config.to_string()).expect("a file");
    path
}

#[test]
fn floods_of_small_objects_stay_small() {
    const META: &str = r#""metadata":{"resourceVersion":"7","continue":"on"}"#;
    let many = |text: &str| text.repeat((4 << 20) / text.len() - 100);
    let floods: [(&str, String); 6] = [
        ("endless lists", format!("{{{META},\"items\":[{}0]}}", many("{\"a\":{\"b\":{}}},"))),
        ("numbers", format!("{{{META},\"items\":[{}0]}}", many("0,"))),
        ("one object", format!("{{{META},\"items\":[{{\"a\":[{}0]}}]}}", many("{},"))),
        ("what is not ours", format!("{{{META},\"x\":[{}0],\"items\":[]}}", many("{},"))),
        (
            "managed fields",
            format!(
                "{{{META},\"items\":[{{\"metadata\":{{\"managedFields\":[{}0]}}}}]}}",
                many("{},")
            ),
        ),
        ("a long body", format!("[{}0]", "{},".repeat(6 << 20))),
    ];
    for (what, flood) in floods {
        let folder = TempDir::new().expect("a folder");
        let config = flooding(&folder, move |_| flood.clone());
        let url = ApiServer::url_with("elect", &config);
        for words in
            [&["status", "job"][..], &["status"], &["run", "-e", "job", "-w", "1s", "true"]]
        {
            let elect = Elect::new(ELECT).args(&words[..1]).args(["-b", &url]).args(&words[1..]);
            let (ended, peak) = elect.spawn().wait_with_peak();
            println!("{what}, {words:?}: {peak} KiB");
            assert!(peak < SMALL, "{what}, {words:?}: {peak} KiB: {}", ended.stderr);
        }
    }
}

/// Of each election that lives somewhere, a Lease is as long as it may be.
#[test]
fn long_leases_are_listed_in_smaller_parts() {
    let server = ApiServer::start();
    let path = "/apis/coordination.k8s.io/v1/namespaces/elect/leases";
    let record =
        json!({"record": {"token": 7, "entered": true}, "spec": {"holder": "", "transitions": 0}});
    for number in 0..25 {
        let annotations = json!({"elect/record": record.to_string(), "x": "x".repeat(200 << 10)});
        let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": format!("job-{number}"), "annotations": annotations},
            "spec": {"holderIdentity": "", "leaseTransitions": 0}});
        let (status, said) = server.call("POST", path, Some(&lease));
        assert_eq!(status, 201, "{said}");
    }
    let list = Elect::new(ELECT).args(["status", "-b", &server.url("elect"), "-o", "json"]).run();
    let found: Value = serde_json::from_str(&list.exits(0).stdout).expect("JSON");
    assert_eq!(found.to_string().matches("\"job-").count(), 25, "{found}");
}

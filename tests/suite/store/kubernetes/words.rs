//! The messages that new users get who begin with the store on Kubernetes.

use std::os::unix::fs::PermissionsExt as _;

use elect_testkit::servers::free_port;

use crate::prelude::*;
use crate::web::Application;

/// A home with nothing in it, and no way to an API server but what is put there.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        Self(TempDir::new().expect("a folder"))
    }

    /// A kubeconfig for this server and this user, by the name `config`.
    fn config(&self, server: &str, user: &Value) {
        let config = json!({"current-context": "x",
            "clusters": [{"name": "c", "cluster": {"server": server}}],
            "users": [{"name": "u", "user": user}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}]});
        fs::write(self.0.path().join("config"), config.to_string()).expect("a file");
    }

    /// A user whose plugin is this script.
    fn plugin(&self, script: &str) -> Value {
        let path = self.0.path().join("plugin");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("ours");
        json!({"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "./plugin",
            "interactiveMode": "Never"}})
    }

    fn elect(&self, words: &[&str], url: &str) -> Ended {
        let elect = Elect::new(ELECT).args(&words[..1]).args(["-b", url]).args(&words[1..]);
        let elect = elect.env("HOME", self.0.path());
        elect.env("KUBECONFIG", "").env("KUBERNETES_SERVICE_HOST", "").run()
    }
}

/// The file that is named so in the home.
const CONFIG: &str = "kubernetes:///n?kubeconfig=~/config";

/// The TTL has whole seconds, and is at least 6 s.
#[test]
fn a_lease_that_is_longer_than_asked_for_is_told() {
    let server = ApiServer::start();
    for (asked, granted) in [("4s", "6s"), ("8s 300ms", "9s")] {
        let run = Elect::new(ELECT).args(["run", "-v", "-b", &server.url("elect")]);
        let ended = run.args(["-e", "job", "--ttl", asked, "true"]).run().exits(0);
        ended.says(&format!("the store grants a lease of {granted}, {asked} was asked for"));
    }
    let run = Elect::new(ELECT).args(["run", "-v", "-b", &server.url("elect")]);
    let ended = run.args(["-e", "job", "--ttl", "6s", "true"]).run().exits(0);
    assert!(!ended.stderr.contains("was asked for"), "{}", ended.stderr);
}

#[test]
fn a_file_is_found_in_the_home_and_told_if_it_is_empty() {
    let home = Home::new();
    let path = home.0.path().join("config").display().to_string();
    home.elect(&["status"], CONFIG).exits(125).says(&format!("names {path}, and no such file"));
    fs::write(home.0.path().join("config"), "\n").expect("a file");
    home.elect(&["status"], CONFIG).exits(125).says(&format!("{path} is empty"));
}

/// As for a service, or a user of a container.
#[test]
fn without_a_home_no_file_in_it_is_named() {
    let said = |url: &str, list: &str| {
        let elect = Elect::new(ELECT).args(["status", "-b", url]).env("HOME", "");
        let elect = elect.env("KUBECONFIG", list).env("KUBERNETES_SERVICE_HOST", "");
        elect.run().exits(125).prints("")
    };
    said("kubernetes:", "").says("KUBECONFIG is not set, HOME is not set, and this is no pod");
    said("kubernetes:", ":").says("KUBECONFIG names no file: write its path, or unset it");
    let context = said("kubernetes:///?context=prod", "");
    context.says("there is no kubeconfig, as KUBECONFIG is not set and HOME is not set");
}

#[test]
fn a_web_server_is_no_api_server() {
    let page = b"HTTP/1.1 404 Not Found\r\nContent-Length: 22\r\n\r\n<html>\n<h1>nginx</h1>\n";
    let server = Application::start(page);
    let home = Home::new();
    home.config(&format!("http://{}", server.address()), &json!({}));
    let what = "what answers there is no Kubernetes API server: it sent a web page (404)";
    for words in [&["status", "job"][..], &["doctor"]] {
        let said = home.elect(words, CONFIG).exits(125).says(what);
        assert!(!said.stderr.contains("nginx"), "{}", said.stderr);
    }
    home.elect(&["status", "job"], CONFIG).says("look where the server of the context x of");
}

#[test]
fn a_plugin_that_hangs_is_named() {
    let home = Home::new();
    let user = home.plugin("exec sleep 30");
    home.config(&format!("http://127.0.0.1:{}", free_port()), &user);
    let path = home.0.path().display();
    let said =
        format!("the plugin {path}/./plugin of the user u of {path}/config has not answered");
    home.elect(&["run", "-e", "job", "-w", "1s", "true"], CONFIG).exits(125).says(&said);
    home.elect(&["status", "job"], CONFIG).exits(125).says(&said).says("run kubectl as that user");
    home.elect(&["doctor"], CONFIG).exits(125).says(&said).says("within 6s");
}

#[test]
fn a_cluster_that_is_out_of_reach_is_told_once() {
    let home = Home::new();
    let port = free_port();
    home.config(&format!("http://127.0.0.1:{port}"), &json!({}));
    let said = home.elect(&["doctor"], CONFIG).exits(125).stderr;
    assert_eq!(said.matches(&format!(":{port}")).count(), 1, "{said}");
    // So is why there are no credentials, which each question would say.
    let user = home.plugin("echo hush; echo Log in first >&2; exit 1");
    home.config(&format!("http://127.0.0.1:{port}"), &user);
    let ended = home.elect(&["doctor", "-o", "json"], CONFIG).exits(1);
    let report: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let findings = report["findings"].as_array().expect("a list");
    let errors: Vec<&str> = findings
        .iter()
        .filter(|finding| finding["severity"] != "note")
        .filter_map(|finding| finding["what"].as_str())
        .collect();
    let [only] = errors[..] else { panic!("{errors:#?}") };
    assert!(only.starts_with("elect cannot look or lead: "), "{only}");
    assert!(only.contains("its last words: Log in first") && !only.contains("hush"), "{only}");
}

//! Rights that a store refuses, and the users that lack them.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use elect_testkit::servers::kubernetes::Rule;
use elect_testkit::servers::{ApiServer, Etcd, ZooKeeper, ZooKeeperSetup};
use serde_json::Value;
use tempfile::TempDir;

use super::{RIGHTS, doctor, findings, granted, list, only, report};
use crate::usage::other_user;

/// No word of it is a secret.
#[track_caller]
fn is_discreet(found: &Value) {
    assert!(!found.to_string().contains("hush"), "{found:#}");
}

#[test]
fn on_etcd() {
    let etcd = Etcd::start(1);
    etcd.demand_logins(&[
        ("me", "hush", &["readwrite elect/"]),
        ("onlooker", "hush", &["read elect/"]),
    ]);
    let with = |user: &str, password: &str| {
        doctor(&etcd.url()).env("ELECT_USER", user).env("ELECT_PASSWORD", password)
    };
    // As the manual has it, and no more.
    let found = report(&with("me", "hush"), 0);
    assert_eq!(granted(&found), RIGHTS);
    let found = report(&with("onlooker", "hush"), 1);
    only(&found, "error", &["elect cannot lead", "onlooker", "right to read and write"]);
    assert_eq!(granted(&found), ["look"]);
    is_discreet(&found);
    let found = report(&with("me", "hush-hush"), 1);
    assert!(findings(&found, "error")[0].contains("password is wrong"), "{found:#}");
    assert!(granted(&found).is_empty());
    is_discreet(&found);
    let found = report(&doctor(&etcd.url()), 1);
    assert!(
        findings(&found, "error").iter().all(|found| found.contains("ELECT_USER")),
        "{found:#}"
    );
    assert_eq!(list(&found, "endpoints")[0]["answers"], true, "it says that much to all");
}

#[test]
fn on_zookeeper() {
    let setup =
        ZooKeeperSetup { tick: std::time::Duration::from_secs(2), ..ZooKeeperSetup::default() };
    let zookeeper = ZooKeeper::start(&setup);
    let with = |user: &str| {
        let url = zookeeper.url().replace("://", &format!("://{user}@"));
        doctor(&url).env("ELECT_PASSWORD", format!("hush-{user}"))
    };
    // The user that comes first owns the directory.
    let url = zookeeper.url().replace("://", "://ann@");
    let elect = elect_testkit::program::Elect::new(env!("CARGO_BIN_EXE_elect"));
    let elect =
        elect.args(["run", "-b", &url, "-e", "job", "true"]).env("ELECT_PASSWORD", "hush-ann");
    elect.run().exits(0);
    let found = report(&with("ann"), 0);
    assert_eq!(granted(&found), RIGHTS);
    let found = report(&with("bob"), 1);
    let errors = findings(&found, "error");
    assert!(
        errors[0].contains("/elect") && errors[0].contains("we lack the right to"),
        "{found:#}"
    );
    assert!(granted(&found).is_empty(), "{found:#}");
    is_discreet(&found);
}

#[test]
fn on_kubernetes() {
    let server = ApiServer::start();
    let all = ["get", "list", "watch", "create", "update", "delete"];
    for missing in all {
        let verbs: Vec<&str> = all.into_iter().filter(|verb| *verb != missing).collect();
        let user = server.kubeconfig_of(&[Rule::leases("elect", &verbs)]);
        let found = report(&doctor(&ApiServer::url_with("elect", &user)), 1);
        let lacks = format!("the Role lacks {missing} on leases in the namespace elect");
        assert!(findings(&found, "error").contains(&lacks), "{found:#}");
        // A candidate that leads at once needs neither of these.
        let needs_none = ["watch", "delete"].contains(&missing);
        assert_eq!(granted(&found) == RIGHTS, needs_none, "without {missing}: {found:#}");
    }
    let user = server.kubeconfig_of(&[]);
    server.expire_token(&user);
    let found = report(&doctor(&ApiServer::url_with("elect", &user)), 1);
    let errors = findings(&found, "error");
    let [error] = &errors[..] else { panic!("the same thing more than once: {found:#}") };
    assert!(error.starts_with("elect cannot look or lead: "), "{found:#}");
    assert!(error.contains("401 Unauthorized"), "{found:#}");
    assert!(granted(&found).is_empty(), "{found:#}");
    assert!(!found.to_string().contains(&server.token(&user)), "{found:#}");
    let found = report(&doctor(&server.url("nowhere")), 1);
    only(&found, "error", &["elect cannot lead", "kubectl create namespace nowhere"]);
}

#[test]
fn on_the_local_disk() {
    let (user, folder) = (other_user(), TempDir::new().expect("a temporary folder"));
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("our own");
    let url = format!("file://{}", folder.path().display());
    let found = report(&user.elect().args(["doctor", "-o", "json", "-b", &url]), 1);
    only(&found, "error", &["elect cannot lead", &folder.path().display().to_string()]);
    assert_eq!(granted(&found), ["look"]);
    // Others' directories are not even looked into by those whom their owner could lead elsewhere.
    std::os::unix::fs::chown(folder.path(), Some(user.id + 1), None).expect("we are root");
    let found = report(&doctor(&url), 1);
    let errors = findings(&found, "error");
    assert!(errors[0].contains("belongs to user"), "{found:#}");
}

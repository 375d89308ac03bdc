//! A person removes the leader's entry by hand. The promise does not cover this, but the leader notices at once.

use elect_testkit::servers::ZooKeeperSetup;

use super::cluster::{Brand, Cluster as _};
use crate::prelude::*;

/// So long that neither a renewal nor a deadline comes in the test's time, nor the end of a grace.
const TTL: &str = "10m";

/// A leads with a tree that is deaf to TERM; `remove` takes its entry away.
fn is_killed_at_once(url: &str, remove: impl FnOnce()) {
    let oracle = Oracle::new();
    let leader = Elect::new(ELECT)
        .args(["run", "-b", url, "-e", "job", "--ttl", TTL, "--"])
        .args(oracle.stamper("A").children(2).depth(2).deaf().command())
        .spawn();
    oracle.wait_for_run("A");
    let before = now();
    remove();
    leader.wait().exits(124);
    let run = oracle.newest("A").expect("it ran");
    assert!(!run.is_alive(), "{run}");
    println!("removed within {:?} before its last stamp", run.last.since(before));
}

fn etcd(remove: impl FnOnce(&Etcd)) {
    let etcd = Etcd::start(1);
    let url = Brand::Etcd.url(&etcd.addresses());
    is_killed_at_once(&url, || remove(&etcd));
}

/// The only key, which is the leader's.
fn key(etcd: &Etcd) -> String {
    let keys = etcd.ctl(&["get", "", "--prefix", "--keys-only"]);
    keys.lines().find(|line| line.starts_with("elect/job/")).expect("a key").to_owned()
}

#[test]
fn a_key_deleted_by_hand() {
    etcd(|etcd| drop(etcd.ctl(&["del", &key(etcd)])));
}

#[test]
fn a_lease_revoked_by_hand() {
    etcd(|etcd| {
        let key = key(etcd);
        let lease = key.rsplit('/').next().expect("a lease id");
        etcd.ctl(&["lease", "revoke", lease]);
    });
}

#[test]
fn an_etcd_that_is_emptied() {
    etcd(|etcd| drop(etcd.ctl(&["del", "", "--prefix"])));
}

/// Removes all that is below a node.
async fn empty(client: &zookeeper_client::Client, path: &str) {
    for child in client.list_children(path).await.expect("a list") {
        if child == "zookeeper" {
            continue;
        }
        let child = format!("{}/{child}", path.trim_end_matches('/'));
        Box::pin(empty(client, &child)).await;
        // A container may be quicker.
        let _ = client.delete(&child, None).await;
    }
}

fn zookeeper(top: &str) {
    let server = ZooKeeper::start(&ZooKeeperSetup {
        tick: Duration::from_secs(30),
        ..ZooKeeperSetup::default()
    });
    let address = server.addresses()[0].to_string();
    let url = Brand::ZooKeeper.url(&server.addresses());
    is_killed_at_once(&url, || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let client = zookeeper_client::Client::connect(&address).await.expect("a session");
            empty(&client, top).await;
        });
    });
}

#[test]
fn a_node_deleted_by_hand() {
    zookeeper("/elect/job");
}

#[test]
fn a_zookeeper_that_is_emptied() {
    zookeeper("/");
}

#[test]
fn a_lease_of_kubernetes_deleted_by_hand() {
    let server = ApiServer::start();
    is_killed_at_once(&server.url("elect"), || {
        let lease = "/apis/coordination.k8s.io/v1/namespaces/elect/leases/job";
        assert_eq!(server.call("DELETE", lease, None).0, 200);
    });
}

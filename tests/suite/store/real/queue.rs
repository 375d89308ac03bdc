//! A waiting candidate keeps its place while the store changes its own leader.

use std::time::Duration;

use elect_testkit::oracle::Oracle;

use super::cluster::Brand;
use super::duel::{elect, wait_in_line};

/// With time enough for an election within the store.
const TTL: Duration = Duration::from_secs(15);

/// A leads, B and C wait; the member that they all talk to dies, and comes back.
fn waiters_keep_their_place(brand: Brand) {
    let mut cluster = brand.here(3);
    let near = cluster.leader();
    let mut addresses = cluster.addresses();
    addresses.rotate_left(near);
    let url = brand.url(&addresses);
    let oracle = Oracle::new();
    let end = oracle.flag("end");
    let leader =
        elect(&url, "A", TTL, None).arg("--").args(oracle.stamper("A").until(&end).command());
    let leader = leader.spawn();
    oracle.wait_for_run("A");
    let waiters = ["B", "C"].map(|tag| {
        let brief = oracle.stamper(tag).children(1).lasting(Duration::from_millis(20));
        let waiter = elect(&url, tag, TTL, None).arg("--").args(brief.command()).spawn();
        wait_in_line(&url, &format!("{tag}-"), None);
        waiter
    });
    cluster.member(near).kill();
    oracle.wait_for_stamps("A", TTL + Duration::from_secs(1));
    cluster.member(near).restart();
    cluster.leader();
    end.raise();
    leader.wait().exits(0);
    for waiter in waiters {
        waiter.wait().exits(0);
    }
    let runs = oracle.assert_sound();
    assert_eq!(runs.iter().map(|run| &*run.tag).collect::<Vec<_>>(), ["A", "B", "C"]);
}

#[test]
fn waiters_keep_their_place_when_etcds_leader_dies() {
    waiters_keep_their_place(Brand::Etcd);
}

#[test]
fn waiters_keep_their_place_when_zookeepers_leader_dies() {
    waiters_keep_their_place(Brand::ZooKeeper);
}

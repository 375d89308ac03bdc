//! One member of three is down.

use elect_testkit::program::eventually;
use elect_testkit::servers::{Etcd, ZooKeeper, ZooKeeperSetup};
use serde_json::{Value, json};

use super::{RIGHTS, doctor, endpoints, granted, only, report};

#[track_caller]
fn is_missed(found: &Value, member: usize, address: &str) {
    only(&but_for_its_version(found), "warning", &[address, "2 of the 3 named answer"]);
    let answers: Vec<Value> = (0..3).map(|other| json!(other != member)).collect();
    assert_eq!(endpoints(found, "answers"), answers, "{found:#}");
    assert!(endpoints(found, "error")[member].is_string(), "{found:#}");
    assert_eq!(granted(found), RIGHTS, "the others do");
    assert_eq!(found["ttl"]["advised_ms"], 15_000, "{found:#}");
}

/// Drops the known finding about the version of etcd here.
fn but_for_its_version(found: &Value) -> Value {
    let mut found = found.clone();
    let findings = found["findings"].as_array_mut().expect("a list");
    findings.retain(|finding| !finding["what"].as_str().expect("words").contains("issues/20418"));
    found
}

#[test]
fn of_etcd() {
    let mut etcd = Etcd::start(3);
    let member = (etcd.leader() + 1) % 3;
    etcd.member(member).kill();
    let found = report(&doctor(&etcd.url()), 1);
    is_missed(&found, member, &etcd.endpoints()[member].to_string());
}

/// It keeps its connections, and says nothing.
#[test]
fn of_etcd_stopped() {
    let etcd = Etcd::start(3);
    let member = (etcd.leader() + 1) % 3;
    let stopped = etcd.stop_member(member);
    let found = report(&doctor(&etcd.url()), 1);
    is_missed(&found, member, &etcd.endpoints()[member].to_string());
    drop(stopped);
}

#[test]
fn of_zookeeper() {
    let setup = ZooKeeperSetup {
        members: 3,
        tick: std::time::Duration::from_secs(2),
        ..ZooKeeperSetup::default()
    };
    let mut zookeeper = ZooKeeper::start(&setup);
    let leader = eventually("a leader", || zookeeper.leader());
    let member = (leader + 1) % 3;
    zookeeper.member(member).kill();
    let found = report(&doctor(&zookeeper.url()), 1);
    is_missed(&found, member, &zookeeper.address(member).to_string());
}

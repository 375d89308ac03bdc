//! Between the fork of the command and its exec, in moments that `strace` makes long.

use elect_testkit::fault::Outcome;
use elect_testkit::program::is_alive;
use elect_testkit::servers::Place;

use super::duel::elect;
use super::store::{Ground, Store};
use super::{CONSUL, ETCD, KUBERNETES, MARIADB, POSTGRESQL, REDIS, ZOOKEEPER, report};
use crate::prelude::*;
use crate::stage::{CALLS, newborn, send_if_alive, stretched};

const TTL: Duration = Duration::from_secs(5);
/// The processes that are killed, of wrapper, guardian and command.
const VICTIMS: [&[usize]; 4] = [&[1], &[0], &[1, 0], &[2]];

/// Kills processes at a step that chance chooses. B leads next.
fn kill_at_birth(store: Store) -> Outcome {
    let call = CALLS[fastrand::usize(..CALLS.len())];
    let victims = VICTIMS[fastrand::usize(..VICTIMS.len())];
    println!("in {call}, {victims:?} killed");
    let ground = Ground::start(store, 1, &Place::here());
    let url = ground.url(&ground.addresses());
    let (oracle, ttl) = (Oracle::new(), store.grants(TTL));
    let tree = oracle.stamper("A").children(1);
    let mut a =
        elect(&url, "A", ttl, None).under(stretched(call)).arg("--").args(tree.command()).spawn();
    let newborn = newborn(a.pid());
    let last = now();
    for &victim in victims {
        send_if_alive(newborn[victim], Signal::SIGKILL);
    }
    let next = oracle.stamper("B").children(1).lasting(Duration::from_millis(50));
    elect(&url, "B", ttl, None).arg("--").args(next.command()).run().exits(0);
    let runs = oracle.assert_sound();
    assert!(runs.last().is_some_and(|run| run.tag == "B"), "{runs:?}");
    eventually("the end of all", || newborn.iter().all(|&pid| !is_alive(pid)).then_some(()));
    assert_ne!(a.wait().code(), 0);
    let last = oracle.newest("A").map_or(last, |run| run.last);
    let next = oracle.newest("B").map(|run| run.first);
    Outcome { last, lease_end: None, next, kept: None }
}

fn survive(store: Store) {
    report("13 killed between fork and exec", store, &kill_at_birth(store));
}

#[test]
fn in_etcd() {
    survive(ETCD);
}

#[test]
fn in_zookeeper() {
    survive(ZOOKEEPER);
}

#[test]
fn in_kubernetes() {
    survive(KUBERNETES);
}

#[test]
#[ignore = "tests/deep/run every_fault runs it"]
fn in_consul() {
    survive(CONSUL);
}

#[test]
#[ignore = "tests/deep/run every_fault runs it"]
fn in_mariadb() {
    survive(MARIADB);
}

#[test]
#[ignore = "tests/deep/run every_fault runs it"]
fn in_redis() {
    survive(REDIS);
}

#[test]
fn in_postgresql() {
    survive(POSTGRESQL);
}

#[test]
fn on_the_local_disk() {
    survive(Store::File);
}

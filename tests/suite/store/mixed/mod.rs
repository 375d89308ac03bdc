//! elect beside its peers in one election: `etcdctl`, kazoo and Curator, as their users run them.
//!
//! The peers are small programs in `tests/suite/store/foreign`. A peer's command is killed with the peer, as
//! its own promise ends there; of elect only the wrapper is killed.

mod arena;
mod candidate;
mod peer;
mod play;
mod programs;

use std::time::Duration;

use elect_testkit::oracle::Fault;

pub(crate) use self::arena::Arena;
pub(crate) use self::peer::Peer;
use self::play::{play, play_ranked};

#[test]
fn elect_and_etcdctl_elect() {
    play(&[Peer::EtcdctlElect]);
}

#[test]
fn elect_and_etcdctl_lock() {
    play(&[Peer::EtcdctlLock]);
}

#[test]
fn elect_and_both_of_etcdctl() {
    play(&[Peer::EtcdctlElect, Peer::EtcdctlLock]);
}

#[test]
fn elect_and_kazoo_lock() {
    play(&[Peer::KazooLock]);
}

#[test]
fn elect_and_kazoo_election() {
    play(&[Peer::KazooElection]);
}

#[test]
fn elect_and_curator_leader_latch() {
    play(&[Peer::LeaderLatch]);
}

#[test]
fn elect_and_curator_leader_selector() {
    play(&[Peer::LeaderSelector]);
}

#[test]
fn elect_and_curator_inter_process_mutex() {
    play(&[Peer::InterProcessMutex]);
}

#[test]
fn elect_with_priorities_and_etcdctl() {
    play_ranked(&[Peer::EtcdctlElect, Peer::EtcdctlLock]);
}

#[test]
fn elect_with_priorities_and_kazoo() {
    play_ranked(&[Peer::KazooElection]);
}

#[test]
fn elect_with_priorities_and_curator() {
    play_ranked(&[Peer::LeaderLatch]);
}

/// Shows that the verdict would see two leaders: these two peers do not understand each other's nodes. elect sees the
/// fault, and stays out.
#[test]
fn two_leaders_are_seen_and_elect_is_no_third() {
    let arena = Arena::of(&[Peer::KazooLock]);
    let end = arena.oracle.flag("end");
    let start = |peer: Peer, tag: &str| {
        let peer = peer.start(&arena, tag, &arena.oracle.stamper(tag), end.path());
        arena.oracle.wait_for_run(tag);
        peer
    };
    let _kazoo = start(Peer::KazooLock, "kazoo");
    let _curator = start(Peer::LeaderLatch, "curator");
    arena.oracle.wait_for_stamps("kazoo", Duration::from_millis(3));
    let faults = arena.oracle.verdict().faults;
    let is_overlap = |fault: &Fault| matches!(fault, Fault::Overlap(..));
    assert!(faults.iter().any(is_overlap), "{faults:?}");
    arena.elect(&arena.oracle.stamper("elect")).run().exits(125).says("layout");
}

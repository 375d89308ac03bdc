//! A program leads that is no elect: it reads no orders.

use elect_testkit::oracle::Flag;
use elect_testkit::program::{Running, eventually};
use nix::sys::signal::Signal;

use crate::mixed::{Arena, Peer};

/// A peer that leads until the flag is raised, and an elect behind it; what that is called in the arena.
pub(super) fn stage(peer: Peer) -> (Arena, Flag, Running, Running) {
    let arena = Arena::of(&[peer]);
    let end = arena.oracle.flag("end");
    let peer = peer.start(&arena, "peer", &arena.oracle.stamper("peer").until(&end), end.path());
    arena.oracle.wait_for_run("peer");
    let elect = arena.elect(&arena.oracle.stamper("elect")).spawn();
    wait_for_waiter(&arena);
    (arena, end, peer, elect)
}

pub(super) fn wait_for_waiter(arena: &Arena) {
    eventually("elect to wait", || {
        let status = arena.status();
        (status["waiting"].as_array()?.len() == 1).then_some(())
    });
}

fn goes_on_until_it_ends(peer: Peer) {
    let (arena, end, peer, mut elect) = stage(peer);
    let leader = arena.status()["leader"].clone();
    assert!(leader["host"].is_null() && leader["id"].is_string(), "{leader}");
    arena.about("resign").run().exits(125).says("is no elect").prints("");
    let pause = || arena.about("pause");
    pause().args(["--timeout", "0"]).run().exits(75).says("is no elect, and knows of no pause");
    let status = arena.status();
    assert_eq!(status["leader"], leader);
    assert!(status["paused"].is_object(), "{status}");
    let waiting = pause().spawn();
    end.raise();
    waiting.wait().exits(0).prints("job is paused: nobody leads\n");
    peer.wait().exits(0);
    let status = arena.status();
    assert!(status["leader"].is_null(), "{status}");
    assert_eq!(status["waiting"].as_array().map(Vec::len), Some(1), "{status}");
    assert!(arena.oracle.newest("elect").is_none(), "it has started something");
    arena.about("resume").run().exits(0);
    arena.oracle.wait_for_run("elect");
    arena.oracle.assert_sound();
    elect.signal(Signal::SIGTERM);
    elect.wait().exits(128 + 15);
}

#[test]
fn etcdctl_elect_goes_on_until_it_ends() {
    goes_on_until_it_ends(Peer::EtcdctlElect);
}

#[test]
fn etcdctl_lock_goes_on_until_it_ends() {
    goes_on_until_it_ends(Peer::EtcdctlLock);
}

#[test]
fn kazoo_goes_on_until_it_ends() {
    goes_on_until_it_ends(Peer::KazooLock);
}

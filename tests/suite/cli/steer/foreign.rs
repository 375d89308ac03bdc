//! A program leads that is no elect: it reads no control cell.

use elect_testkit::oracle::Flag;
use elect_testkit::program::{Running, eventually};
use nix::sys::signal::Signal;

use crate::store::mixed::{Arena, Peer};

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
    let (arena, end, peer, elect) = stage(peer);
    let leader = arena.status()["leader"].take();
    assert!(leader["host"].is_null() && leader["id"].is_string(), "{leader}");
    arena.about("resign").run().exits(125).says("is not an elect run").prints("");
    let pause = || arena.about("pause");
    pause()
        .args(["--timeout", "0"])
        .run()
        .exits(75)
        .says("is not an elect run, and does not heed the pause");
    let status = arena.status();
    assert_eq!(
        (&status["leader"]["id"], &status["leader"]["token"]),
        (&leader["id"], &leader["token"])
    );
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
    elect.ended_by(Signal::SIGTERM).exits(128 + 15);
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

fn requests_that_the_peer_would_ignore_are_refused(peer: Peer) {
    let (arena, end, peer, elect) = stage(peer);
    let waiting = arena.status()["waiting"][0]["id"].as_str().expect("an id").to_owned();
    arena.about("resign").args(["--to", &waiting]).run().exits(125).says("cannot yield");
    let preempt = arena.elect(&arena.oracle.stamper("preempt").until(&end));
    let preempt = preempt.env("ELECT_PRIORITY", "200").env("ELECT_PREEMPT_AFTER", "0");
    let log = arena.oracle.flag("log");
    let mut preempt = preempt.command();
    preempt.stderr(std::fs::File::create(log.path()).expect("a file"));
    let preempt = Running::new(preempt.spawn().expect("elect starts"));
    eventually("the reason", || {
        let said = std::fs::read_to_string(log.path()).ok()?;
        said.contains("is not an elect run, and has no priority").then_some(())
    });
    assert!(arena.oracle.newest("elect").is_none() && arena.oracle.newest("preempt").is_none());
    preempt.ended_by(Signal::SIGTERM);
    elect.ended_by(Signal::SIGTERM);
    end.raise();
    peer.wait().exits(0);
    arena.oracle.assert_sound();
}

#[test]
fn requests_that_etcdctl_would_ignore_are_refused() {
    requests_that_the_peer_would_ignore_are_refused(Peer::EtcdctlElect);
}

#[test]
fn requests_that_kazoo_would_ignore_are_refused() {
    requests_that_the_peer_would_ignore_are_refused(Peer::KazooLock);
}

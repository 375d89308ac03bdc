//! `elect resign --force`: a leader that does not answer.

use nix::sys::signal::kill;

use super::foreign;
use crate::cli::see::{Arena, Ground, on_each_cluster, on_each_store};
use crate::prelude::*;
use crate::store::mixed::{Arena as Mixed, Peer};

on_each_store! {
    a_leader_that_obeys_is_not_removed
    force_waits_no_longer_than_the_timeout
}

mod timed {
    use super::{
        Arena, Ground, a_dead_candidate_is_not_waited_for,
        a_holder_that_stands_still_is_waited_out,
        a_living_leader_keeps_its_entry_without_even_if_alive, on_each_cluster,
    };
    on_each_cluster! {
        a_dead_candidate_is_not_waited_for
        a_holder_that_stands_still_is_waited_out
        a_living_leader_keeps_its_entry_without_even_if_alive
    }
}

/// A command that nothing but KILL ends.
const DEAF: &str = "trap '' TERM; echo \"$ELECT_TOKEN $ELECT_LEADER_ID\" >>\"$RECORD\"
                    while :; do sleep 0.1; done";

fn force(arena: &Arena, words: &[&str]) -> Elect {
    arena.elect("resign").args(["job", "--force"]).args(words)
}

/// A leader whose command does not end when it is asked to, and one that waits.
fn deaf_leader_and_waiter(arena: &Arena) -> (Running, Running) {
    let one = arena.run_with("one", 15, |it| it, DEAF);
    arena.wait_for_leader("one");
    let two = arena.candidate("two", 15);
    arena.wait_for_waiter("two");
    (one, two)
}

fn leads(arena: &Arena, label: &str) -> bool {
    let status = arena.status();
    status["leader"]["id"].as_str().is_some_and(|id| id.starts_with(&format!("{label}-")))
}

fn a_leader_that_obeys_is_not_removed(arena: &Arena) {
    let one = arena.candidate_with("one", 15, |it| it.arg("--outcome").arg(arena.path("outcome")));
    arena.wait_for_leader("one");
    let _two = arena.candidate("two", 15);
    arena.wait_for_waiter("two");
    let forced = force(arena, &["--reason", "stuck"]).run().exits(0).is_quiet();
    assert!(forced.stdout.starts_with("two-"), "{}", forced.stdout);
    one.wait().exits(124);
    let outcome = fs::read_to_string(arena.path("outcome")).unwrap();
    assert!(outcome.contains("stepped_down"), "{outcome}");
}

fn force_waits_no_longer_than_the_timeout(arena: &Arena) {
    let _both = deaf_leader_and_waiter(arena);
    let words = ["--even-if-alive", "--timeout", "0"];
    force(arena, &words).run().exits(75).says("was asked, and has not handed over yet").prints("");
    assert!(leads(arena, "one"));
}

/// A machine dies with the leader and all who wait. The lease of who waits ends first, where the store ends it:
/// otherwise it leads there for the rest of it.
fn a_dead_candidate_is_not_waited_for(arena: &Arena) {
    let mut one = arena.leader("one", 10);
    let mut two = arena.candidate("two", 5);
    arena.wait_for_waiter("two");
    for signal in [Signal::SIGSTOP, Signal::SIGKILL] {
        for candidate in [&mut one, &mut two] {
            let guardian = candidate.guardian();
            kill(Pid::from_raw(guardian), signal).expect("it is there");
            candidate.signal(signal);
        }
    }
    force(arena, &["--timeout", "2min"]).run().exits(0).prints("nobody leads\n");
}

fn a_holder_that_stands_still_is_waited_out(arena: &Arena) {
    let mut one = arena.leader("one", 10);
    let _two = arena.candidate("two", 10);
    arena.wait_for_waiter("two");
    one.signal(Signal::SIGSTOP);
    let forced = force(arena, &[]).run().exits(0).is_quiet();
    assert!(forced.stdout.starts_with("two-"), "{}", forced.stdout);
    one.ended_by(Signal::SIGCONT).exits(124);
}

fn a_living_leader_keeps_its_entry_without_even_if_alive(arena: &Arena) {
    let (one, _two) = deaf_leader_and_waiter(arena);
    let refused = force(arena, &[]).run().exits(125).prints("");
    refused.says("has not handed over, and lives").says("--even-if-alive");
    assert!(leads(arena, "one"));
    let forced = force(arena, &["--even-if-alive"]).run().exits(0).says("the promise is off");
    assert!(forced.stdout.starts_with("two-"), "{}", forced.stdout);
    one.wait().exits(124);
    arena.wait_for_leader("two");
}

#[test]
fn on_the_local_disk_the_process_is_named_that_has_the_lock() {
    let arena = Arena::on(Ground::File);
    let mut one = arena.leader("one", 15);
    let _two = arena.candidate("two", 15);
    arena.wait_for_waiter("two");
    one.signal(Signal::SIGSTOP);
    let began = now();
    let pid = one.pid();
    let forced = force(&arena, &["--even-if-alive"]).run().exits(125).prints("");
    forced
        .says("is stopped and cannot hand over")
        .says(&format!("`kill -CONT {pid}` lets it hand over"))
        .says(&format!("`kill -KILL {pid}` ends it and its command"));
    // The command does not wait for an answer that cannot come.
    let took = now().since(began);
    assert!(took < Duration::from_secs(15), "{took:?}");
    assert!(leads(&arena, "one"));
    one.ended_by(Signal::SIGKILL).exits(128 + 9);
    arena.wait_for_leader("two");
}

#[test]
fn the_second_word_alone_is_refused() {
    let arena = Arena::on(Ground::File);
    let alone = arena.elect("resign").args(["job", "--even-if-alive"]);
    alone.run().exits(125).says("--even-if-alive requires --force");
}

fn an_entry_without_a_lease_is_removed(peer: Peer) {
    let arena = Mixed::of(&[peer]);
    arena.plant();
    let elect = arena.elect(&arena.oracle.stamper("elect")).spawn();
    foreign::wait_for_waiter(&arena);
    let forced = arena.about("resign").arg("--force").run().exits(0);
    let forced = forced.says("removing the entry of hand: it has no lease");
    assert!(forced.stdout.contains(" leads, token "), "{}", forced.stdout);
    arena.oracle.wait_for_run("elect");
    elect.ended_by(Signal::SIGTERM).exits(128 + 15);
}

#[test]
fn a_key_without_a_lease_is_removed() {
    an_entry_without_a_lease_is_removed(Peer::EtcdctlLock);
}

#[test]
fn a_persistent_node_is_removed() {
    an_entry_without_a_lease_is_removed(Peer::KazooLock);
}

/// It leads on beside the next one.
#[test]
fn a_program_that_is_no_elect_loses_its_entry_by_the_second_word_only() {
    let (arena, end, peer, elect) = foreign::stage(Peer::EtcdctlLock);
    let force = || arena.about("resign").arg("--force");
    force().run().exits(125).says("lives").says("end it where it runs").prints("");
    assert!(arena.oracle.newest("elect").is_none());
    force()
        .arg("--even-if-alive")
        .run()
        .exits(0)
        .says("the promise is off")
        .says("is not an elect run");
    arena.oracle.wait_for_run("elect");
    end.raise();
    peer.wait();
    elect.ended_by(Signal::SIGTERM).exits(128 + 15);
}

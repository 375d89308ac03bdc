//! `elect wait`: until it is so, or the time is over.

use std::fs::{self, File};

use elect_testkit::program::{Elect, Running, eventually};
use elect_testkit::servers::free_port;
use nix::sys::signal::Signal;

use super::arena::{Arena, Ground, crash};
use super::{on_each_cluster, on_each_store};

on_each_store! {
    it_ends_when_it_is_so
    it_ends_when_the_time_is_over
    a_candidate_that_does_not_lead_is_told_the_leader
}

mod outage {
    use super::{Arena, Ground, on_each_cluster};
    use super::{a_silent_store_takes_no_more_time_than_there_is, it_outlasts_an_outage};
    on_each_cluster! {
        alone: it_outlasts_an_outage
        a_silent_store_takes_no_more_time_than_there_is
    }
}

fn wait(arena: &Arena, words: &[&str]) -> Elect {
    arena.elect("wait").arg("job").args(words)
}

#[test]
fn an_empty_id_is_refused() {
    let ground = crate::support::Ground::new();
    let ended = ground.elect("wait").args(["job", "--for", "", "--timeout", "0"]).run();
    ended.exits(125).prints("").says("it is empty: leader, vacant, or an ID");
}

fn it_ends_when_it_is_so(arena: &Arena) {
    wait(arena, &["--for", "vacant"]).run().exits(0).prints("");
    let waiting = wait(arena, &[]).spawn();
    let one = arena.leader("one", 15);
    waiting.wait().exits(0).prints("");
    let two = arena.candidate("two", 15);
    arena.wait_for_waiter("two");
    let waiting = wait(arena, &["--for", "two", "--timeout", "5m"]).spawn();
    crash(one);
    waiting.wait().exits(0).is_silent();
    let id = arena.wait_for_leader("two");
    wait(arena, &["--for", &id, "--timeout", "0"]).run().exits(0).is_silent();
    let waiting = wait(arena, &["--for", "vacant"]).spawn();
    crash(two);
    waiting.wait().exits(0).prints("");
}

fn it_ends_when_the_time_is_over(arena: &Arena) {
    wait(arena, &["--timeout", "0"]).run().exits(75).prints("").says("nobody leads");
    wait(arena, &["--timeout", "200ms"])
        .run()
        .exits(75)
        .says("no leader within 200ms: nobody leads");
    let slip = wait(arena, &["--for", "vaccant", "--timeout", "0"]).run().exits(75);
    slip.says("no candidate vaccant led within 0s").says("did you mean --for vacant?");
    said_at_once(arena, "lead", "no candidate lead takes part now", "did you mean --for leader?");
    let one = arena.leader("one", 15);
    let id = arena.wait_for_leader("one");
    said_at_once(arena, "onee", "no candidate onee takes part now", "did you mean --for one?");
    for goal in ["vacant", "on", "one-", "two", &id[..id.len() - 1]] {
        let ended = wait(arena, &["--for", goal, "--timeout", "0"]).run().exits(75);
        ended.prints("").says(&format!("{id} leads"));
    }
    crash(one);
}

/// A wait without an end says what may be a slip while it lasts.
fn said_at_once(arena: &Arena, goal: &str, what: &str, meant: &str) {
    let log = arena.path("said");
    let mut command = wait(arena, &["--for", goal]).command();
    command.stderr(File::create(&log).unwrap());
    let waiting = Running::new(command.spawn().unwrap());
    let said = || fs::read_to_string(&log).unwrap();
    eventually("a warning", || said().contains(what).then_some(()));
    assert!(said().contains(meant), "{}", said());
    waiting.ended_by(Signal::SIGTERM);
}

/// By name, and since when. If the message would not be read, elect does not ask.
fn a_candidate_that_does_not_lead_is_told_the_leader(arena: &Arena) {
    let mut one = arena.leader("one", 15);
    let id = arena.wait_for_leader("one");
    let told =
        |flags: &[&str]| arena.elect("run").args(["-e", "job"]).args(flags).arg("true").run();
    let named = format!("another candidate leads: {id} (process {} on ", one.pid());
    let since = eventually("the store to know since when", || {
        let said = told(&["-n"]).exits(75).says(&named).stderr;
        said.split_once(") since ").map(|(_, since)| since.to_owned())
    });
    assert!(since.starts_with("20") && since.contains("Z (election job)"), "{since}");
    told(&["-w", "100ms"]).exits(75).says(&named).says(") since 20");
    told(&["-n", "-E", "0"]).exits(0).is_silent();
    let outcome = arena.path("outcome");
    let path = outcome.to_str().expect("a path");
    told(&["-n", "-E", "0", "--outcome", path]).exits(0).is_silent();
    assert!(fs::read_to_string(outcome).expect("an outcome").contains(&named));
    crash(one);
}

fn it_outlasts_an_outage(arena: &Arena) {
    let log = arena.path("log");
    let mut command = wait(arena, &[]).command();
    command.stderr(File::create(&log).unwrap());
    let waiting = Running::new(command.spawn().unwrap());
    let silence = arena.silence();
    let said = || fs::read_to_string(&log).unwrap();
    eventually("word of the outage", || said().contains("waiting for the store").then_some(()));
    drop(silence);
    let _one = arena.leader("one", 15);
    waiting.wait().exits(0);
    assert_eq!(said().lines().count(), 1, "{}", said());
}

fn a_silent_store_takes_no_more_time_than_there_is(arena: &Arena) {
    let _one = arena.leader("one", 60);
    let _silence = arena.silence();
    // With a timeout of a minute, a subcommand would have got an answer.
    let mut patient = wait(arena, &["--for", "vacant", "--timeout", "1h"]).spawn();
    let hasty = ["wait", "pause", "resign"]
        .map(|subcommand| arena.elect(subcommand).args(["job", "--timeout", "0"]).spawn());
    for asking in hasty {
        asking.wait().exits(125);
        assert!(patient.is_running(), "one took longer than it had");
    }
    drop(patient);
    let patient = wait(arena, &["--for", "vacant", "--timeout", "3s"]);
    patient.run().exits(125).says("no answer within 3s: ");
}

/// A store that says no is one case, and a store that says nothing is another.
#[test]
fn a_store_that_never_answers_is_a_failure() {
    for scheme in ["etcd", "zk"] {
        let url = format!("{scheme}://127.0.0.1:{}", free_port());
        for timeout in ["0", "500ms"] {
            let elect = Elect::new(env!("CARGO_BIN_EXE_elect")).args(["wait", "-b", &url, "job"]);
            elect.args(["--timeout", timeout]).run().exits(125).says("no answer within");
        }
    }
}

#[test]
fn wrong_arguments_are_refused_with_the_reason() {
    let arena = Arena::on(Ground::File);
    wait(&arena, &["--timeout", "soon"]).run().exits(125).says("1h30m");
    arena.elect("wait").run().exits(125).says("ELECTION");
    arena.elect("wait").arg("0").run().exits(125).says("cannot name an election");
    assert!(!arena.path("state").exists(), "a look creates nothing");
}

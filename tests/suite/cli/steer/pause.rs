//! `elect pause` and `elect resume`: no candidate leads for now.

use std::time::Duration;

use elect_api::stamp;
use elect_testkit::program::{Elect, Running, eventually};

use crate::cli::see::{Arena, Ground, crash, on_each_cluster, on_each_store};

on_each_store! {
    no_candidate_leads_during_a_pause
    a_candidate_that_comes_during_a_pause_starts_nothing
    a_candidate_that_does_not_wait_is_told_of_the_pause
    a_pause_may_begin_before_any_candidate_was_there
    a_pause_is_shown_and_completed_without_candidates
    pausing_again_changes_nothing_but_the_reason
    a_pause_with_an_end_ends_by_itself
    an_end_is_that_of_the_last_pause
    a_waiting_pause_is_told_that_it_was_resumed
    a_pause_ends_the_waiting_for_another_leader
    a_pause_does_not_count_as_leadership
}

fn pause(arena: &Arena, words: &[&str]) -> Elect {
    arena.elect("pause").args(["job", "--create"]).args(words)
}

fn resume(arena: &Arena) {
    arena.elect("resume").arg("job").run().exits(0);
}

const PAUSED: &str = "job is paused: nobody leads\n";

fn no_candidate_leads_during_a_pause(arena: &Arena) {
    let one = arena.leader("one", 15);
    let _two = arena.candidate("two", 15);
    arena.wait_for_waiter("two");
    pause(arena, &["--reason", "disk is full"]).run().exits(0).prints(PAUSED);
    // It has ended when that was said.
    assert_eq!(one.wait().exits(124).says("giving leadership up: paused by ").stdout, "");
    eventually("two to be the next", || {
        let status = arena.status();
        assert!(status["leader"].is_null(), "{status}");
        assert_eq!(status["paused"]["reason"], "disk is full");
        let waiting = status["waiting"].as_array()?;
        (waiting.len() == 1 && waiting[0]["place"] == 1).then_some(())
    });
    let shown = arena.elect("status").arg("job").run().exits(1);
    assert!(shown.stdout.contains("paused") && shown.stdout.contains(": disk is full"));
    arena.elect("wait").args(["job", "--for", "vacant"]).run().exits(0);
    let unmet = arena.elect("wait").args(["job", "--timeout", "0"]).run().exits(75);
    unmet.says("nobody leads, the election is paused by ").says(": disk is full");
    assert_eq!(arena.record().len(), 1, "two has started something");
    resume(arena);
    arena.wait_for_leader("two");
    assert!(arena.status()["paused"].is_null());
}

fn a_candidate_that_comes_during_a_pause_starts_nothing(arena: &Arena) {
    pause(arena, &[]).run().exits(0).prints(PAUSED);
    let _one = arena.candidate("one", 15);
    arena.wait_for_waiter("one");
    let _two = arena.candidate("two", 15);
    arena.wait_for_waiter("two");
    pause(arena, &[]).run().exits(0).prints(PAUSED);
    assert!(arena.record().is_empty());
    resume(arena);
    arena.wait_for_leader("one");
    assert_eq!(arena.record().len(), 1);
}

fn a_candidate_that_does_not_wait_is_told_of_the_pause(arena: &Arena) {
    pause(arena, &["--reason", "deploy"]).run().exits(0);
    let run = || arena.elect("run").args(["-e", "job"]);
    run().args(["-n", "true"]).run().exits(75).says("the election is paused by ").says(": deploy");
    run().args(["-w", "100ms", "true"]).run().exits(75).says(": deploy");
    // No candidate leads, also when the next one comes.
    let next = arena.candidate("next", 15);
    arena.wait_for_waiter("next");
    run().args(["-n", "true"]).run().exits(75).says("the election is paused by ").says(": deploy");
    crash(next);
    resume(arena);
    run().args(["true"]).run().exits(0);
}

fn a_pause_is_shown_and_completed_without_candidates(arena: &Arena) {
    let lists = || {
        let shown = arena.elect("status").args(["-o", "json"]).run().exits(0).stdout;
        shown.contains("\"job\"")
    };
    // A request about a candidate that is not there is refused, and leaves nothing in the store.
    arena.elect("priority").args(["job", "somebody", "50"]).run().exits(125);
    assert!(!lists());
    pause(arena, &["--reason", "disk is full"]).run().exits(0).prints(PAUSED);
    assert!(lists());
    let shown = arena.elect("status").run().exits(0).stdout;
    assert!(shown.contains("job") && shown.contains(": disk is full"), "{shown}");
    let names = Elect::new(env!("CARGO_BIN_EXE_elect")).args(["names", "elections", "--"]);
    names.args(["resume", "-b", &arena.url()]).run().exits(0).prints("job\n");
    resume(arena);
    assert!(!lists());
}

fn a_pause_may_begin_before_any_candidate_was_there(arena: &Arena) {
    pause(arena, &[]).run().exits(0).prints(PAUSED);
    resume(arena);
    resume(arena);
    let _one = arena.leader("one", 15);
}

fn pausing_again_changes_nothing_but_the_reason(arena: &Arena) {
    let _one = arena.leader("one", 15);
    pause(arena, &["--reason", "first"]).run().exits(0);
    let before = arena.status()["paused"].clone();
    pause(arena, &[]).run().exits(0);
    assert_eq!(arena.status()["paused"], before);
    pause(arena, &["--reason", "second"]).run().exits(0);
    assert_eq!(arena.status()["paused"]["reason"], "second");
}

fn a_pause_with_an_end_ends_by_itself(arena: &Arena) {
    let leader = arena.leader("one", 15);
    let next = arena.candidate_with("two", 15, |it| it.arg("-v"));
    arena.wait_for_waiter("two");
    let paused = pause(arena, &["--for", "3s", "--reason", "deploy"]).run().exits(0);
    let until = paused.stdout.strip_prefix("job is paused until ").expect("an end");
    let until = until.strip_suffix(": nobody leads\n").expect("an end").to_owned();
    leader.wait().exits(124).says(&format!("giving leadership up: paused until {until} by "));
    // The pause ends by itself. The waiter was told the time of its end, and leads by then.
    arena.wait_for_leader("two");
    assert!(arena.status()["paused"].is_null());
    let began = stamp::read(stamp::display()).expect("a time");
    let end = humantime::parse_rfc3339(&until).expect("a time");
    assert!(end <= began, "it has begun before {until}");
    // On the local disk it would look by itself after 5 s: its own clock has woken it.
    let late = began.duration_since(end).expect("a time");
    assert!(late < Duration::from_secs(4), "{late:?}");
    let log = crash_and_read(next);
    assert!(log.contains(&format!("starting nothing: paused until {until} by ")), "{log}");
}

fn crash_and_read(candidate: Running) -> String {
    candidate.ended_by(nix::sys::signal::Signal::SIGTERM).stderr
}

fn an_end_is_that_of_the_last_pause(arena: &Arena) {
    let until = || arena.status()["paused"]["until"].clone();
    pause(arena, &["--until", "2999-01-02T04:04:05+01:00"]).run().exits(0);
    assert_eq!(until(), "2999-01-02T03:04:05.000Z");
    let since = arena.status()["paused"]["since"].clone();
    pause(arena, &["--until", "06:30"]).run().exits(0);
    assert!(until().as_str().is_some_and(|until| until.ends_with("T06:30:00.000Z")), "{}", until());
    pause(arena, &[]).run().exits(0).prints(PAUSED);
    assert!(until().is_null());
    assert_eq!(arena.status()["paused"]["since"], since, "it is the same pause");
    let past = pause(arena, &["--until", "1999-01-01T00:00:00Z"]).run().exits(125);
    past.says("a pause until 1999-01-01T00:00:00Z is over already");
    pause(arena, &["--for", "0"]).run().exits(125).says("is over already");
    pause(arena, &["--until", "soon"]).run().exits(125).says("write 06:30");
    let both = pause(arena, &["--for", "1h", "--until", "06:30"]).run().exits(125);
    both.says("--for and --until exclude each other");
    // The nearer end counts.
    let nearer = pause(arena, &["--for", "1h"]).env("ELECT_UNTIL", "2999-01-01T00:00:00Z");
    nearer.run().exits(0);
    assert!(until().as_str().is_some_and(|until| !until.starts_with("2999")), "{}", until());
}

/// A candidate that keeps its place through a pause has won before it, and does not lead until the pause ends.
fn a_pause_does_not_count_as_leadership(arena: &Arena) {
    pause(arena, &[]).run().exits(0);
    let _one = arena.candidate("one", 15);
    arena.wait_for_waiter("one");
    // A start within a second of the win is as good as one at once.
    let now = || stamp::read(stamp::display()).expect("a time");
    let came = now();
    eventually("a pause that shows", || {
        now().duration_since(came).is_ok_and(|it| it > Duration::from_millis(1500)).then_some(())
    });
    let resumed = now();
    resume(arena);
    arena.wait_for_leader("one");
    eventually("the start of its command", || {
        let since = arena.status()["leader"]["since"].as_str().map(humantime::parse_rfc3339);
        since.is_some_and(|since| since.expect("a time") >= resumed).then_some(())
    });
}

#[test]
fn resume_says_what_it_did() {
    let arena = Arena::on(Ground::File);
    let resume = || arena.elect("resume").arg("job").run().exits(0);
    pause(&arena, &[]).run().exits(0);
    resume().prints("job is resumed\n").is_quiet();
    resume().prints("job was not paused\n").says("no election job at ");
    // An older elect knows of no end: it is told that it may go on.
    let end = pause(&arena, &["--for", "1s"]).run().exits(0).stdout;
    let end = end.strip_prefix("job is paused until ").and_then(|end| end.split(": ").next());
    let end = end.expect("an end").to_owned();
    eventually("the end of the pause", || arena.status()["paused"].is_null().then_some(()));
    let told = format!(
        "job is resumed; its pause had ended at {end}, except for older versions of elect\n"
    );
    resume().prints(&told).is_quiet();
    resume().prints("job was not paused\n");
}

/// A leader that takes its time, until it is let go.
fn slow_leader(arena: &Arena) -> Running {
    let script = "trap '' TERM; echo \"$ELECT_TOKEN $ELECT_LEADER_ID\" >>\"$RECORD\"
                  until [ -e \"$RECORD.end\" ]; do sleep 0.01; done";
    let leader = arena.run_with("slow", 15, |it| it, script);
    arena.wait_for_leader("slow");
    leader
}

fn let_go(arena: &Arena) {
    std::fs::write(arena.path("record.end"), "").expect("a file");
}

fn wait_for_pause(arena: &Arena) {
    eventually("the pause", || (!arena.status()["paused"].is_null()).then_some(()));
}

fn a_waiting_pause_is_told_that_it_was_resumed(arena: &Arena) {
    let slow = slow_leader(arena);
    let waiting = pause(arena, &[]).spawn();
    wait_for_pause(arena);
    resume(arena);
    waiting.wait().exits(125).prints("").says("it was resumed");
    let_go(arena);
    slow.wait();
}

fn a_pause_ends_the_waiting_for_another_leader(arena: &Arena) {
    let slow = slow_leader(arena);
    let _next = arena.candidate("next", 15);
    arena.wait_for_waiter("next");
    arena.elect("resign").args(["job", "--timeout", "0"]).run().exits(75);
    let resigning = arena.elect("resign").arg("job").spawn();
    pause(arena, &["--timeout", "0"]).run().exits(75);
    let_go(arena);
    slow.wait();
    resigning.wait().exits(0).prints("nobody leads\n").says("the election is paused");
    assert_eq!(arena.record().len(), 1, "a candidate has started its command");
}

/// Candidates ignore damaged orders, and a user who wants to change them gets an error.
#[test]
fn a_damaged_control_cell_requests_nothing() {
    let arena = Arena::on(Ground::File);
    pause(&arena, &[]).run().exits(0);
    let one = arena.candidate("one", 15);
    arena.wait_for_waiter("one");
    let control = arena.path("state/job/orders");
    for damage in ["damaged", "7\ndamaged"] {
        let written = arena.path("written");
        std::fs::write(&written, damage).expect("a file");
        std::fs::rename(&written, &control).expect("the same file system");
        arena.wait_for_leader("one");
        assert!(arena.status()["leader"]["id"].as_str().is_some_and(|id| id.starts_with("one-")));
        arena.elect("resume").arg("job").run().exits(125).says("remove it");
    }
    crash(one);
    arena.elect("run").args(["-e", "job", "--priority", "50", "true"]).run().exits(0);
    std::fs::remove_file(&control).expect("a file");
    resume(&arena);
}

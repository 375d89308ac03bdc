//! So many runs of a key among all candidates, on every store.

use elect_testkit::program::{Elect, Ended, eventually};
use nix::sys::signal::Signal;

use crate::support::unstartable;

use super::{STAY, Scene, on_every_store, was_done_already};

/// A run that exits with this code, unless there were so many before.
fn attempt(scene: &Scene, most: &str, code: i32) -> Ended {
    with(scene, most).sh(&format!("echo {code} >>$D/word; exit {code}")).run()
}

fn with(scene: &Scene, most: &str) -> Elect {
    scene.once("today").args(["--once-attempts", most])
}

fn as_many_fail_as_may_and_no_more(scene: &Scene) {
    attempt(scene, "2", 3).exits(3);
    attempt(scene, "2", 4).exits(4);
    let host = nix::unistd::gethostname().expect("a name").to_string_lossy().into_owned();
    attempt(scene, "2", 5)
        .exits(75)
        .says("today was tried 2 times")
        .says(&format!("on {host}, exited with code 4"))
        .says("`elect done nightly today --undo`");
    with(scene, "2").args(["-E", "9", "true"]).run().exits(9);
    with(scene, "2").args(["-E", "0", "true"]).run().exits(0).is_silent();
    assert_eq!(scene.word(), "3\n4\n");
    // A run that permits more attempts, or does not count, is not held back. Nor is another key.
    attempt(scene, "3", 6).exits(6);
    scene.once("tomorrow").args(["--once-attempts", "1", "true"]).run().exits(0);
    scene.once("today").arg("true").run().exits(0);
    was_done_already(attempt(scene, "1", 7));
}

fn waiters_share_the_attempts(scene: &Scene) {
    let hosts = ["a", "b", "c"].map(|host| {
        let run = with(scene, "2").env("CODE", "3").sh(STAY).arg(host).spawn();
        if host == "a" {
            scene.awaits("a\n");
        }
        run
    });
    scene.awaits_line(2);
    scene.raise("end");
    let mut codes = hosts.map(|host| host.wait().code());
    codes.sort_unstable();
    assert_eq!(codes, [3, 3, 75]);
    assert_eq!(scene.word().lines().count(), 2);
}

fn a_crash_counts(scene: &Scene) {
    let mut first = with(scene, "1").sh(STAY).arg("a").spawn();
    scene.awaits("a\n");
    first.signal(Signal::SIGKILL);
    attempt(scene, "1", 3).exits(75).says("was cut off: its elect crashed");
    assert_eq!(scene.word(), "a\n");
    let key = scene.key("today");
    assert_eq!(
        (&key["done"], &key["attempts"], &key["exit_code"]),
        (&false.into(), &1.into(), &().into())
    );
}

/// Nor what cannot run on this machine.
fn a_command_that_never_starts_does_not_count(scene: &Scene) {
    for (interpreter, code) in [("/no/such", 127), ("/etc", 126)] {
        let script = unstartable(scene.folder.path(), interpreter);
        with(scene, "1").arg(script).run().exits(code);
    }
    attempt(scene, "1", 127).exits(127);
    attempt(scene, "1", 126).exits(126);
    assert_eq!(scene.key("today")["attempts"], 0, "nothing counts");
    scene.elect("pause").arg("nightly").run().exits(0);
    with(scene, "1").args(["--wait", "300ms", "true"]).run().exits(75).says("paused");
    scene.elect("resume").arg("nightly").run().exits(0);
    attempt(scene, "1", 3).exits(3);
    attempt(scene, "1", 4).exits(75).says("exited with code 3");
}

/// It did not succeed.
fn a_run_that_is_asked_to_stop_counts(scene: &Scene) {
    let first = with(scene, "1").sh(STAY).arg("a").spawn();
    scene.awaits("a\n");
    scene.elect("resign").arg("nightly").run().exits(0);
    first.wait().exits(124);
    attempt(scene, "1", 3).exits(75).says("was ended by SIGTERM");
}

fn undone_it_may_be_tried_again(scene: &Scene) {
    attempt(scene, "1", 3).exits(3);
    attempt(scene, "1", 3).exits(75);
    scene.elect("done").args(["nightly", "today", "--undo"]).run().exits(0);
    attempt(scene, "1", 4).exits(4);
    attempt(scene, "1", 3).exits(75).says("exited with code 4");
}

fn the_outcome_tells_that_they_are_used_up(scene: &Scene) {
    attempt(scene, "1", 3).exits(3);
    let file = scene.folder.path().join("outcome");
    with(scene, "1").arg("--outcome").arg(&file).arg("true").run().exits(75);
    let outcome = eventually("an outcome", || {
        let text = std::fs::read_to_string(&file).ok()?;
        serde_json::from_str::<serde_json::Value>(&text).ok()
    });
    assert_eq!(outcome["outcome"], "attempts_used_up");
    assert!(outcome["reason"].as_str().is_some_and(|why| why.contains("code 3")), "{outcome}");
}

on_every_store! {
    as_many_fail_as_may_and_no_more
    waiters_share_the_attempts
    a_crash_counts
    a_command_that_never_starts_does_not_count
    a_run_that_is_asked_to_stop_counts
    undone_it_may_be_tried_again
    the_outcome_tells_that_they_are_used_up
}

#[test]
fn attempts_are_of_a_key_and_of_one_run_each() {
    let scene = Scene::new(None);
    let run = || scene.elect("run").args(["-e", "nightly", "--once-attempts", "2"]);
    run().arg("true").run().exits(125).says("--once-attempts requires --once or --once-per");
    let restarting = run().args(["--once", "a", "--restart", "on-failure", "true"]);
    restarting.run().exits(125).says("--restart and --once-attempts exclude each other");
    scene.once("a").args(["--once-attempts", "0", "true"]).run().exits(125).says("from 1 to 1000");
}

/// The number of attempts is unknown.
#[test]
fn a_count_that_cannot_be_read_starts_nothing() {
    let scene = Scene::new(None);
    attempt(&scene, "2", 3).exits(3);
    let cell = scene.folder.path().join("state/nightly/note-runs");
    std::fs::write(&cell, "{").expect("a cell");
    attempt(&scene, "2", 4).exits(125).says("remove it");
    assert_eq!(scene.word(), "3\n");
    scene.once("today").arg("true").run().exits(0);
    scene.elect("done").args(["nightly", "today"]).run().exits(0).says("unreadable");
}

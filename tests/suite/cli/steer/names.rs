//! Names of elections without candidates: most likely they are slips.

use elect_testkit::program::eventually;
use nix::sys::signal::Signal;

use crate::cli::see::{Arena, Ground, on_each_cluster, on_each_store};

on_each_store! {
    a_name_of_no_election_is_told_with_the_nearest
    an_election_with_a_past_is_no_misspelling
}

const UNKNOWN: &str = "it has no candidates, and no past; did you mean job?";

fn a_name_of_no_election_is_told_with_the_nearest(arena: &Arena) {
    let run = |words: &[&str]| arena.elect(words[0]).args(&words[1..]).run();
    // If there is no election at all, no name can be suggested.
    let nothing = run(&["wait", "jobs", "--for", "vacant"]).exits(0);
    let nothing = nothing.says("no election jobs at ");
    assert!(!nothing.stderr.contains("did you mean"), "{}", nothing.stderr);
    run(&["status"]).exits(0).says("there are no elections at ");
    let _one = arena.leader("one", 15);
    let no_slips = [&["wait", "job"][..], &["status", "job"]];
    for words in no_slips {
        assert!(!run(words).stderr.contains("no election"), "{words:?}");
    }
    run(&["resume", "jobs"]).exits(0).prints("jobs was not paused\n").says(UNKNOWN);
    run(&["resign", "jobs"]).exits(0).prints("nobody leads\n").says(UNKNOWN);
    run(&["wait", "jobs", "--for", "vacant"]).exits(0).says(UNKNOWN);
    run(&["priority", "jobs", "one", "5"]).exits(125).says(UNKNOWN);
    run(&["get", "-e", "jobs", "key"]).exits(1).prints("").says(UNKNOWN);
    run(&["get", "-e", "job", "key"]).exits(1).is_silent();
    run(&["status", "jobs"]).exits(1).says(UNKNOWN);
    let said = arena.path("said");
    let to_file = ["sh", "-c", "exec \"$@\" 2>\"$SAID\"", "sh"];
    let observer = arena.elect("observe").arg("jobs").env("SAID", &said).under(to_file);
    let observer = observer.spawn();
    eventually("a warning", || {
        std::fs::read_to_string(&said).is_ok_and(|said| said.contains(UNKNOWN)).then_some(())
    });
    observer.ended_by(Signal::SIGTERM).exits(0);
    // A pause of it would be for good.
    run(&["pause", "jobs"]).exits(125).says(UNKNOWN).says("--create pauses it all the same");
    assert_eq!(
        run(&["status", "jobs", "-o", "json"]).stdout.matches("\"paused\": null").count(),
        1
    );
    run(&["pause", "jobs", "--create"]).exits(0).prints("jobs is paused: nobody leads\n");
    run(&["pause", "jobs"]).exits(0);
}

/// A nightly election has no candidate most of the day.
fn an_election_with_a_past_is_no_misspelling(arena: &Arena) {
    let run = |words: &[&str]| arena.elect(words[0]).args(&words[1..]).run();
    arena.elect("run").args(["-e", "nightly", "--once", "monday", "true"]).run().exits(0);
    let status = run(&["status"]).exits(0);
    assert!(status.stdout.contains("nightly") && status.stderr.is_empty(), "{}", status.stderr);
    run(&["status", "nightly"]).exits(1).is_quiet();
    run(&["pause", "nightly"]).exits(0).is_quiet();
    run(&["resume", "nightly"]).exits(0).is_quiet();
    run(&["wait", "nightly", "--for", "vacant"]).exits(0).is_quiet();
    run(&["get", "-e", "nightly", "key"]).exits(1).is_quiet();
}

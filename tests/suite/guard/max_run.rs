//! `--max-run`: a command that has run for as long as it may is stopped in good order, on each store.

use crate::cli::see::{Arena, Ground, on_each_cluster, on_each_store};
use crate::prelude::*;

on_each_store! {
    it_is_stopped_in_good_order_and_elect_ends_as_it_does
    a_deaf_command_is_killed
    the_next_one_leads_and_the_first_does_not_come_again
    a_run_that_was_cut_off_leaves_its_key_open
    a_slot_has_it_and_so_does_a_shard
}

/// Long enough for a shell to set its traps.
const LONG_ENOUGH: &str = "1s";
/// For a command that needs no time to begin.
const SOON: &str = "50ms";
/// Writes how often it was started, and stays.
const STAY: &str = "echo >>\"$D/starts\"; exec sleep 3600";

fn run(arena: &Arena) -> Elect {
    arena.elect("run").args(["-e", "job"]).env("D", arena.path(""))
}

fn starts(arena: &Arena) -> usize {
    fs::read_to_string(arena.path("starts")).unwrap_or_default().lines().count()
}

/// Returns the end of the last leadership, as its history tells it.
fn reason(arena: &Arena) -> String {
    let ended = arena.elect("history").args(["-o", "json", "--last", "1", "job"]).run().exits(0);
    let history: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    history["leaderships"][0]["reason"].as_str().unwrap_or_default().to_owned()
}

fn it_is_stopped_in_good_order_and_elect_ends_as_it_does(arena: &Arena) {
    let outcome = arena.path("outcome");
    for (flags, signal) in [(&[][..], "TERM"), (&["-s", "USR1"], "USR1")] {
        let script = format!("trap 'echo got; exit 3' {signal}; while :; do sleep 0.01; done");
        let run = run(arena).args(["--max-run", LONG_ENOUGH]).args(flags);
        let ended = run.arg("--outcome").arg(&outcome).sh(&script).run().exits(3).prints("got\n");
        ended.says("the command has run for 1s, as long as --max-run allows: stopping it");
        let text = fs::read_to_string(&outcome).expect("an outcome");
        let told: Value = serde_json::from_str(&text).expect("JSON");
        let reason_of_run = "stopped after 1s (--max-run): the command exited with code 3";
        assert_eq!((&told["outcome"], &told["exit_code"]), (&"max_run".into(), &3.into()));
        assert_eq!(told["reason"], reason_of_run);
        assert_eq!(reason(arena), reason_of_run);
    }
    // A command that ends before is not stopped.
    run(arena).args(["--max-run", "1h", "true"]).run().exits(0).is_silent();
    assert!(!reason(arena).contains("--max-run"));
}

fn a_deaf_command_is_killed(arena: &Arena) {
    let deaf = run(arena).args(["--max-run", SOON, "--stop-timeout", SOON]).sh(STAY);
    deaf.under(["env", "--ignore-signal=TERM"]).run().exits(128 + 9);
    // It is resumed to be asked.
    let script = "trap 'exit 4' TERM; kill -STOP $$; while :; do sleep 0.01; done";
    run(arena).args(["--max-run", LONG_ENOUGH]).sh(script).run().exits(4);
}

fn the_next_one_leads_and_the_first_does_not_come_again(arena: &Arena) {
    let flags = ["--max-run", LONG_ENOUGH, "--restart", "always", "--after-loss", "campaign"];
    let first = run(arena).args(flags).sh(STAY).spawn();
    eventually("a start", || (starts(arena) == 1).then_some(()));
    let second = run(arena).sh("echo second >>\"$D/starts\"").spawn();
    first.wait().exits(128 + 15).says("--max-run");
    second.wait().exits(0);
    assert_eq!(starts(arena), 2);
    // One that ends by itself is started again, and each start counts for itself.
    let script =
        "echo >>\"$D/starts\"; [ $(wc -l <\"$D/starts\") -gt 4 ] && exec sleep 3600; sleep 0.4";
    let again = ["--restart", "always", "--restart-delay", "10ms", "--max-run", LONG_ENOUGH];
    run(arena).args(again).sh(script).run().exits(128 + 15);
    assert_eq!(starts(arena), 5);
}

fn a_run_that_was_cut_off_leaves_its_key_open(arena: &Arena) {
    let once = |key: &str| run(arena).args(["--max-run", LONG_ENOUGH, "--once", key]);
    once("failed").sh(STAY).run().exits(128 + 15);
    once("failed").sh("echo >>\"$D/starts\"").run().exits(0).is_silent();
    assert_eq!(starts(arena), 2, "it was open");
    // Also where the command says that all is well.
    let agreeable = "trap 'exit 0' TERM; while :; do sleep 0.01; done";
    let counted = |key: &str| once(key).args(["--once-attempts", "2"]);
    counted("agreeable").sh(agreeable).run().exits(75).says("--max-run");
    counted("agreeable").sh(agreeable).run().exits(75);
    counted("agreeable")
        .sh("echo >>\"$D/starts\"")
        .run()
        .exits(75)
        .says("agreeable was tried 2 times");
    assert_eq!(starts(arena), 2, "both were counted");
    once("agreeable").sh("echo >>\"$D/starts\"").run().exits(0);
    once("agreeable").sh(STAY).run().exits(0).is_silent();
    assert_eq!(starts(arena), 3, "it was open, and is done");
}

fn a_slot_has_it_and_so_does_a_shard(arena: &Arena) {
    for divided in ["--slots", "--shards"] {
        let name = &divided[2..];
        let elect = arena.elect("run").args(["-e", name, divided, "2", "--max-run", SOON]);
        let elect = elect.args(["--restart", "always"]).env("D", arena.path(""));
        elect.sh(STAY).run().exits(128 + 15).says("as long as --max-run allows");
    }
}

/// A command that was asked to end may take its time for it, but not longer than this.
#[test]
fn an_end_that_was_asked_for_takes_no_longer() {
    let arena = Arena::on(Ground::File);
    let script = "trap '' INT; echo >>\"$D/starts\"; while :; do sleep 0.01; done";
    let run = run(&arena).args(["--max-run", LONG_ENOUGH]).sh(script);
    let running = run.under(["env", "--default-signal"]).spawn();
    eventually("a start", || (starts(&arena) == 1).then_some(()));
    running.ended_by(Signal::SIGINT).exits(128 + 15).says("--max-run");
}

#[test]
fn it_is_a_time() {
    let arena = Arena::on(Ground::File);
    for time in ["0", "soon", "-1s"] {
        run(&arena).args(["--max-run", time, "true"]).run().exits(125).says("--max-run");
    }
}

//! A hook that must end is first asked to. elect does not warn of an end that it has asked for.

use elect_testkit::fault::Traced;

use super::{HANG, lines};
use crate::cli::see::{Arena, Ground, on_each_cluster};
use crate::prelude::*;
use crate::stage::stop;

/// Says when it is asked to stop, and fails.
const LISTEN: &str = r#"sh -c 'trap "echo asked >>\"$RECORD.hook\"; exit 3" TERM
    echo ready >>"$RECORD.hook"; while :; do sleep 0.02; done'"#;

/// Lives until it is told otherwise, by a file.
const UNTIL: &str =
    r#"sh -c 'echo $$ >"$RECORD.hook"; until [ -e "$RECORD.end" ]; do sleep 0.02; done'"#;

/// Ends once it may, and says so.
const OUTLASTS: &str = r#"sh -c 'echo begun >"$RECORD.hook"; until [ -e "$RECORD.end" ]; do sleep 0.02; done
    echo done >>"$RECORD.hook"'"#;

const STAYS: &str = "echo \"$ELECT_TOKEN $ELECT_LEADER_ID\" >>\"$RECORD\"; exec sleep 3600";
/// Ends at once.
const BRIEF: &str = "echo $$ >\"$RECORD.command\"";

/// Says how the command has ended.
const CODE: &str = "sh -c 'echo code $ELECT_EXIT_CODE >&2'";
/// Ends by KILL alone.
const DEAF: &str = "trap '' TERM; echo \"$ELECT_TOKEN $ELECT_LEADER_ID\" >>\"$RECORD\"
    while :; do sleep 0.02; done";

on_each_cluster! { alone: a_loss_that_ends_in_a_kill_is_told_as_one }

fn run(arena: &Arena, flags: &[&str], script: &str) -> Running {
    let flags = |run: Elect| run.args(["--hook-timeout", "1h"]).args(flags);
    arena.run_with("us", 15, flags, script)
}

#[track_caller]
fn wait_until_ready(arena: &Arena) {
    eventually("a hook", || (!lines(arena, "hook").is_empty()).then_some(()));
}

#[track_caller]
fn was_asked(arena: &Arena, ended: &Ended) {
    assert_eq!(lines(arena, "hook"), ["ready", "asked"], "{}", ended.stderr);
    assert!(!ended.stderr.contains("--on-"), "{}", ended.stderr);
}

#[test]
fn a_hook_is_asked_to_stop_as_the_command_is() {
    let arena = Arena::on(Ground::File);
    let mut elect = run(&arena, &["--on-elected", LISTEN], STAYS);
    wait_until_ready(&arena);
    elect.signal(Signal::SIGTERM);
    was_asked(&arena, &elect.wait().exits(143));
}

#[test]
fn a_hook_is_asked_to_stop_when_leadership_is_given_up() {
    let arena = Arena::on(Ground::File);
    let elect = run(&arena, &["--on-elected", LISTEN], STAYS);
    wait_until_ready(&arena);
    arena.elect("resign").arg("job").run().exits(0);
    was_asked(&arena, &elect.wait().exits(124));
}

/// Waits until a command that writes its process id to the file `command` has ended.
fn wait_for_the_end(arena: &Arena) {
    let command = eventually("a command", || lines(arena, "command").pop());
    let command = format!("/proc/{command}");
    eventually("its end", || (!Path::new(&command).exists()).then_some(()));
}

#[test]
fn elect_leads_until_the_hook_beside_a_command_that_ends_at_once_has_ended() {
    let arena = Arena::on(Ground::File);
    let elect = run(&arena, &["--on-elected", OUTLASTS], BRIEF);
    wait_for_the_end(&arena);
    wait_until_ready(&arena);
    arena.elect("run").args(["-e", "job", "-n", "true"]).run().exits(75);
    fs::write(arena.path("record.end"), "").expect("a file");
    let ended = elect.wait().exits(0);
    assert_eq!(lines(&arena, "hook"), ["begun", "done"], "{}", ended.stderr);
}

#[test]
fn the_hook_beside_a_command_that_has_ended_is_killed_after_its_time() {
    let arena = Arena::on(Ground::File);
    let flags = ["--on-elected", OUTLASTS, "--hook-timeout", "300ms"];
    let elect = arena.run_with("us", 15, |run| run.args(flags), BRIEF);
    elect.wait().exits(0).says("--on-elected: sh did not end within 300ms");
}

#[test]
fn a_signal_while_only_the_hook_runs_asks_the_hook_to_stop() {
    let arena = Arena::on(Ground::File);
    let elect = run(&arena, &["--on-elected", LISTEN], BRIEF);
    wait_for_the_end(&arena);
    wait_until_ready(&arena);
    was_asked(&arena, &elect.ended_by(Signal::SIGTERM).exits(0));
}

#[test]
fn a_hook_is_asked_to_stop_in_a_pause() {
    let arena = Arena::on(Ground::File);
    let rests = ["--restart", "always", "--restart-delay", "1h", "--on-elected", LISTEN, "-v"];
    let elect = run(&arena, &rests, STAYS.split(';').next().expect("a record"));
    arena.wait_for_leader("us");
    wait_until_ready(&arena);
    let ended = elect.ended_by(Signal::SIGTERM);
    // By the signal, or the command was about to end by itself.
    assert!([0, 143].contains(&ended.code()), "{}", ended.stderr);
    assert_eq!(lines(&arena, "hook"), ["ready", "asked"], "{}", ended.stderr);
}

#[test]
fn a_hook_that_is_deaf_is_killed_without_a_warning() {
    let arena = Arena::on(Ground::File);
    let elect = run(&arena, &["--stop-timeout", "200ms", "--on-elected", HANG], STAYS);
    wait_until_ready(&arena);
    let ended = elect.ended_by(Signal::SIGTERM).exits(143);
    assert!(!ended.stderr.contains("--on-elected"), "{}", ended.stderr);
}

#[test]
fn a_signal_during_the_last_hook_asks_the_hook_to_stop() {
    let arena = Arena::on(Ground::File);
    let mut elect = run(&arena, &["--on-lost", LISTEN], STAYS);
    arena.wait_for_leader("us");
    elect.signal(Signal::SIGTERM);
    wait_until_ready(&arena);
    // The same one twice within a second is one.
    elect.signal(Signal::SIGINT);
    was_asked(&arena, &elect.wait().exits(143));
}

#[test]
fn a_deaf_last_hook_is_killed_and_no_new_campaign_follows() {
    let arena = Arena::on(Ground::File);
    let flags = ["--on-lost", HANG, "--stop-timeout", "200ms", "--after-loss", "campaign"];
    let elect = run(&arena, &flags, STAYS);
    arena.wait_for_leader("us");
    arena.elect("resign").arg("job").run().exits(0);
    wait_until_ready(&arena);
    elect.ended_by(Signal::SIGTERM).exits(124);
    assert_eq!(arena.record().len(), 1);
}

/// The two are seen at once by a wrapper that has stood still meanwhile: then either may be looked at first.
#[test]
fn a_signal_that_comes_as_the_last_hook_ends_is_not_lost() {
    const ROUNDS: usize = 8;
    for _ in 0..ROUNDS {
        let arena = Arena::on(Ground::File);
        let mut elect = run(&arena, &["--on-lost", UNTIL, "--after-loss", "campaign"], STAYS);
        arena.wait_for_leader("us");
        arena.elect("resign").arg("job").run().exits(0);
        wait_until_ready(&arena);
        stop(elect.pid());
        fs::write(arena.path("record.end"), "").expect("a file");
        let hook = format!("/proc/{}", lines(&arena, "hook")[0]);
        eventually("the end of the hook", || (!Path::new(&hook).exists()).then_some(()));
        elect.signal(Signal::SIGTERM);
        elect.signal(Signal::SIGCONT);
        eventually("an end", || {
            assert_eq!(arena.record().len(), 1, "it campaigns on");
            (!elect.is_running()).then_some(())
        });
    }
}

#[test]
fn a_leader_that_has_started_nothing_has_lost_nothing() {
    let arena = Arena::on(Ground::File);
    arena.elect("pause").args(["job", "--create"]).run().exits(0);
    let hooks = ["--on-elected", LISTEN, "--on-lost", LISTEN];
    let elect = run(&arena, &hooks, STAYS);
    arena.wait_for_candidate("us");
    elect.ended_by(Signal::SIGTERM).exits(143);
    assert_eq!(lines(&arena, "hook"), [""; 0]);
}

/// Nobody answers: the command is asked to stop at the soft deadline, and killed at the hard one.
fn a_loss_that_ends_in_a_kill_is_told_as_one(arena: &Arena) {
    let flags = |run: Elect| run.args(["-k", "200ms", "--on-lost", CODE]);
    let elect = arena.run_with("us", 4, flags, DEAF);
    arena.wait_for_leader("us");
    let _silence = arena.silence();
    elect.wait().exits(124).says("code 124");
}

/// An entry that is gone alone leaves it its grace; with the whole election gone it is killed at once.
#[test]
fn a_loss_of_the_election_is_told_as_one() {
    let arenas = [Arena::on(Ground::File), Arena::on(Ground::File)];
    let runs = arenas.each_ref().map(|arena| {
        let elect = run(arena, &["-v", "-k", "200ms", "--on-lost", CODE], DEAF);
        arena.wait_for_leader("us");
        elect
    });
    let [evicted, removed] = arenas.each_ref().map(|arena| arena.path("state").join("job"));
    for entry in fs::read_dir(evicted.join("queue")).expect("a queue") {
        fs::remove_file(entry.expect("an entry").path()).expect("mine");
    }
    fs::remove_dir_all(removed).expect("an election");
    for elect in runs {
        elect.wait().exits(124).says("leadership is lost").says("code 124");
    }
}

/// On HUP daemons reload; where it is the signal that stops the command, elect has stopped it.
#[test]
fn a_command_that_is_stopped_by_hup_is_told_as_stopped() {
    let arena = Arena::on(Ground::File);
    let elect = run(&arena, &["-s", "HUP", "--on-elected", LISTEN, "--on-lost", CODE], STAYS);
    arena.wait_for_leader("us");
    wait_until_ready(&arena);
    arena.elect("resign").arg("job").run().exits(0);
    was_asked(&arena, &elect.wait().exits(124).says("code 124"));
}

/// Nothing that it could do would help, and the exit code of the command must not wait for ever.
#[test]
fn a_last_hook_that_cannot_be_killed_is_told_and_left() {
    const HANGS: &str = r#"sh -c 'echo $$ >"$RECORD.hook"; exec sleep 3600'"#;
    let arena = Arena::on(Ground::File);
    let flags = ["--on-lost", HANGS, "--hook-timeout", "1s"];
    let mut elect = arena.run_with("us", 15, |run| run.args(flags), "exit 7");
    let hook = eventually("a hook", || lines(&arena, "hook").pop()).parse().expect("a process");
    let kept = Traced::keep(hook);
    eventually("the end of elect", || (!elect.is_running()).then_some(()));
    // It would keep elect's streams open.
    drop(kept);
    elect.wait().exits(7).says("--on-lost: sh did not end within 1s, and could not be killed");
}

//! It is one leadership, whatever the command does.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use elect_testkit::program::is_alive;

use crate::engine::loss::evict;
use crate::prelude::*;
use crate::stage::send;

const FAST: [&str; 4] = ["--restart-delay", "20ms", "--restart-max-delay", "40ms"];
/// Says how often it was started, by now, and with which token.
const COUNT: &str = "echo $ELECT_TOKEN >>\"$D/starts\"; n=$(wc -l <\"$D/starts\"); ";

fn tokens(ground: &Ground) -> Vec<String> {
    let text = fs::read_to_string(ground.path().join("starts")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[track_caller]
fn wait_for_starts(ground: &Ground, count: usize) {
    eventually(&format!("{count} starts"), || (tokens(ground).len() >= count).then_some(()));
}

#[test]
fn a_command_that_fails_is_started_again_with_the_same_token_until_it_succeeds() {
    let ground = Ground::new();
    let script = format!(
        "{COUNT} \"$E\" check >&2; case $n in 1) exit 3;; 2) kill -9 $$;; *) echo done;; esac"
    );
    let elect = ground.job().args(["-v", "--restart", "on-failure"]).args(FAST).sh(&script);
    let elect = elect.env("E", ELECT);
    elect
        .run()
        .exits(0)
        .prints("done\n")
        .says("the command exited with code 3; it is started again in ")
        .says("the command was ended by SIGKILL; it is started again in ");
    let tokens = tokens(&ground);
    assert_eq!(tokens.len(), 3);
    assert!(tokens.iter().all(|token| *token == tokens[0]), "{tokens:?}");
    let history = ground.elect("history").args(["-o", "json", "job"]).run().exits(0).stdout;
    let history: Value = serde_json::from_str(&history).expect("JSON");
    assert_eq!(history["leaderships"].as_array().map(Vec::len), Some(1), "{history}");
}

#[test]
fn without_the_flag_nothing_is_started_again() {
    let ground = Ground::new();
    ground.job().sh(&format!("{COUNT} exit 3")).run().exits(3);
    assert_eq!(tokens(&ground).len(), 1);
}

#[test]
fn a_command_that_succeeds_is_restarted_until_a_request_to_end() {
    let ground = Ground::new();
    let mut elect = ground.job().args(["--restart", "always"]).args(FAST).sh(COUNT).spawn();
    wait_for_starts(&ground, 4);
    elect.signal(Signal::SIGTERM);
    // As it rests, or runs: then the code is its own, and it may be about to end.
    let code = elect.wait().code();
    assert!([0, 128 + 15].contains(&code), "{code}");
    ground.job().args(["-n", "true"]).run().exits(0);
}

#[test]
fn a_rest_ends_at_once_on_a_request_to_end() {
    let said = |ground: &Ground| fs::read_to_string(ground.path().join("said")).unwrap();
    let rest = |ground: &Ground| {
        let elect = ground.job().args(["-v", "--restart", "always", "--restart-delay", "1h"]);
        let to_file = ["sh", "-c", "exec \"$@\" 2>\"$D/said\"", "sh"];
        let elect = elect.sh(COUNT).under(to_file).spawn();
        wait_for_starts(ground, 1);
        let rests = || said(ground).contains("it is started again in").then_some(());
        eventually("the rest", rests);
        elect
    };
    let says = |ground: &Ground, words| assert!(said(ground).contains(words), "{}", said(ground));
    let ground = Ground::new();
    let elect = rest(&ground);
    elect.ended_by(Signal::SIGTERM).exits(128 + 15);
    says(&ground, "told to end by SIGTERM");
    let ground = Ground::new();
    let elect = rest(&ground);
    ground.elect("resign").arg("job").run().exits(0);
    elect.wait().exits(124);
    says(&ground, "giving leadership up: asked by ");
    let ground = Ground::new();
    let elect = rest(&ground);
    ground.elect("pause").arg("job").run().exits(0);
    elect.wait().exits(124);
    let ground = Ground::new();
    let elect = rest(&ground);
    evict(&ground);
    elect.wait().exits(124);
    says(&ground, "leadership is lost");
    assert_eq!(tokens(&ground).len(), 1);
}

#[test]
fn during_a_rest_no_other_leads_and_a_killed_guardian_is_reported() {
    let ground = Ground::new();
    let script = format!("{COUNT} echo $$ >\"$D/pid\"; exit 1");
    let flags = ["--restart", "on-failure", "--restart-delay", "1h"];
    let mut elect = ground.job().args(flags).sh(&script).spawn();
    let command = ground.said("pid").parse().unwrap();
    eventually("its end", || (!is_alive(command)).then_some(()));
    ground.job().args(["-n", "true"]).run().exits(75);
    send(elect.guardian(), Signal::SIGKILL);
    elect.wait().exits(125).says("the guardian process was killed");
    ground.job().args(["-n", "true"]).run().exits(0);
}

#[test]
fn a_once_key_is_done_once_despite_restarts() {
    let ground = Ground::new();
    let script = format!("{COUNT} [ $n -ge 3 ]");
    let flags = ["--restart", "always", "--once", "today"];
    ground.job().args(flags).args(FAST).sh(&script).run().exits(0);
    assert_eq!(tokens(&ground).len(), 3);
    ground.job().args(flags).args(FAST).sh(&script).run().exits(0);
    assert_eq!(tokens(&ground).len(), 3, "it was done");
}

#[test]
fn a_command_that_cannot_be_executed_any_more_is_not_retried() {
    let ground = Ground::new();
    let program = ground.path().join("program");
    fs::write(&program, "#!/bin/sh\nrm \"$0\"; exit 1\n").unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let elect = ground.job().args(["--restart", "always"]).args(FAST).arg(&program);
    elect.run().exits(127).says("it is started again in 20ms");
}

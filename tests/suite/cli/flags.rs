//! The flags of `elect run` that no other chapter has.

use std::os::unix::fs::PermissionsExt;

use crate::prelude::*;
use crate::support::unstartable;
use crate::usage::STAY;

#[test]
fn a_lease_is_held_after_the_command_until_a_signal() {
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        let ground = Ground::new();
        let held = ground.job().args(["-v", "--hold", "1h"]).sh("exit 3");
        let mut command = held.under(["env", "--default-signal"]).command();
        let log = ground.path().join("log");
        command.stdout(Stdio::null()).stderr(fs::File::create(&log).unwrap());
        let elect = Running::new(command.spawn().unwrap());
        eventually("word of the holding", || {
            fs::read_to_string(&log)
                .is_ok_and(|text| text.contains("keeping the lease"))
                .then_some(())
        });
        ground.job().args(["-n", "true"]).run().exits(75);
        assert!(!ground.status()["leader"].is_null());
        elect.ended_by(signal).exits(3);
        ground.job().args(["-n", "true"]).run().exits(0);
    }
}

#[test]
fn a_lease_is_held_no_longer_than_asked_for() {
    let ground = Ground::new();
    ground.job().args(["--hold", "200ms"]).sh("exit 3").run().exits(3);
    ground.job().args(["-n", "true"]).run().exits(0);
    // Nothing is held for a command that was told to stop, nor for one that never ran.
    let script = unstartable(ground.path(), "/no/such");
    ground.job().args(["--hold", "1h"]).arg(script).run().exits(127);
    let elect = ground.job().args(["--hold", "1h"]).sh(STAY).spawn();
    ground.said("started");
    elect.ended_by(Signal::SIGTERM).exits(143);
}

/// Returns the contents of `--outcome`.
fn outcome(ground: &Ground) -> Value {
    serde_json::from_str(&fs::read_to_string(ground.path().join("outcome")).unwrap()).unwrap()
}

fn recording(ground: &Ground) -> Elect {
    ground.job().arg("--outcome").arg(ground.path().join("outcome"))
}

#[test]
fn the_outcome_tells_more_than_the_exit_code() {
    let ground = Ground::new();
    for (script, code, name) in [("exit 75", 75, "exited"), ("kill -TERM $$", 143, "signaled")] {
        recording(&ground).sh(script).run().exits(code);
        let found = outcome(&ground);
        assert_eq!((&found["outcome"], &found["exit_code"]), (&name.into(), &code.into()));
        assert!(found["token"].is_u64() && found["election"] == "job", "{found}");
    }
    let mut keys: Vec<String> = outcome(&ground).as_object().unwrap().keys().cloned().collect();
    keys.sort();
    let expected =
        ["election", "ended", "exit_code", "id", "outcome", "reason", "started", "token"];
    assert_eq!(keys, expected);
    for (interpreter, code, name) in
        [("/no/such", 127, "not_found"), ("/etc", 126, "not_executable")]
    {
        let script = unstartable(ground.path(), interpreter);
        recording(&ground).arg(script).run().exits(code);
        assert_eq!(outcome(&ground)["outcome"], name);
    }
}

#[test]
fn a_run_that_never_led_has_an_outcome() {
    let ground = Ground::new();
    let _leader = ground.leader();
    recording(&ground).args(["-n", "-E", "0", "true"]).run().exits(0).is_silent();
    let found = outcome(&ground);
    assert_eq!((&found["outcome"], &found["exit_code"]), (&"not_acquired".into(), &0.into()));
    assert!(found["token"].is_null() && found["id"].is_string(), "{found}");
    let waiter = recording(&ground).arg("true").spawn();
    ground.awaits(1);
    let record = ground.path().join("outcome");
    assert_eq!(fs::read_to_string(&record).unwrap(), "", "empty while elect is at work");
    waiter.ended_by(Signal::SIGTERM).exits(143);
    assert_eq!(outcome(&ground)["outcome"], "interrupted");
    // The store fails after the file was opened: a file is in the directory's place.
    let broken = ground.path().join("broken");
    fs::write(&broken, "").unwrap();
    let elect = Elect::new(ELECT).arg("run");
    let url = format!("file://{}", broken.display());
    elect.args(["-e", "job", "-b", &url, "--outcome"]).arg(&record).arg("true").run().exits(125);
    assert_eq!(outcome(&ground)["outcome"], "failed");
}

#[test]
fn an_outcome_that_cannot_be_written_is_refused_before_anything_runs() {
    let ground = Ground::new();
    let link = ground.path().join("link");
    std::os::unix::fs::symlink(ground.path().join("victim"), &link).unwrap();
    for path in ["/nonexistent/outcome".into(), ground.path().to_owned(), link] {
        let elect = ground.job().arg("--outcome").arg(&path).sh("echo ran");
        elect.run().exits(125).prints("").says(&path.display().to_string());
    }
    assert!(!ground.state().exists() && !ground.has("victim"));
}

#[test]
fn quiet_and_verbose() {
    let ground = Ground::new();
    ground.job().arg("true").run().exits(0).is_silent();
    let verbose = ground.job().args(["-v", "true"]).run().exits(0);
    let root = format!("store file://{}", ground.state().display());
    verbose.says(&root).says("containment").says("leading, token").says("exited with code 0");
    let _leader = ground.leader();
    ground.job().args(["-n", "true"]).run().exits(75).says("warning: another candidate leads");
    ground.job().args(["-q", "-n", "true"]).run().exits(75).is_silent();
    ground
        .elect("run")
        .args(["-q", "-e", "other", "no-such-command"])
        .run()
        .exits(127)
        .says("error");
    ground.job().args(["-q", "-v", "true"]).run().exits(125).says("exclude each other");
}

#[test]
fn every_line_of_the_json_log_parses() {
    let ground = Ground::new();
    let json = ["--log-format", "json"];
    let ended = ground.job().args(json).args(["-v", "--hold", "10ms", "true"]).run().exits(0);
    let lines: Vec<Value> =
        ended.stderr.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    assert!(lines.len() >= 4, "{}", ended.stderr);
    for line in &lines {
        assert!(line["time"].is_string() && line["message"].is_string(), "{line}");
        assert_eq!(line["election"], "job");
    }
    let failed = ground.elect("run").args(json).arg("sh").run().exits(125);
    let line: Value = serde_json::from_str(&failed.stderr).unwrap();
    assert_eq!((&line["level"], &line["hint"]), (&"error".into(), &"use -e NAME".into()));
}

/// A program need not read messages, which may change.
#[test]
fn a_line_of_the_json_log_names_event_and_candidate() {
    let ground = Ground::new();
    let json = ["--log-format", "json"];
    let run = recording(&ground).args(json);
    let ended = run.args(["-v", "sh", "-c", "exit 7"]).run().exits(7);
    let outcome = outcome(&ground);
    let lines: Vec<Value> =
        ended.stderr.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let of = |event: &str| {
        let line = lines.iter().find(|line| line["event"] == event);
        line.unwrap_or_else(|| panic!("no {event}: {}", ended.stderr))
    };
    let leading = of("leading");
    assert_eq!((&leading["token"], &leading["id"]), (&outcome["token"], &outcome["id"]));
    assert!(leading["exit_code"].is_null(), "{leading}");
    let exited = of("exited");
    assert_eq!((&exited["token"], &exited["exit_code"]), (&outcome["token"], &7.into()));
    assert_eq!(exited["id"], outcome["id"]);

    let _leader = ground.leader();
    let ended = ground.job().args(json).args(["-n", "true"]).run().exits(75);
    let line: Value = serde_json::from_str(&ended.stderr).unwrap();
    assert_eq!((&line["event"], &line["exit_code"]), (&"not_acquired".into(), &75.into()));
    let ended = ground.elect("run").args(json).args(["-e", "x", "/no/such"]).run().exits(127);
    let line: Value = serde_json::from_str(&ended.stderr).unwrap();
    assert_eq!((&line["event"], &line["exit_code"]), (&"not_found".into(), &127.into()));
}

/// Wrong words, too, as far as they tell that the form is JSON.
#[test]
fn wrong_words_are_told_in_json_where_that_is_asked_for() {
    let ground = Ground::new();
    let json = ["--log-format", "json"];
    let refused = |elect: Elect| -> Value {
        let ended = elect.run().exits(125).prints("");
        let line: Value = serde_json::from_str(&ended.stderr).expect(&ended.stderr);
        assert_eq!((&line["level"], &line["event"]), (&"error".into(), &"failed".into()));
        assert_eq!((&line["exit_code"], line["time"].is_string()), (&125.into(), true), "{line}");
        line
    };
    let said = refused(ground.elect("run").args(json).args(["--ttll", "5s", "true"]));
    assert_eq!(said["message"], "unexpected argument '--ttll' found");
    assert!(said["hint"].as_str().is_some_and(|hint| hint.contains("'--ttl'")), "{said}");
    let said = refused(ground.elect("run").args(["--wait", "soon"]).args(json).arg("true"));
    assert!(said["message"].as_str().unwrap().contains("'soon'"), "{said}");
    refused(ground.elect("run").args(json));
    refused(ground.elect("sidecar").args(json).arg("--bogus"));
    refused(ground.elect("run").env("ELECT_LOG_FORMAT", "json").args(["--bogus", "true"]));
    refused(ground.job().args(json).args(["-b", "nowhere", "true"]));
    // Help is no complaint, and other commands have no such form.
    ground.elect("run").args(json).arg("--help").run().exits(0).is_quiet();
    let status = ground.elect("status").env("ELECT_LOG_FORMAT", "json").arg("--bogus").run();
    status.exits(125).says("elect: error: unexpected argument");
}

#[test]
fn without_a_name_the_election_is_called_after_the_command() {
    let ground = Ground::new();
    let script = ground.path().join("nightly.sh");
    fs::write(&script, "#!/bin/sh\necho $ELECT_LEADER_ELECTION\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let ended = ground.elect("run").arg("-v").arg(&script).run().exits(0).prints("nightly.sh\n");
    ended.says("named after the command");
    for command in ["sh", "/bin/bash", "python3", "python3.11", "env", "sudo", "ssh"] {
        let name = command.rsplit('/').next().unwrap();
        ground.elect("run").args([command, "x"]).run().exits(125).says(name).says("use -e NAME");
    }
}

#[test]
fn dashes_before_the_command_are_not_needed() {
    let ground = Ground::new();
    ground.job().args(["echo", "-n", "--wait"]).run().prints("--wait");
    ground.job().args(["--", "echo", "--", "-n"]).run().prints("-- -n\n");
    ground.elect("run").args(["-ejob", "-n", "echo", "x"]).run().prints("x\n");
}

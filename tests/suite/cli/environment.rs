//! The variables that the command finds in its environment, and those that elect takes from its own.

use std::collections::BTreeMap;

use crate::cli::manual::page;
use crate::prelude::*;

/// The variables of the command that are called `ELECT_...`.
fn variables(elect: &Elect) -> BTreeMap<String, String> {
    let text = elect.clone().arg("env").run().exits(0).stdout;
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    pairs
        .filter(|(name, _)| name.starts_with("ELECT_"))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

#[test]
fn the_command_is_told_of_its_leadership() {
    let ground = Ground::new();
    let found = variables(&ground.job().args(["--id", "me"]));
    let names: Vec<&str> = found.keys().map(String::as_str).collect();
    let leader = ["BACKEND", "ELECTION", "ID"].map(|name| format!("ELECT_LEADER_{name}"));
    assert_eq!(names[..3], leader);
    assert_eq!(names[3..], ["ELECT_LEASE", "ELECT_TOKEN"]);
    assert_eq!(found["ELECT_LEADER_ELECTION"], "job");
    let state = format!("file://{}", ground.state().display());
    assert_eq!(found["ELECT_LEADER_BACKEND"], state);
    assert!(found["ELECT_LEADER_ID"].starts_with("me-"), "{found:?}");
    assert!(found["ELECT_TOKEN"].parse::<u64>().unwrap() > 0);
    let next = variables(&ground.job());
    assert!(next["ELECT_TOKEN"].parse::<u64>().unwrap() > found["ELECT_TOKEN"].parse().unwrap());
}

/// The kernel takes it from the guardian, which has a real-time priority where it may.
#[test]
fn the_command_has_the_timer_slack_of_elect() {
    const SLACK: &str = "/proc/self/timerslack_ns";
    let ours = fs::read_to_string(SLACK).unwrap();
    Ground::new().job().args(["cat", SLACK]).run().exits(0).prints(&ours);
}

#[test]
fn variables_that_choose_an_election_are_withheld_others_passed_on() {
    let ground = Ground::new();
    let outcome = ground.path().join("outcome");
    let found = variables(
        &Elect::new(ELECT)
            .arg("run")
            .env("ELECT_BACKEND", format!("file://{}", ground.state().display()))
            .env("ELECT_ELECTION", "job")
            .env("ELECT_ID", "me")
            .env("ELECT_OUTCOME", &outcome)
            .env("ELECT_RESTART", "on-failure")
            .env("ELECT_HEALTH_CMD", "true")
            .env("ELECT_HEALTH_HTTP", "http://127.0.0.1:1/")
            .env("ELECT_LOCK_DELAY", "1ms")
            .env("ELECT_TOKEN", "stale")
            .env("ELECT_LEASE", "stale")
            .env("ELECT_LEADER_ID", "stale")
            .env("ELECT_LEADER_ELECTION", "stale"),
    );
    let of_one_run = ["ELECTION", "ID", "OUTCOME", "RESTART", "HEALTH_CMD", "HEALTH_HTTP"];
    for withheld in of_one_run {
        assert!(!found.contains_key(&format!("ELECT_{withheld}")), "{found:?}");
    }
    assert_eq!(found["ELECT_LOCK_DELAY"], "1ms");
    assert!(found["ELECT_BACKEND"].starts_with("file://"));
    assert!(found.values().all(|value| value != "stale"), "{found:?}");
    assert!(found["ELECT_LEADER_ID"].starts_with("me-") && outcome.exists());
}

#[test]
fn other_variables_stay_as_they_are() {
    let ground = Ground::new();
    let elect = ground.run().env("ODD", "a=b\nc").env("EMPTY", "");
    elect.sh("printf '%s|%s|' \"$ODD\" \"${EMPTY-unset}\"").run().exits(0).prints("a=b\nc||");
}

/// `elect run` in the ground's state, without any flag.
fn bare(ground: &Ground) -> Elect {
    Elect::new(ELECT)
        .arg("run")
        .env("ELECT_BACKEND", format!("file://{}", ground.state().display()))
        .env("D", ground.path())
}

#[test]
fn a_flag_beats_its_variable() {
    let ground = Ground::new();
    let elsewhere = format!("file://{}", ground.path().join("elsewhere").display());
    bare(&ground)
        .env("ELECT_ELECTION", "variable")
        .args(["-e", "flag", "-b", &elsewhere])
        .sh("test \"$ELECT_LEADER_ELECTION\" = flag")
        .run()
        .exits(0);
    assert!(ground.path().join("elsewhere/flag").exists() && !ground.state().exists());
}

#[test]
fn a_variable_beats_the_default() {
    let ground = Ground::new();
    let leader = ground.leader();
    let job = || bare(&ground).env("ELECT_ELECTION", "job");
    job().env("ELECT_NO_WAIT", "1").arg("true").run().exits(75);
    job().env("ELECT_NO_WAIT", "true").arg("true").run().exits(75);
    job().env("ELECT_WAIT", "10ms").arg("true").run().exits(75);
    let nine = job().env("ELECT_CONFLICT_EXIT_CODE", "9");
    nine.clone().args(["-n", "true"]).run().exits(9);
    nine.args(["-n", "-E", "8", "true"]).run().exits(8);
    // A flag settles what two variables, or a variable and itself, would leave open.
    job().env("ELECT_WAIT", "1h").args(["-n", "true"]).run().exits(75);
    job().env("ELECT_NO_WAIT", "1").args(["-w", "10ms", "true"]).run().exits(75);
    job().env("ELECT_NO_WAIT", "1").env("ELECT_WAIT", "1h").arg("true").run().exits(125);
    job().args(["-n", "-w", "5", "true"]).run().exits(125).says("exclude");
    drop(leader);
    job().env("ELECT_NO_WAIT", "0").sh("exit 3").run().exits(3);
}

/// Of each variable of `elect run`: what the manual does not list counts as unset, and the rest is refused.
#[test]
fn an_empty_variable_counts_as_unset_unless_that_lifts_a_limit() {
    let ground = Ground::new();
    let page = page("basics");
    let limits = page.split("## Empty variables").nth(1).expect("a section");
    let limits = limits.split("The flag on").next().expect("a list");
    let grammar = elect::cli::grammar();
    let run = grammar.find_subcommand("run").expect("a subcommand");
    let flags: Vec<&clap::Arg> =
        run.get_arguments().filter(|arg| arg.get_env().is_some()).collect();
    assert!(flags.len() > 40, "{}", flags.len());
    let mut refused = 0;
    for flag in flags {
        let long = flag.get_long().expect("a name");
        let variable = format!("ELECT_{}", long.to_uppercase().replace('-', "_"));
        let job = bare(&ground).env("ELECT_ELECTION", "job").env(&variable, "");
        let ended = job.args(["echo", "ran"]).run();
        if limits.contains(&format!("`--{long}`")) {
            refused += 1;
            ended.exits(125).prints("").says(&format!("the variable {variable} is empty"));
        } else {
            let ended = ended.exits(0).prints("ran\n");
            assert_eq!(ended.stderr, "", "{variable}");
        }
    }
    assert_eq!(refused, limits.matches("`--").count() - 3, "all but those of other subcommands");
    let status = ground.elect("status").env("ELECT_OUTPUT", "").run().exits(0);
    assert!(status.stdout.starts_with("backend: "), "{status:?}");
}

#[test]
fn a_limit_that_would_be_gone_is_refused_wherever_it_is_one() {
    let ground = Ground::new();
    let elect = |words: &[&str]| Elect::new(ELECT).args(words).env("HOME", ground.path());
    for (words, variable) in [
        (&["status", "job"][..], "ELECT_BACKEND"),
        (&["done", "job"], "ELECT_PROFILE"),
        (&["wait", "-b", "file:", "job"], "ELECT_FOR"),
        (&["check"], "ELECT_REMAINING"),
        (&["sidecar", "-e", "job"], "ELECT_GRACE"),
        (&["config", "show"], "ELECT_ONCE"),
    ] {
        let said = format!("the variable {variable} is empty");
        elect(words).env(variable, "").run().exits(125).prints("").says(&said);
    }
    // The flag has the last word.
    let job = || bare(&ground).args(["-e", "job"]);
    job().env("ELECT_ONCE", "").args(["--once", "today", "true"]).run().exits(0);
    let key = ground.elect("done").args(["job", "today"]).run();
    key.exits(0);
    // A number of attempts at nothing in particular limits nothing.
    let attempts = job().env("ELECT_ONCE_ATTEMPTS", "2");
    let said = "ELECT_ONCE_ATTEMPTS: --once-attempts requires --once or --once-per";
    attempts.clone().args(["echo", "ran"]).run().exits(125).prints("").says(said);
    attempts.args(["--once", "tomorrow", "true"]).run().exits(0);
}

#[test]
fn a_bad_variable_is_named() {
    let ground = Ground::new();
    for (name, value) in [
        ("ELECT_BACKEND", "nonsense"),
        ("ELECT_ELECTION", "a b"),
        ("ELECT_NO_WAIT", "perhaps"),
        ("ELECT_WAIT", "soon"),
        ("ELECT_CONFLICT_EXIT_CODE", "256"),
        ("ELECT_SIGNAL", "NONE"),
        ("ELECT_KILL_GRACE", "-1"),
        ("ELECT_ID", "a b"),
        ("ELECT_LEFTOVER", "sell"),
        ("ELECT_STOP_TIMEOUT", "1 parsec"),
        ("ELECT_HOLD", "tight"),
        ("ELECT_AFTER_LOSS", "cry"),
        ("ELECT_OUTCOME", "/nonexistent/outcome"),
        ("ELECT_QUIET", "perhaps"),
        ("ELECT_VERBOSE", "perhaps"),
        ("ELECT_LOG_FORMAT", "xml"),
    ] {
        let job = bare(&ground).env("ELECT_ELECTION", "job");
        let ended = job.env(name, value).sh("echo ran").run().exits(125).prints("");
        assert!(ended.stderr.contains(value), "{name}: {ended:?}");
        let is_switch = value == "perhaps";
        assert_eq!(ended.stderr.contains("write true or false"), is_switch, "{name}: {ended:?}");
    }
    assert!(!ground.state().exists(), "nothing was run");
}

#[test]
fn each_variable_acts_like_its_flag() {
    let ground = Ground::new();
    let job = || bare(&ground).env("ELECT_ELECTION", "job");
    let outcome = ground.path().join("outcome");
    job().env("ELECT_OUTCOME", &outcome).sh("exit 3").run().exits(3);
    assert!(fs::read_to_string(&outcome).unwrap().contains("\"exit_code\":3"));
    let id = job().env("ELECT_ID", "me").sh("echo $ELECT_LEADER_ID").run().exits(0).stdout;
    assert!(id.starts_with("me-"), "{id}");
    job().env("ELECT_VERBOSE", "1").arg("true").run().exits(0).says("leading");
    let json = job().env("ELECT_VERBOSE", "1").env("ELECT_LOG_FORMAT", "json");
    json.arg("true").run().exits(0).says("{\"time\":");
    job().env("ELECT_QUIET", "1").env("ELECT_NO_WAIT", "1").arg("true").run().is_silent();
    let yaml = ground.elect("status").env("ELECT_OUTPUT", "yaml").run().exits(0);
    assert!(yaml.stdout.starts_with("elections:"), "{yaml:?}");
    // --leftover wait keeps the lease, and elect, for as long as something is left.
    let orphan = "(until [ -e \"$D/go\" ]; do sleep 0.01; done; echo >\"$D/orphan\") & exit 3";
    let mut elect = job().env("ELECT_LEFTOVER", "wait").sh(orphan).spawn();
    assert!(elect.is_running());
    fs::write(ground.path().join("go"), "").unwrap();
    elect.wait().exits(3);
    assert!(ground.has("orphan"));
}

use elect_testkit::sim::{Cause, Kind, Options, SimServer};

use crate::prelude::*;

const NAMES: &str = "\
backend: STATE
profiles:
  outer:
    election: outer
    id: label
    outcome: OUTCOME
  inner:
    election: inner
";

fn named(ground: &Ground) -> (PathBuf, PathBuf) {
    let outcome = ground.path().join("outcome");
    let text = NAMES.replace("OUTCOME", &outcome.display().to_string());
    (ground.configure(&text), outcome)
}

#[test]
fn a_profile_that_names_an_election_does_not_make_a_nested_one_wait_for_its_parent() {
    let ground = Ground::new();
    let (config, outcome) = named(&ground);
    let script = format!("{ELECT} run -- env | grep LEADER; cat '{}'", outcome.display());
    let run = || Elect::new(ELECT).arg("run").env("ELECT_CONFIG", &config);
    let ended = run().env("ELECT_PROFILE", "outer").env("OUT", &outcome);
    let text =
        ended.args(["sh", "-c"]).arg(script.replace("env |", "printenv |")).run().exits(0).stdout;
    assert!(text.contains("ELECT_LEADER_ELECTION=printenv"), "{text}");
    assert!(!text.contains("ELECT_LEADER_ID=label-"), "{text}");
    // The store comes from the file all the same, and the outcome is the parent's.
    assert!(ground.state().join("printenv").is_dir() && !text.contains("exited"), "{text}");
    assert!(fs::read_to_string(&outcome).unwrap().contains("\"election\":\"outer\""));
}

#[test]
fn a_profile_named_at_the_call_itself_counts_whole() {
    let ground = Ground::new();
    let (config, _) = named(&ground);
    let run = |script: &str| {
        let run = Elect::new(ELECT).arg("run").env("ELECT_CONFIG", &config);
        run.env("ELECT_PROFILE", "outer").sh(script).run()
    };
    let show = "sh -c 'echo $ELECT_LEADER_ELECTION'";
    run(&format!("{ELECT} run --profile inner -- {show}")).exits(0).prints("inner\n");
    run(&format!("{ELECT} run --profile outer -- {show}")).exits(125).says("wait for itself");
    let shared = ground.path().join("shared.yaml");
    fs::write(&shared, format!("backend: file://{}\nelection: shared\n", ground.state().display()))
        .unwrap();
    run(&format!("unset ELECT_PROFILE; {ELECT} run --config {} -- {show}", shared.display()))
        .exits(0)
        .prints("shared\n");
    // A nested run does not inherit a name that the file sets for all elections.
    let script = format!("{ELECT} run -- printenv ELECT_LEADER_ELECTION");
    let outer = Elect::new(ELECT).arg("run").env("ELECT_CONFIG", &shared).sh(&script);
    outer.run().exits(0).prints("printenv\n");
}

#[test]
fn a_crashed_leader_is_replaced_though_its_configuration_is_broken_meanwhile() {
    let server = SimServer::start(&Options::new(Kind::Queue));
    let ground = Ground::new();
    let text = format!("profiles:\n  far:\n    backend: {}\n    ttl: 60s\n", server.url());
    let config = ground.configure(&text);
    let run = Elect::new(ELECT).arg("run").env("ELECT_CONFIG", &config);
    let run = run.env("ELECT_PROFILE", "far").args(["-e", "job"]);
    let leader = run.arg("--").sh("sleep 3600").spawn();
    let job = "job".parse().expect("a good name");
    eventually("a leader", || server.controls().leader(&job));
    fs::write(&config, "wiat: {").unwrap();
    leader.ended_by(Signal::SIGKILL).exits(137);
    eventually("the end of the entry", || server.controls().leader(&job).is_none().then_some(()));
    let history = server.controls().history();
    let (at, cause) = history[0].over.expect("over");
    assert_eq!(cause, Cause::Left, "{history:?}");
    assert!(history[0].lease_end.since(at) > Duration::from_secs(30), "{history:?}");
}

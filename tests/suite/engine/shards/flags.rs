//! Flags that do not go with `--shards`.

use crate::prelude::*;

#[test]
fn flags_of_a_candidate_that_leads_one_election_are_refused() {
    let ground = Ground::new();
    for flags in [
        &["--no-wait"][..],
        &["--wait", "1s"],
        &["--hold", "1s"],
        &["--once", "today"],
        &["--preempt"],
        &["--preempt-after", "1s"],
        &["--http", "0"],
        &["--lease-file", "lease"],
        &["--pod-label"],
        &["--on-change", "true"],
        &["--slots", "3"],
    ] {
        let refused = ground.run().args(["--shards", "3"]).args(flags).arg("true").run();
        refused.exits(125).prints("").says(flags[0]).says("--shards");
    }
}

#[test]
fn a_variable_that_means_nothing_beside_them_is_refused_by_its_name() {
    let ground = Ground::new();
    let run = ground.run().args(["--shards", "3"]).env("ELECT_ONCE", "today").arg("true");
    run.run().exits(125).says("ELECT_ONCE").says("--once and --shards exclude each other");
}

#[test]
fn a_waiting_pause_is_told_that_it_was_resumed() {
    let ground = Ground::new();
    let deaf = "trap '' TERM; echo >>\"$D/runs\"; while :; do sleep 60; done";
    let flags = ["--shards", "1", "--stop-timeout", "1h", "-v"];
    let member = ground.run().args(flags).env("D", ground.path()).sh(deaf).spawn();
    eventually("the command to run", || ground.path().join("runs").exists().then_some(()));
    // A run that names a shard as its election is refused.
    let stray = ground.elect("run").args(["-e", "job:0", "-n", "true"]).run();
    stray.exits(125).says("job:0 is a part of job, which has 1 shard");
    let pause = ground.elect("pause").arg("job").spawn();
    eventually("the pause to begin", || {
        let status = ground.elect("status").arg("job").run().stdout;
        status.contains("paused").then_some(())
    });
    ground.elect("resume").arg("job").run().exits(0);
    pause.wait().exits(125).says("it was resumed");
    member.ended_by(Signal::SIGKILL).exits(137);
}

#[test]
fn there_are_1_to_1024() {
    let ground = Ground::new();
    for number in ["0", "1025", "-1", "many"] {
        let refused = ground.run().arg(format!("--shards={number}")).arg("true").run();
        refused.exits(125).prints("").says("--shards");
    }
}

#[test]
fn the_number_of_the_shard_is_told_to_its_command() {
    let ground = Ground::new();
    let script = "echo \"$ELECT_LEADER_ELECTION $ELECT_SHARD\"";
    let run = ground.run().args(["--shards", "1"]).env("ELECT_SHARD", "9").sh(script);
    run.run().exits(0).prints("job:0 0\n");
    let by_variable = ground.run().env("ELECT_SHARDS", "1").sh(script);
    by_variable.run().exits(0).prints("job:0 0\n");
}

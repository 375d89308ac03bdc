//! What does not go with `--shards`.

use crate::support::Ground;

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
        &["--slots", "3"],
    ] {
        let refused = ground.run().args(["--shards", "3"]).args(flags).arg("true").run();
        refused.exits(125).prints("").says(flags[0]).says("--shards");
    }
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

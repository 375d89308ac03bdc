//! What goes with slots, and what does not.

use crate::support::Ground;

#[test]
fn a_flag_that_says_nothing_among_several_leaders_is_refused() {
    let ground = Ground::new();
    for flags in [
        &["--once", "today"][..],
        &["--shards", "2"],
        &["--priority", "7"],
        &["--preempt"],
        &["--preempt-after", "1s"],
        &["--http", "0"],
        &["--on-change", "true"],
    ] {
        let run = ground.run().args(["--slots", "2"]).args(flags).args(["--", "true"]);
        run.run().exits(125).says("--slots").says(flags[0]);
    }
    for slots in ["0", "65", "x"] {
        ground.run().args(["--slots", slots, "--", "true"]).run().exits(125).says("--slots");
    }
}

#[test]
fn a_name_without_room_for_the_number_is_refused() {
    let ground = Ground::new();
    let name = "x".repeat(127);
    let run = ground.elect("run").args(["-e", &name, "--slots", "2", "--", "true"]);
    run.run().exits(125).says("too long");
}

//! Flags that go with slots, and flags that do not.

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
        &["--pod-label"],
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

#[test]
fn command_and_checks_in_a_slot_know_it_without_warnings() {
    let ground = Ground::new();
    let check = "sh -c 'echo \"check $ELECT_SLOT\" >>$D/log; test ! -e $D/ill'";
    let run = ground.run().args(["--slots", "2", "--health-cmd", check]);
    let run = run.args(["--health-interval", "30ms", "--health-threshold", "1"]);
    let script =
        "$E check >/dev/null 2>>$D/log; echo \"runs $ELECT_SLOT\" >>$D/log; exec sleep 3600";
    let run = run.env("E", env!("CARGO_BIN_EXE_elect")).env("D", ground.path()).sh(script).spawn();
    let log = || std::fs::read_to_string(ground.path().join("log")).unwrap_or_default();
    elect_testkit::program::eventually("a check", || log().contains("check").then_some(()));
    std::fs::write(ground.path().join("ill"), "").unwrap();
    run.wait().exits(124);
    let log = log();
    assert!(log.lines().all(|line| matches!(line, "check 0" | "runs 0")), "{log}");
}

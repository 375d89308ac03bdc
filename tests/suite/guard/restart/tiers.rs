//! Whatever holds the command's descendants holds those of each of its starts.

use elect_testkit::fault::Cgroup;

use crate::prelude::*;

const STARTS: u32 = 5;

/// A command that fails again and again leaves these processes behind, and each start finds nothing of the one
/// before; the last one succeeds.
#[track_caller]
fn is_started_again_in(tier: &str, leaves_its_session: bool) {
    let (ground, oracle, cgroup) = (Ground::new(), Oracle::new(), Cgroup::v2());
    let others = u32::from(leaves_its_session);
    let tree = oracle.stamper("A").children(2).sessions(others).daemons(others).deaf();
    let tree = tree.lasting(Duration::from_millis(60));
    // In a mere group, what a command leaves is waited for.
    let tree = if tier == "group" { tree } else { tree.leaving() };
    // Each start stamps with a token of its own.
    let script = format!(
        "echo >>\"$D/starts\"; n=$(wc -l <\"$D/starts\"); ELECT_TOKEN=$((ELECT_TOKEN * 100 + n)) \"$@\"; \
         [ $n -ge {STARTS} ]"
    );
    let flags = ["--restart-delay", "10ms", "--restart-max-delay", "20ms", "--containment", tier];
    let elect = ground.job().args(["--restart", "on-failure"]).args(flags).sh(&script);
    elect.arg("sh").args(tree.command()).under(cgroup.enter()).run().exits(0);
    let runs = oracle.assert_sound();
    assert_eq!(runs.len(), STARTS as usize);
    assert_eq!(oracle.living(), [0; 0]);
}

#[test]
fn group() {
    is_started_again_in("group", false);
}

#[test]
fn scan() {
    is_started_again_in("scan", true);
}

#[test]
fn cgroup() {
    is_started_again_in("cgroup", true);
}

#[test]
fn pidns() {
    is_started_again_in("pidns", false);
}

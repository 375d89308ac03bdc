//! The findings of `what-if`: fail-overs are as long as leases make them, and two lead at once only outside the
//! promise.

use serde_json::Value;

use super::{list, number, report, simulate, what_if};

/// The time of lease that most of these have, in milliseconds.
const TTL: f64 = 15_000.0;

/// Asserts that a fail-over takes at least the rest of a lease after a renewal. It takes at most the lease, the store's
/// time to see its end, and the hand-over.
#[track_caller]
fn fails_over_within(report: &Value, most: f64) {
    let failover = &report["failover_ms"];
    let (p5, median, max) =
        (number(&failover["p5"]), number(&failover["median"]), number(&failover["max"]));
    assert!(p5 >= TTL * 5.0 / 6.0 && p5 <= median && median <= max && max <= most, "{failover}");
    assert_eq!(report["unreplaced"], Value::Array(Vec::new()));
    assert_eq!(report["overlaps"]["runs"], 0);
}

#[test]
fn a_leader_that_dies_with_its_machine_is_replaced_at_the_leases_end() {
    fails_over_within(&what_if("--kill leader", 0), TTL + 1000.0);
    fails_over_within(&what_if("--kill leader.both", 0), TTL + 1000.0);
    // It looks tick by tick.
    fails_over_within(&what_if("--kill leader --store zookeeper", 0), TTL + 2000.0 + 1000.0);
    fails_over_within(
        &what_if("--kill leader --store zookeeper --tick 5s", 0),
        TTL + 5000.0 + 1000.0,
    );
}

/// For how long no command runs: from the end of the one to the start of the next. On a dead machine there is none.
#[test]
fn the_gap_is_the_time_without_a_command() {
    for fault in ["--isolate leader", "--pause leader", "--kill leader"] {
        let words = format!("what-if --runs 1 -o json {fault}");
        let report = report(&simulate(&words).run().exits(0));
        let (led, gap) = (list(&report["leaders"]), number(&report["gap_ms"]["median"]));
        let between = number(&led[1]["from_ms"]) - number(&led[0]["until_ms"]);
        assert!(between > 0.0 && (gap - between).abs() < 0.01, "{fault}: {gap} {between}");
        let failover = number(&report["failover_ms"]["median"]);
        assert_eq!(fault == "--kill leader", (gap - failover).abs() < 0.01, "{gap} {failover}");
    }
}

/// The remaining process gives the entry up.
#[test]
fn one_process_of_elect_is_replaced_at_once() {
    for process in ["wrapper", "guardian"] {
        let report = what_if(&format!("--kill leader.{process}"), 0);
        assert!(number(&report["failover_ms"]["max"]) < 200.0, "{report:#}");
        assert_eq!(report["overlaps"]["runs"], 0);
    }
}

#[test]
fn a_leader_outlives_a_member_of_the_store_and_no_majority_of_them() {
    let report = what_if("--kill s1", 0);
    assert_eq!((&report["kept"], &report["runs"]), (&Value::from(60), &Value::from(60)));
    assert_eq!(report["failover_ms"], Value::Null);
    let led = list(&report["store_leaders"]);
    assert!(led.len() == 2 && led[0]["node"] == "s1" && led[1]["node"] != "s1", "{led:#?}");

    let report = what_if("--kill s1@30s --kill s2@30s", 0);
    assert_eq!((&report["kept"], &report["failover_ms"]), (&Value::from(0), &Value::Null));
    assert_eq!(list(&report["unreplaced"]).len(), 20, "the first twenty seeds of sixty");
    let (led, fault) = (list(&report["leaders"]), number(&report["faults"][0]["at_ms"]));
    assert_eq!(led.len(), 1);
    let until = number(&led[0]["until_ms"]);
    assert!(until > fault && until < fault + TTL, "it ended before the lease: {led:#?}");
}

/// With both processes stopped, no process of elect can end the command: the kernel does.
#[test]
fn a_command_whose_elect_stands_still_is_dead_before_the_next() {
    let report = what_if("--pause leader", 0);
    fails_over_within(&report, TTL + 1000.0);
    let (led, fault) = (list(&report["leaders"]), number(&report["faults"][0]["at_ms"]));
    let until = number(&led[0]["until_ms"]);
    assert!(until > fault + 8000.0 && until < number(&led[1]["from_ms"]), "{led:#?}");
    // The kernel is later than the guardian would be.
    let wrapper = what_if("--pause leader.wrapper", 0);
    assert!(number(&wrapper["leaders"][0]["until_ms"]) < until);
}

/// elect is done a fifteenth of the lease early. So a clock has to be almost 16 % slow before two lead: half as far
/// beyond what is promised.
#[test]
fn a_slow_clock_lets_two_lead_beyond_the_bound_only() {
    for drift in ["1:-10%", "1:+10%", "s1:+10%", "s1:-10%", "1:-15%"] {
        what_if(&format!("--isolate leader --drift {drift}"), 0);
    }
    let report = what_if("--isolate leader --drift 1:-20%", 1);
    assert!(number(&report["overlaps"]["runs"]) > 30.0, "{:#}", report["overlaps"]);
    assert!(number(&report["overlaps"]["longest_ms"]) < 1500.0, "{:#}", report["overlaps"]);
    // A candidate that allows for more drift survives more drift.
    what_if("--isolate leader --drift 1:-20% --max-clock-drift 20%", 0);
}

#[test]
fn a_suspended_machine_lets_two_lead() {
    let report = what_if("--suspend leader@20s..60s", 1);
    assert_eq!(report["overlaps"]["runs"], report["runs"]);
    // The first seed belongs to the longest overlap.
    let seed = number(&list(&report["overlaps"]["seeds"])[0]);
    let words = format!("what-if --runs 1 -o json --suspend leader@20s..60s --seed {seed}");
    let alone = super::report(&simulate(&words).run().exits(1));
    assert_eq!(alone["overlaps"]["longest_ms"], report["overlaps"]["longest_ms"]);
    let resumed = number(&report["faults"][1]["at_ms"]);
    let again = list(&report["leaders"]).last().expect("a leader").clone();
    assert_eq!((&again["node"], &again["token"]), (&Value::from("1"), &Value::from(1)));
    assert!((number(&again["from_ms"]) - resumed).abs() < 1.0, "{again}");
    // Over before the lease is.
    what_if("--suspend leader@20s..21s", 0);
}

#[test]
fn cuts_that_heal_and_machines_that_come_back_are_survived() {
    for words in [
        "--split 1,s1/2,3,s2,s3@20s..60s",
        "--isolate s1@20s..40s",
        "--one-way 1:s1@20s..50s --one-way 1:s2@20s..50s --one-way 1:s3@20s..50s",
        "--kill leader@20s..25s --kill s2@22s..50s",
        "--loss 5%@20s..40s --kill leader@30s",
        "--pause leader.guardian@20s..30s",
        "--pause s1@20s..60s --kill leader@30s",
        "--kill leader --store zookeeper --drift s1:+10% --drift 1:-9%",
    ] {
        let report = what_if(words, 0);
        assert_eq!(report["unreplaced"], Value::Array(Vec::new()), "{words}");
        assert_eq!(report["overlaps"]["runs"], 0, "{words}");
    }
}

/// A fault that strikes no process, and a run without a leader, are more likely a user's slip than an answer.
#[test]
fn a_fault_without_effect_gives_a_warning() {
    let ended =
        simulate("what-if --runs 1 --ttl 4s --rtt 5s --for 1m --kill leader@30s").run().exits(0);
    for part in
        ["no process led at 30", "no process ever led: a round trip may be too long for the TTL"]
    {
        assert!(ended.stderr.contains(part), "{part:?} is not in {}", ended.stderr);
    }
}

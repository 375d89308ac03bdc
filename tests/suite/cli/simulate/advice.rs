//! `ttl`: what it advises. A run of it is hours of simulated time, so that few have to do.

use elect::cli::{Command, parse};

use super::{list, number, report, simulate};
use crate::prelude::*;

#[track_caller]
fn advised(words: &str) -> f64 {
    let report = report(&simulate(&format!("ttl --runs 2 -o json {words}")).run().exits(0));
    number(&report["advised"]["ttl_ms"])
}

#[test]
fn longer_outages_and_less_tolerance_advise_longer_leases() {
    let short = advised("--outage 1s/day");
    let long = advised("--outage 20s/day");
    assert!(short < long, "{short} {long}");
    assert!(advised("--outage 20s/day --tolerate 100") < long);
    // A session with ZooKeeper lets elect be sure of less.
    assert!(advised("--outage 5s/day --store zookeeper") > advised("--outage 5s/day"));
}

/// The members of the store elect another leader in a second or two, and give each lease its whole time again. A single
/// member has no successor.
#[test]
fn a_leader_that_dies_with_the_stores_is_replaced_later() {
    let rows = |words: &str| {
        let report = report(&simulate(&format!("ttl --runs 4 -o json{words}")).run().exits(0));
        list(&report["ttls"]).to_vec()
    };
    for row in rows("") {
        let median = |key: &str| number(&row[key]["median"]);
        let later = median("failover_with_store_ms") - median("failover_ms");
        assert!((500.0..6000.0 + median("failover_ms") / 5.0).contains(&later), "{row:#}");
    }
    assert!(rows(" --members 1").iter().all(|row| row["failover_with_store_ms"] == Value::Null));
}

#[test]
fn outages_that_no_lease_outlasts_get_no_advice() {
    let words = "--runs 1 --tolerate 0 --outage 10m*365/year";
    let report = report(&simulate(&format!("ttl -o json {words}")).run().exits(1));
    assert_eq!(report["advised"], Value::Null);
    assert!(list(&report["ttls"]).iter().all(|row| number(&row["lost_monthly"]) > 29.0));
    let shown = simulate(&format!("ttl {words}")).run().exits(1).stdout;
    assert!(shown.contains("No TTL loses 0 a month or less for nothing."), "{shown}");
}

/// The flags that it names, with their values, as the table has them.
#[test]
fn run_accepts_the_advised_flags() {
    for words in ["", " --kill-grace 1s --max-clock-drift 5%"] {
        let shown = simulate(&format!("ttl --runs 1{words}")).run().exits(0).stdout;
        let (_, advice) = shown.split_once("\nTake ").expect("an advice");
        let (flags, _) = advice.split_once(':').expect("a colon");
        let flags: Vec<&str> = flags.split_whitespace().collect();
        let line = ["elect", "run"].into_iter().chain(flags.iter().copied()).chain(["job"]);
        let Command::Run(run) = parse(line).expect("flags of run").command else {
            panic!("not run")
        };
        assert_eq!(run.command, ["job"]);
        assert_eq!(flags.len(), 2 + words.split_whitespace().count(), "{flags:?}");
        assert!(shown.contains(&format!("\n{} ", flags[1])), "{shown}");
    }
}

#[test]
fn round_trips_come_from_a_file_as_well() {
    let ground = Ground::new();
    let lines = ground.path().join("lines");
    fs::write(&lines, "40ms\n\n 60ms\n").expect("a file");
    let doctor = ground.path().join("doctor.json");
    let trips = [json!(40.0), json!(60.0), Value::Null].map(|ms| json!({ "round_trip_ms": ms }));
    fs::write(&doctor, json!({ "endpoints": trips }).to_string()).expect("a file");
    let of = |rtt: &str| {
        let call = format!("what-if --runs 5 -o json --rtt {rtt}");
        simulate(&call).run().exits(0).is_quiet().stdout
    };
    let from_lines = of(&format!("@{}", lines.display()));
    assert_eq!(from_lines, of(&format!("@{}", doctor.display())));
    assert_ne!(from_lines, of("50ms"));
}

/// `elect simulate` reads the output of `elect doctor`.
#[test]
fn a_report_of_doctor_is_read() {
    let ground = Ground::new();
    let found = ground.elect("doctor").args(["-o", "json"]).run().stdout;
    let file = ground.path().join("doctor.json");
    fs::write(&file, found).expect("a file");
    simulate(&format!("what-if --runs 2 --rtt @{}", file.display())).run().exits(0).is_quiet();
}

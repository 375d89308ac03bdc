//! `--between`: places that are far from each other.

use super::{list, number, report, simulate, what_if};

/// A renewal each 833 ms, and a window of 5 s.
const TTL: &str = "--ttl 5s";

#[test]
fn a_candidate_too_far_from_the_store_never_leads() {
    let near = what_if(&format!("{TTL} --kill 3@20s"), 0);
    assert_eq!(near["leaders"][0]["node"], "1");
    let far = what_if(&format!("{TTL} --kill 3@20s --between 1/2,3,s1,s2,s3=8s"), 0);
    assert!(!list(&far["leaders"]).is_empty());
    assert!(list(&far["leaders"]).iter().all(|led| led["node"] != "1"), "{far:#}");
}

/// A leader far away hears later that it leads, and within its region nothing is slower.
#[test]
fn the_way_counts_between_regions_and_not_within_one() {
    let led_from = |between: &str| {
        number(&what_if(&format!("{TTL} --kill 3@20s{between}"), 0)["leaders"][0]["from_ms"])
    };
    let (near, far) = (led_from(""), led_from(" --between 1,2,3/s1,s2,s3=400ms"));
    assert!((far - near - 399.0).abs() < 1.0, "{near} {far}");
    let within = led_from(" --between 1,s1,s2,s3/2,3=400ms");
    assert!((within - near).abs() < 1.0, "{near} {within}");
    // Of two the last counts.
    let twice = led_from(" --between 1,2,3/s1,s2,s3=800ms --between 1,2,3/s1,s2,s3=400ms");
    assert!((twice - far).abs() < 1.0, "{far} {twice}");
}

/// elect's competitors have no store that may be far.
#[test]
fn a_comparison_takes_elect_to_a_store_in_other_regions() {
    let medians = |between: &str| {
        let words = format!("compare --runs 20 --ttl 5s -o json{between}");
        let report = report(&simulate(&words).run().exits(0).is_quiet());
        let of = |name: &str| {
            let mut rows = list(&report["elections"]).iter();
            let row = rows.find(|row| row["election"] == name).expect("a row");
            number(&row["failover_ms"]["median"])
        };
        (of("elect on Kubernetes"), of("Bully"))
    };
    let (near, bully) = medians("");
    let (far, same) = medians(" --between 1,2,3,4,5/s1,s2,s3=600ms");
    assert!(far > near + 500.0 && (same - bully).abs() < 0.01, "{near} {far}, {bully} {same}");
}

#[test]
fn ttl_takes_regions_too() {
    let advised = |words: &str| {
        let ended = simulate(&format!("ttl --runs 2 -o json --outage 1s/day{words}")).run();
        number(&report(&ended.exits(0))["advised"]["ttl_ms"])
    };
    let far = advised(" --between 1,2/s1,s2,s3=1500ms");
    assert!(far > advised(""), "{far}");
    // Two candidates play. A third does not exist here, as in a line for what-if.
    assert!((advised(" --between 1,2,3/s1,s2,s3=1500ms") - far).abs() < 0.01);
    // The waiter may be near: the leader is not.
    assert!(advised(" --between 1/2,s1,s2,s3=1500ms") > advised(""));
}

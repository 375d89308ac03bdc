//! A store whose answers are garbled on their way, for long.

use std::time::Duration;

use crate::store::garbled::survive;
use crate::store::real::Brand;

/// The length of the test in seconds. `ELECT_GARBLE_SECONDS` replaces it.
const SECONDS: u64 = 600;

fn span() -> Duration {
    let asked = std::env::var("ELECT_GARBLE_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(asked.unwrap_or(SECONDS))
}

#[test]
fn garbled_answers_of_etcd() {
    survive(Brand::Etcd, span());
}

#[test]
fn garbled_answers_of_zookeeper() {
    survive(Brand::ZooKeeper, span());
}

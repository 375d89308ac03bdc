//! `elect selftest`: it tells the truth, and leaves nothing behind.

mod bites;
mod interrupted;
mod places;
pub(crate) mod stores;
mod terminal;

use crate::prelude::*;
use crate::support::report;

/// All checks, in order.
const CHECKS: [&str; 10] = [
    "store",
    "hand-over",
    "wrapper killed",
    "guardian killed",
    "wrapper stopped",
    "both stopped",
    "escape",
    "cut off",
    "late reply",
    "lost replies",
];

fn selftest(url: &str) -> Elect {
    // Seven checks wait for a lease to end each, and a check is made again where a busy machine spoils it.
    Elect::new(ELECT).patience(Duration::from_secs(170)).args(["selftest", "-b", url])
}

/// The names of the checks with this result.
#[track_caller]
fn with_result(report: &Value, result: &str) -> Vec<String> {
    let checks = report["checks"].as_array().expect("a list");
    let found = checks.iter().filter(|check| check["result"] == result);
    found.map(|check| check["check"].as_str().expect("a name").to_owned()).collect()
}

/// Asserts that all checks hold but the skipped ones, and that each duel reports positive slack and a hand-over.
#[track_caller]
fn holds(ended: Ended, skipped: &[&str]) {
    let report = report(&ended);
    let rest: Vec<_> = CHECKS.into_iter().filter(|check| !skipped.contains(check)).collect();
    assert_eq!(with_result(&report, "holds"), rest, "{report:#}");
    assert_eq!(with_result(&report, "skipped"), skipped, "{report:#}");
    assert_eq!(report["left"], Value::Array(Vec::new()));
    assert_eq!(report["holds"], true);
    for check in report["checks"].as_array().expect("a list") {
        let is_duel = check["result"] == "holds" && check["check"] != "store";
        assert_eq!(check["slack_ms"].as_f64().is_some_and(|slack| slack > 0.0), is_duel, "{check}");
        assert_eq!(check["handover_ms"].is_number(), is_duel, "{check}");
    }
    ended.exits(0).is_quiet();
}

//! `elect doctor`: it finds what is wrong, and nothing where nothing is.

mod healthy;
mod ill;
mod machine;
mod manual;
mod members;
mod rights;

use elect_testkit::program::{Elect, Ended};
use serde_json::Value;

/// All rights, in the order in which they are tried.
const RIGHTS: [&str; 6] = ["look", "lead", "renew", "write notes", "leave", "remove"];

fn doctor(url: &str) -> Elect {
    Elect::new(env!("CARGO_BIN_EXE_elect")).args(["doctor", "-o", "json", "-b", url])
}

/// The words about a slow store.
const SLOW: &str = "may be lost to a slower one";
/// The number of times that a busy machine may make a store look slow for a moment.
const MOMENTS: usize = 5;

/// Returns the report on a store that is not slow, with this exit code.
#[track_caller]
fn report(elect: &Elect, code: i32) -> Value {
    let mut tries = std::iter::repeat_with(|| elect.run()).take(MOMENTS);
    let quick = tries.find(|ended| !ended.stdout.contains(SLOW));
    told(quick.expect("a moment in which the machine is not busy"), code)
}

/// Returns the report of an examination that ended with this exit code.
#[track_caller]
fn told(ended: Ended, code: i32) -> Value {
    let ended = ended.exits(code).is_quiet();
    let report: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!(report["well"], code == 0, "{report:#}");
    for finding in list(&report, "findings") {
        for key in ["what", "way_out"] {
            assert!(finding[key].as_str().is_some_and(|text| !text.is_empty()), "{report:#}");
        }
    }
    report
}

#[track_caller]
fn list<'r>(report: &'r Value, key: &str) -> &'r Vec<Value> {
    report[key].as_array().unwrap_or_else(|| panic!("no list {key}: {report:#}"))
}

/// Returns the findings of this severity.
#[track_caller]
fn findings(report: &Value, severity: &str) -> Vec<String> {
    let found = list(report, "findings").iter().filter(|finding| finding["severity"] == severity);
    found.map(|finding| finding["what"].as_str().expect("a text").to_owned()).collect()
}

/// The one finding that is worse than a note, which is of this severity and has all these words.
#[track_caller]
fn only(report: &Value, severity: &str, words: &[&str]) {
    let worse = [findings(report, "error"), findings(report, "warning")].concat();
    assert_eq!(worse, findings(report, severity), "{report:#}");
    let [found] = &worse[..] else { panic!("not one finding: {report:#}") };
    for word in words {
        assert!(found.contains(word), "{word:?} is not in: {found}");
    }
}

/// The rights that are granted.
#[track_caller]
fn granted(report: &Value) -> Vec<&str> {
    let granted = list(report, "rights").iter().filter(|right| right["granted"] == true);
    granted.map(|right| right["right"].as_str().expect("a name")).collect()
}

/// Each endpoint's value of this key, in order.
#[track_caller]
fn endpoints(report: &Value, key: &str) -> Vec<Value> {
    list(report, "endpoints").iter().map(|endpoint| endpoint[key].clone()).collect()
}

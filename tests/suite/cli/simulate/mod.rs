//! `elect simulate`: it says the same for the same seed, sees what it is asked about, and refuses what makes no sense.

mod advice;
mod bad_input;
mod comparison;
mod drawn;
mod faults;
mod guards;
mod interrupted;
mod keys;
mod regions;
mod same;
mod screens;
pub(crate) mod tables;

use std::time::Duration;

use elect_testkit::program::{Elect, Ended};
use serde_json::Value;

/// The number of runs that is enough if each has to show the same.
const RUNS: &str = "60";

/// `elect simulate` with these words.
fn simulate(words: &str) -> Elect {
    // On a busy machine without optimisation many runs take long.
    let elect = Elect::new(env!("CARGO_BIN_EXE_elect")).patience(Duration::from_secs(170));
    elect.arg("simulate").args(words.split(' '))
}

/// Returns the report of a call with `-o json`.
#[track_caller]
fn report(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", ended.stdout, ended.stderr))
}

/// Returns the report of `what-if` on a few runs with these words. It must end with this exit code.
#[track_caller]
fn what_if(words: &str, code: i32) -> Value {
    report(
        &simulate(&format!("what-if --runs {RUNS} -o json {words}")).run().exits(code).is_quiet(),
    )
}

/// A number of a report.
#[track_caller]
fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

/// A list of a report.
#[track_caller]
fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("no list: {value}"))
}

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

use crate::prelude::*;
use crate::support::report;

/// The number of runs that is enough if each has to show the same.
const RUNS: &str = "60";

/// `elect simulate` with these words.
fn simulate(words: &str) -> Elect {
    // On a busy machine without optimisation many runs take long.
    Elect::new(ELECT).patience(Duration::from_secs(170)).arg("simulate").args(words.split(' '))
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

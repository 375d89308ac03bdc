//! What each guard is for.

use std::fmt::Write as _;
use std::fs;

use crate::simulation::mutations::ROWS;

const HEAD: &str = "\
# What each guard is for

Of each guard that keeps the promise a build for tests has a switch. The simulation plays without it, seed after
seed, until it sees a law broken; with it the same games are clean. Written by `tests/deep/run every_guard_is_missed`.

An explorer goes every way of the pure machine and ladder besides, with any fault at any step: 127,305 states of two
candidates with a fault in the first two seconds, 454,112 of three with a fault at the start, and 371,254 of a candidate
that never leads before two of different priorities; each run prints its number, and `tests/deep/run ways` looks further.

| guard | without it | seeds |
|---|---|---:|
";

#[test]
fn every_guard_is_missed() {
    let mut table = String::from(HEAD);
    for row in ROWS {
        let (seeds, law) = row.found().unwrap_or_else(|| panic!("not missed: {}", row.guard));
        let _ = writeln!(table, "| {} | {law} | {seeds} |", row.guard);
        println!("{seeds} seeds: {}", row.guard);
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mutations.md");
    fs::write(file, table).expect("the file");
}

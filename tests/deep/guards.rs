//! Writes the page that says what each guard is for.

use std::fmt::Write as _;

use crate::engine::simulation::mutations::ROWS;
use crate::guard::filters;
use crate::page;
use crate::store::real::{GUARDS, cases};

const HEAD: &str = "\
# What each guard is for

Of each guard that keeps the promise a build for tests has a switch. The simulation plays without it, seed after
seed, until it sees a law broken; with it the same games are clean. Written by `tests/deep/run every_guard_is_missed`.

An explorer goes every way of the pure machine and ladder besides, with any fault at any step: 127,175 states of two
candidates with a fault in the first two seconds, 446,354 of three with a fault at the start, and 388,022 of a candidate
that never leads before two of different priorities; each run prints its number, and `tests/deep/run ways` looks further.

| guard | without it | seeds |
|---|---|---:|
";

const FILTERS: &str = "\
# Filters of system calls

A filter (seccomp) refuses one call of guardian and wrapper, from the start of elect on. The command has a child, one in a
session of its own and a daemon, all deaf to TERM; the last column has a lease that ends by time. Written by
`tests/deep/run every_call_is_refused`.

| call | refused by | wrapper killed | guardian killed | wrapper stopped |
|---|---|---|---|---|
";

#[test]
fn every_call_is_refused() {
    let page = FILTERS.to_owned() + &filters::table(&filters::REFUSALS, &filters::STRIKES);
    page::write("filters.md", &page);
}

const REAL: &str = "
The simulation has no processes that escape or starve. Without these guards a fault on a real etcd breaks the promise:

| guard | fault |
|---|---|
";

#[test]
fn every_guard_is_missed() {
    let mut table = String::from(HEAD);
    for row in ROWS {
        let (seeds, law) = row.found().unwrap_or_else(|| panic!("not missed: {}", row.guard));
        let _ = writeln!(table, "| {} | {law} | {seeds} |", row.guard);
        println!("{seeds} seeds: {}", row.guard);
    }
    table.push_str(REAL);
    for guard in GUARDS {
        assert!(guard.is_missed(), "not missed: {}", guard.words);
        let case = cases().find(|case| case.name == guard.fault).expect("a case");
        let _ = writeln!(table, "| {} | {} |", guard.words, case.words);
    }
    page::write("mutations.md", &table);
}

//! Every fault on every real store, many times, by the tests of the suite; writes tests/faults.md.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use elect_testkit::fault::Table;

use crate::real::{CASES, ROW};

/// How often each; `ELECT_DEEP_RUNS` is another number.
const RUNS: usize = 20;
/// At once: most of the time they wait.
const WORKERS: usize = 5;

/// The names of the tests, each as often as it is to run.
fn jobs() -> Vec<String> {
    let runs = std::env::var("ELECT_DEEP_RUNS").ok().and_then(|runs| runs.parse().ok());
    let cases = CASES.iter().flat_map(|case| {
        ["etcd", "zookeeper"].map(|store| format!("real::{store}::{}", case.name))
    });
    let cut_off = [
        "who_leads_through_a_follower_that_is_cut_off_is_dead_in_time",
        "who_wins_after_a_short_stall_and_loses_its_follower_is_dead_in_time",
        "who_wins_after_a_long_stall_and_loses_its_follower_is_dead_in_time",
    ];
    let cut_off = cut_off.map(|name| format!("real::cut_off::{name}"));
    let once: Vec<String> = cases.chain(cut_off).collect();
    vec![once; runs.unwrap_or(RUNS)].concat()
}

/// Runs one of this binary's tests in a process of its own, and says what went wrong.
fn run(test: &str, table: &Table) -> Result<(), String> {
    let row = tempfile::NamedTempFile::new().expect("a file");
    let output = Command::new(std::env::current_exe().expect("this binary"))
        .args([test, "--exact", "--nocapture"])
        .env(ROW, row.path())
        .output()
        .expect("this binary runs");
    let said = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() || !said.contains("1 passed") {
        return Err(format!("{test}: {said}{}", String::from_utf8_lossy(&output.stderr)));
    }
    let row = fs::read_to_string(row.path()).expect("a row");
    table.extend(&Table::from_json(&row).expect("a row"));
    Ok(())
}

#[test]
fn every_fault_many_times() {
    let (jobs, table) = (Mutex::new(jobs().into_iter()), Table::new());
    let failures = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let job = jobs.lock().expect("no worker panics with it").next();
                    let Some(test) = job else { break };
                    if let Err(failure) = run(&test, &table) {
                        println!("{failure}");
                        failures.lock().expect("no worker panics with it").push(test);
                    }
                }
            });
        }
    });
    println!("{table}");
    let failures = failures.into_inner().expect("no worker panicked with it");
    write(&table, failures.len());
    assert!(failures.is_empty(), "{failures:#?}");
}

fn write(table: &Table, failures: usize) {
    let mut page = String::from(
        "# Faults on real stores\n\n\
         A leads with a tree of seven processes that are deaf to TERM, and B waits. The numbers are those of the \
         list of\nfaults that the tests follow. Slack is the time from the last sign of A's tree to the last \
         instant at which its entry\nwas surely there, at the least; a dash where A gave its entry up itself, \
         which it does after its tree is dead. TTL 5 s;\nwith three members 15 s; where followers are cut off or \
         die, 6 s. Written by `tests/deep/run every_fault`.\n\n",
    );
    let _ = write!(page, "{table}");
    if failures > 0 {
        let _ = write!(page, "\n{failures} further runs failed.\n");
    }
    fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/faults.md"), page).expect("a page");
}

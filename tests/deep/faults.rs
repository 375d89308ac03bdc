//! Runs every fault on every real store many times, by the tests of the suite, and writes tests/faults.md. If only some
//! tests are selected, the rows of all others stay as they are.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use elect_testkit::fault::Table;

use crate::page;
use crate::store::real::{Brand, ROW, Store, cases};

/// The number of runs of each test. `ELECT_DEEP_RUNS` replaces it.
const RUNS: usize = 20;
/// The number of tests that run at once: most of the time they wait. Tests that need a processor run one after another,
/// after all others.
/// `ELECT_DEEP_WORKERS` replaces it.
const WORKERS: usize = 6;

/// Parts of the names of the tests that are wanted, with commas between; all if it is not there.
const ONLY: &str = "ELECT_DEEP_FAULTS";
/// If it is there, the rows on the page stay, and the runs are added to theirs.
const MORE: &str = "ELECT_DEEP_MORE";
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/faults.md");
const STORES: [(&str, Store); 10] = [
    ("file", Store::File),
    ("consul::all", Store::Remote(Brand::Consul)),
    ("dynamodb::all", Store::Remote(Brand::DynamoDb)),
    ("etcd", Store::Remote(Brand::Etcd)),
    ("zookeeper", Store::Remote(Brand::ZooKeeper)),
    ("kubernetes", Store::Remote(Brand::Kubernetes)),
    ("mariadb::all", Store::Remote(Brand::MariaDb)),
    ("postgresql::all", Store::Remote(Brand::PostgreSql)),
    ("redis::all", Store::Remote(Brand::Redis)),
    ("s3::all", Store::Remote(Brand::S3)),
];
/// Faults that have a test of their own shape.
const OTHERS: [&str; 77] = [
    "memory::file::wrapper",
    "memory::file::guardian",
    "memory::file::command",
    "memory::consul::wrapper",
    "memory::consul::guardian",
    "memory::consul::command",
    "memory::etcd::wrapper",
    "memory::etcd::guardian",
    "memory::etcd::command",
    "memory::zookeeper::wrapper",
    "memory::zookeeper::guardian",
    "memory::zookeeper::command",
    "memory::kubernetes::wrapper",
    "memory::kubernetes::guardian",
    "memory::kubernetes::command",
    "memory::mariadb::wrapper",
    "memory::mariadb::guardian",
    "memory::mariadb::command",
    "memory::postgresql::wrapper",
    "memory::postgresql::guardian",
    "memory::postgresql::command",
    "memory::redis::wrapper",
    "memory::redis::guardian",
    "memory::redis::command",
    "store::real::birth::on_the_local_disk",
    "store::real::birth::in_consul",
    "store::real::birth::in_etcd",
    "store::real::birth::in_zookeeper",
    "store::real::birth::in_kubernetes",
    "store::real::birth::in_mariadb",
    "store::real::birth::in_postgresql",
    "store::real::birth::in_redis",
    "store::real::cut_off::a_leader_through_a_follower_that_is_cut_off_is_dead_in_time",
    "store::real::cut_off::a_winner_after_a_short_stall_that_loses_its_follower_dies_in_time",
    "store::real::cut_off::a_winner_after_a_long_stall_that_loses_its_follower_dies_in_time",
    "store::real::unheard::consul::a_leader_that_goes_on_is_followed_in_time",
    "store::real::unheard::consul::a_waiter_is_passed_over_in_time",
    "store::real::unheard::etcd::a_leader_that_goes_on_is_followed_in_time",
    "store::real::unheard::etcd::a_waiter_is_passed_over_in_time",
    "store::real::unheard::kubernetes::a_leader_that_goes_on_is_followed_in_time",
    "store::real::unheard::kubernetes::a_waiter_is_passed_over_in_time",
    "store::real::unheard::mariadb::a_leader_that_goes_on_is_followed_in_time",
    "store::real::unheard::mariadb::a_waiter_is_passed_over_in_time",
    "store::real::unheard::postgresql::a_leader_that_goes_on_is_followed_in_time",
    "store::real::unheard::postgresql::a_waiter_is_passed_over_in_time",
    "store::real::unheard::redis::a_leader_that_goes_on_is_followed_in_time",
    "store::real::unheard::redis::a_waiter_is_passed_over_in_time",
    "store::real::unheard::zookeeper::a_leader_that_goes_on_is_followed_in_time",
    "store::real::unheard::zookeeper::a_waiter_is_passed_over_in_time",
    "store::real::fail_over::a_leader_of_an_old_primary_of_mariadb_leads_beside_the_next_one",
    "store::real::fail_over::a_leader_of_an_old_primary_of_redis_leads_beside_the_next_one",
    "store::real::fail_over::a_leader_of_an_old_primary_of_redis_that_needs_its_replica_is_dead_in_time",
    "store::real::fail_over::a_leader_of_an_old_primary_of_postgresql_leads_beside_the_next_one",
    "store::real::fail_over::a_leader_in_mariadb_goes_on_where_a_dump_is_restored",
    "store::real::fail_over::a_leader_in_postgresql_is_dead_before_another_leads_where_a_dump_is_restored",
    "store::real::leases::a_leader_whose_token_expires_for_good_is_dead_in_time",
    "store::real::renewals::certificates_of_all_members_of_etcd",
    "store::real::renewals::certificates_of_all_members_of_zookeeper",
    "store::real::renewals::a_password_that_the_file_has_before_etcd",
    "store::real::renewals::a_password_that_etcd_has_before_the_file",
    "store::real::renewals::a_password_that_the_file_has_before_zookeeper",
    "store::real::renewals::a_password_that_zookeeper_has_before_the_file",
    "store::real::renewals::a_token_that_the_file_has_before_kubernetes",
    "store::real::renewals::a_token_that_kubernetes_has_before_the_file",
    "store::real::renewals::others_have_all_connections_to_etcd",
    "store::real::renewals::others_have_all_connections_to_zookeeper",
    "store::real::renewals::others_have_all_connections_to_kubernetes",
    "store::real::rows_renewed::certificates_that_the_files_have_before_mariadb",
    "store::real::rows_renewed::certificates_that_mariadb_has_before_the_files",
    "store::real::rows_renewed::certificates_that_the_files_have_before_postgresql",
    "store::real::rows_renewed::certificates_that_postgresql_has_before_the_files",
    "store::real::rows_renewed::a_password_that_the_file_has_before_mariadb",
    "store::real::rows_renewed::a_password_that_mariadb_has_before_the_file",
    "store::real::rows_renewed::others_have_all_connections_to_mariadb",
    "store::real::rows_renewed::a_password_that_the_file_has_before_postgresql",
    "store::real::rows_renewed::a_password_that_postgresql_has_before_the_file",
    "store::real::rows_renewed::others_have_all_connections_to_postgresql",
];

/// Returns the names of the tests, each repeated once for each run.
fn jobs() -> Vec<String> {
    let only = std::env::var(ONLY).unwrap_or_default();
    let cases = cases().flat_map(|case| {
        let about = STORES.into_iter().filter(|(_, store)| case.is_about(*store));
        about.map(|(module, _)| format!("store::real::{module}::{}", case.name))
    });
    let mut once: Vec<String> = cases.chain(OTHERS.map(ToOwned::to_owned)).collect();
    once.retain(|name| only.split(',').any(|part| name.contains(part)));
    assert!(!once.is_empty(), "{ONLY} names no test: {only}");
    vec![once; number("ELECT_DEEP_RUNS", RUNS)].concat()
}

/// The number in a variable, if there is one.
fn number(variable: &str, default: usize) -> usize {
    std::env::var(variable).ok().and_then(|number| number.parse().ok()).unwrap_or(default)
}

fn takes_a_processor(job: &str) -> bool {
    cases().any(|case| case.takes_a_processor() && job.ends_with(case.name))
}

/// Runs one of this binary's tests in a process of its own with these variables, and says what went wrong.
pub(crate) fn run(test: &str, table: &Table, variables: &[(&str, &str)]) -> Result<(), String> {
    let row = tempfile::NamedTempFile::new().expect("a file");
    let output = Command::new(std::env::current_exe().expect("this binary"))
        .args([test, "--exact", "--nocapture", "--include-ignored"])
        .env(ROW, row.path())
        .envs(variables.iter().copied())
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
    let workers = number("ELECT_DEEP_WORKERS", WORKERS);
    let (busy, idle): (Vec<String>, Vec<String>) =
        jobs().into_iter().partition(|job| takes_a_processor(job));
    let (failures, table) = (Mutex::new(Vec::new()), Table::new());
    for (jobs, workers) in [(idle, workers), (busy, 1)] {
        let jobs = Mutex::new(jobs.into_iter());
        let work = || {
            loop {
                let job = jobs.lock().expect("no worker panics with it").next();
                let Some(test) = job else { break };
                if let Err(failure) = run(&test, &table, &[]) {
                    println!("{failure}");
                    failures
                        .lock()
                        .expect("no worker panics with it")
                        .push(line_of(&test, &failure));
                }
            }
        };
        thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
    }
    println!("{table}");
    let failures = failures.into_inner().expect("no worker panicked with it");
    write(&table, &failures);
    assert!(failures.is_empty(), "{failures:#?}");
}

/// The line of the page about a run that failed, which is in no row.
fn line_of(test: &str, failure: &str) -> String {
    let why = failure.lines().skip_while(|line| !line.contains("panicked at")).nth(1);
    format!("- `{test}`{FAILED} {}", why.unwrap_or("it was killed").trim())
}

fn write(table: &Table, failures: &[String]) {
    let mut text = String::from(INTRODUCTION);
    let whole = Table::new();
    let mut failed = Vec::new();
    if [ONLY, MORE].iter().any(|it| std::env::var_os(it).is_some()) {
        let before = fs::read_to_string(PAGE).expect("a page");
        whole.replace(&Table::from_markdown(&before));
        let known = before.lines().filter(|line| line.contains(FAILED));
        failed.extend(known.map(ToOwned::to_owned));
    }
    if std::env::var_os(MORE).is_some() {
        whole.extend(table);
    } else {
        whole.replace(table);
    }
    let _ = write!(text, "{whole}");
    failed.extend_from_slice(failures);
    if !failed.is_empty() {
        let _ = write!(text, "\n{}\n", failed.join("\n"));
    }
    text.push_str(ELSEWHERE);
    page::write("faults.md", &text);
}

/// It is in each line of the page about runs that failed.
const FAILED: &str = " failed:";

const INTRODUCTION: &str = "\
# Faults on real stores

A leads with a tree of seven processes that are deaf to TERM, and B waits. The numbers are those of the list of
faults that the tests follow. Slack is the time from the last sign of A's tree to the last instant at which its entry
was surely there, at the least; a dash where A gave its entry up itself, which it does after its tree is dead, and on
the local disk, where leases do not end by time. TTL 5 s, and 6 s on
Kubernetes, which grants no less; with three members, and where the command is not to notice, 15 s; where followers are
cut off or die, 6 s. Leadership kept says in how many runs A led through a fault that its lease can outlast; a dash where
it cannot. In all stores but the local disk, etcd and ZooKeeper a lease can end when no candidate has renewed its record for a TTL. 45 to 55 are the faults of stores of rows, and 56 to 62 those of services in a cloud. In 52 two lead at a time, as the manual says, unless Redis needs its replica:
3 s of it are the test's.
Written by `tests/deep/run every_fault`.

";

const ELSEWHERE: &str = "
## What is not in the table

| fault | backend | why |
| --- | --- | --- |
| 19, 20 | Kubernetes | an API server is one, whatever is behind it: 32 to 37 are in their place |
| 19, 20 | MariaDB, PostgreSQL, Redis | their replicas take no part before a fail-over: 50 to 52 are in their place |
| 32 to 37 | all but Kubernetes | they are about API servers |
| 45 to 52 | all but MariaDB, PostgreSQL and Redis | they are about stores of rows; 48 is tried with Consul |
| 56 to 62 | all but DynamoDB and S3 | they are about services in a cloud |
| 40, 42 to 44 | DynamoDB, S3 | not tried there yet: what they are about is the same for all stores of rows |
| 53 to 55 | all but Redis | other stores are not emptied, save what they acknowledge, and have no slots |
| 48 | MariaDB, Redis | pgbouncer is PostgreSQL's, the agent is Consul's; elect was not tried behind a proxy of MariaDB |
| 42 to 44 | Consul, Redis | their certificates are tested without a lease (`refusals::certificates_are_checked` of the backends) |
| 42 | Kubernetes | its API server is one: that it renews its certificate is tested without a lease (`client::tests::secured` of the backend) |
| 42 candidates last | ZooKeeper | on this machine the last restart and the word of all candidates that they are refused take more than the 4 s that a leader rides out at this TTL: leadership was lost in 26 of 28 runs, and kept in one alone on the machine |
| 42 to 44 | file | nobody shows it credentials, or connects to it |
| 14 to 20 | file | there is no network and no server between a candidate and its disk |
| 21 rates of clocks | file | its leases do not end by time |
| 21 rates of clocks | all others | theirs is this machine's clock: on a simulated store ours at 0.91 of its rate passes, and at 0.8 breaks the promise, as it has to (`deadlines::clocks_within_the_bound_keep_the_promise_and_others_break_it`) |
| 23 full disk below the state | file | a newcomer is told, leaves nothing behind, and leads once there is room (`disk::full` of the backend) |
| 23 full disk below the state | all others | elect writes nothing to a disk there |
| 24 before the win | all | who has too little ends with 125 and leaves nothing behind (`limits`, on the local disk) |
";

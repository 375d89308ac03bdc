//! It notices when a part that keeps the promise is missing.
#![cfg(feature = "sim")]

use std::thread;

use elect_testkit::servers::Etcd;
use elect_testkit::sim::{Kind, Options, SimServer};

use super::{report, selftest, with_result};

/// Returns the checks that fail without this part.
#[track_caller]
fn fails(url: &str, without: &str) -> Vec<String> {
    let ended = selftest(url).args(["-o", "json"]).env("ELECT_TEST_WITHOUT", without).run();
    let report = report(&ended);
    assert_eq!(report["holds"], false, "without {without}: {report:#}");
    ended.exits(1);
    with_result(&report, "fails")
}

#[test]
fn without_the_kernels_part_the_selftest_fails() {
    thread::scope(|scope| {
        for part in ["dead-man", "death-pipe"] {
            scope.spawn(move || {
                let server = SimServer::start(&Options::new(Kind::Queue));
                assert_eq!(fails(&server.url(), part), ["both stopped"], "without {part}");
            });
        }
    });
}

/// All would be dead in the very instant in which another clock may end the lease.
#[test]
fn without_a_margin_it_fails() {
    let server = SimServer::start(&Options::new(Kind::Queue));
    let failed = fails(&server.url(), "margin");
    assert!(failed.iter().any(|check| check == "both stopped"), "{failed:?}");
}

#[test]
fn leases_that_count_from_the_reply_fail() {
    let etcd = Etcd::start(1);
    assert_eq!(fails(&etcd.url(), "anchor"), ["late reply"]);
}

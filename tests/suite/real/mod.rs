//! The program on real stores: the faults of every kind, on each of them.

mod cases;
mod cluster;
mod crowd;
mod cut_off;
mod duel;
mod gone;
mod queue;
mod turns;
mod witness;
mod words;

use elect_testkit::fault::{Outcome, Table};

pub(crate) use self::cases::CASES;
pub(crate) use self::cluster::{Brand, Cluster};
#[allow(unused_imports, reason = "for the tests that run by hand")]
pub(crate) use self::turns::{assert_no_growth, take_turns};

/// One test for each fault on each store. Each prints what came of it.
macro_rules! faults {
    ($($case:ident)*) => {
        mod etcd {
            $(#[test] fn $case() { super::survive(super::Brand::Etcd, stringify!($case)); })*
        }
        mod zookeeper {
            $(#[test] fn $case() { super::survive(super::Brand::ZooKeeper, stringify!($case)); })*
        }

        #[test]
        fn every_fault_has_its_tests() {
            let named = [$(stringify!($case)),*];
            assert_eq!(CASES.iter().map(|case| case.name).collect::<Vec<_>>(), named);
        }
    };
}

faults! {
    wrapper_stopped
    guardian_stopped
    all_stopped
    all_frozen
    command_frozen
    wrapper_killed
    guardian_killed
    both_killed
    packets_dropped
    packets_rejected
    link_down
    replies_late
    replies_swallowed
    replies_trickle
    replies_twice
    member_stopped
    store_leader_stopped
    quorum_stopped
    store_leader_killed
}

fn survive(brand: Brand, name: &str) {
    let case = CASES.iter().find(|case| case.name == name).expect("a case");
    report(case.words, brand, &case.survive(brand));
}

/// Where a row of the table goes as JSON, if anywhere.
pub(crate) const ROW: &str = "ELECT_TEST_ROW";

/// Shows what came of a fault.
fn report(fault: &str, brand: Brand, outcome: &Outcome) {
    let table = Table::new();
    table.add(fault, brand.name(), outcome);
    println!("{table}");
    if let Some(file) = std::env::var_os(ROW) {
        std::fs::write(file, table.json()).expect("a row");
    }
}

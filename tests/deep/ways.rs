//! Every way that the pure parts can go, further than the ordinary run looks.

use elect_testkit::sim::boottime;

use crate::engine::exploration::{Bound, NO_RANKS, explore};

fn look(bound: Bound) {
    let began = boottime();
    let seen = explore(bound);
    println!("{bound:?}: {seen:?} in {:.0} s", boottime().since(began).as_secs_f64());
}

#[test]
fn two_candidates_and_a_fault_in_two_leases() {
    look(Bound { candidates: 2, faults: 1, window: 10_000, priorities: NO_RANKS });
}

#[test]
fn three_candidates_and_a_fault_in_a_lease() {
    look(Bound { candidates: 3, faults: 1, window: 5_000, priorities: NO_RANKS });
}

#[test]
fn two_candidates_and_two_faults() {
    look(Bound { candidates: 2, faults: 2, window: 2_000, priorities: NO_RANKS });
}

#[test]
fn three_candidates_and_two_faults_at_the_start() {
    look(Bound { candidates: 3, faults: 2, window: 100, priorities: NO_RANKS });
}

//! A program that keeps its threads busy leads on.

use elect_testkit::program::eventually;

use super::{GRACE, block_on, campaign};
use crate::cli::see::{Arena, Ground, on_each_cluster};

on_each_cluster! {
    leases_are_renewed_while_the_programs_own_runtime_stands_still
}

fn leases_are_renewed_while_the_programs_own_runtime_stands_still(arena: &Arena) {
    let campaign = campaign(&arena.url(), "busy");
    block_on(async {
        let leadership = campaign.lead().await.expect("leadership");
        let validity = leadership.validity();
        let first = validity.deadline().expect("leases end by time");
        // It keeps the one thread that the runtime has.
        eventually("two renewals", || {
            validity.deadline().filter(|deadline| deadline.since(first) > GRACE)
        });
        assert!(validity.is_valid());
        leadership.resign().await.expect("a resign");
    });
}

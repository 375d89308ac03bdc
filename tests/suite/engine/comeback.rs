//! Leadership that is lost in an outage of the store, and won again after it.

use std::thread::sleep;

use crate::cli::see::{Arena, Ground, on_each_cluster};
use crate::prelude::*;

on_each_cluster! {
    alone: a_former_leader_sits_out_an_outage_that_ends_a_newcomer
    a_candidate_started_in_an_outage_then_leads_longer_than_a_lease
    a_candidate_waiting_in_an_outage_then_leads_longer_than_a_lease
}

fn a_former_leader_sits_out_an_outage_that_ends_a_newcomer(arena: &Arena) {
    let mut elect = arena.candidate_with("one", 5, |it| it.args(["--after-loss", "campaign"]));
    arena.wait_for_leader("one");
    let silence = arena.silence();
    arena.candidate("two", 5).wait().exits(125);
    // It began when the other was losing its leadership at the latest, and is as patient as a newcomer.
    let mut last = arena.candidate("three", 5);
    while last.is_running() {
        assert!(elect.is_running(), "it has given up");
        sleep(Duration::from_millis(50));
    }
    drop(silence);
    eventually("it to lead again", || (arena.record().len() == 2).then_some(()));
    elect.ended_by(Signal::SIGTERM).exits(143);
}

/// Longer than the lease.
const WORK: &str = "echo \"$ELECT_TOKEN $ELECT_LEADER_ID\" >>\"$RECORD\"; sleep 7";

/// When the outage is over, its knowledge of the store is as old as the outage: it starts nothing that it would have to
/// stop.
fn a_candidate_started_in_an_outage_then_leads_longer_than_a_lease(arena: &Arena) {
    arena.each(["2s", "5s", "8s"], |arena, time| {
        let silence = arena.silence();
        let elect = arena.run_with("one", 6, |it| it.args(["-w", "60"]), WORK);
        arena.elect("wait").args(["job", "--timeout", time]).run().exits(125);
        drop(silence);
        elect.wait().exits(0);
    });
}

fn a_candidate_waiting_in_an_outage_then_leads_longer_than_a_lease(arena: &Arena) {
    let one = arena.leader("one", 6);
    let two = arena.run_with("two", 6, |it| it, WORK);
    arena.wait_for_waiter("two");
    let silence = arena.silence();
    arena.elect("wait").args(["job", "--timeout", "12s"]).run().exits(125);
    drop(silence);
    one.wait().exits(124);
    two.wait().exits(0);
}

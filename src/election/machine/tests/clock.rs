//! Tests with a clock that is slewed further than the lease allows for.

use elect_api::Lease;

use super::{ETCD, Transcript, leading, rules};
use crate::election::Reply;
use crate::election::machine::Event;
use crate::guard::Ended;

/// The rate of a clock that is too slow to count a lease.
const SLOW: f64 = 0.89;

#[test]
fn a_leader_with_a_slow_clock_gives_up_in_good_order() {
    let mut transcript = Transcript::running(ETCD, rules());
    transcript.machine.clock_runs_at(0.91);
    transcript.pass(2.5, &["refresh"]).tell(2.6, leading(ETCD, 2.5), &[]);
    transcript.machine.clock_runs_at(SLOW);
    transcript
        .pass(5.0, &["stop, kill at 9.0", "refresh"])
        .tell(5.1, leading(ETCD, 5.0), &[])
        .tell(6.0, Event::Ended(Ended::Exited(0)), &[])
        .tell(6.1, Event::Empty, &["resign"])
        .tell(6.2, Event::Replied(Ok(Reply::Resigned)), &["finish: lost"]);
}

#[test]
fn the_grace_does_not_reach_beyond_the_hard_deadline() {
    let mut transcript = Transcript::running(ETCD, rules());
    transcript.pass(2.5, &["refresh"]);
    transcript.pass(8.5, &["abandon", "refresh", "abandon", "refresh"]);
    transcript.machine.clock_runs_at(SLOW);
    transcript.tell(8.6, Event::Woken, &["stop, kill at 12.6"]);
}

#[test]
fn a_candidate_with_a_slow_clock_leaves_and_fails() {
    let mut transcript = Transcript::waiting(ETCD, rules());
    transcript.machine.clock_runs_at(SLOW);
    transcript.tell(1.0, Event::Woken, &["resign"]).tell(
        1.1,
        Event::Replied(Ok(Reply::Resigned)),
        &["finish: failed"],
    );
    let mut transcript = Transcript::new(ETCD, rules());
    transcript.machine.clock_runs_at(SLOW);
    transcript.tell(0.0, Event::Tick, &["finish: failed"]);
}

#[test]
fn a_winner_with_a_slow_clock_starts_nothing() {
    let mut transcript = Transcript::joined(ETCD, rules());
    transcript.machine.clock_runs_at(SLOW);
    transcript.tell(0.1, leading(ETCD, 0.0), &["resign"]).tell(
        0.2,
        Event::Replied(Ok(Reply::Resigned)),
        &["finish: failed"],
    );
}

#[test]
fn on_the_local_disk_no_clock_matters() {
    let mut transcript = Transcript::running(Lease::Unlimited, rules());
    assert!(!transcript.machine.counts_time());
    transcript.machine.clock_runs_at(0.5);
    transcript.pass(5.0, &["refresh"]).tell(5.0, leading(Lease::Unlimited, 5.0), &[]);
}

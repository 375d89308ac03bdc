//! All who take part agree on what the election is divided into.

use elect_api::{Division, Lease};

use super::{ETCD, Transcript, leading, rules, unreachable, waiting};
use crate::election::Reply;
use crate::election::division::Agreement;
use crate::election::machine::{Event, Rules, Settles};
use crate::election::orders::Orders;

fn divided() -> Rules {
    Rules { division: Division::Slots(3), settles: Settles::First, ..rules() }
}

fn orders(division: Division) -> Event {
    Event::Ordered(Orders::default().divided(division))
}

fn settled() -> Event {
    Event::Replied(Ok(Reply::Agreement(Agreement::Ours)))
}

fn disputed() -> Event {
    Event::Replied(Ok(Reply::Agreement(Agreement::Disputed("5 slots".into()))))
}

#[test]
fn whoever_divides_an_election_settles_that_before_it_joins() {
    let mut transcript = Transcript::new(ETCD, divided());
    transcript
        .tell(0.0, Event::Tick, &["open"])
        .tell(0.0, Event::Replied(Ok(Reply::Opened)), &["settle"])
        .tell(0.1, settled(), &["refresh"])
        .tell(0.2, orders(Division::Slots(3)), &[])
        .tell(0.2, leading(ETCD, 0.1), &["start 7"]);
}

#[test]
fn whoever_finds_others_who_disagree_leaves() {
    let mut transcript = Transcript::new(ETCD, divided());
    transcript
        .tell(0.0, Event::Tick, &["open"])
        .tell(0.0, Event::Replied(Ok(Reply::Opened)), &["settle"])
        .tell(0.1, disputed(), &["resign"])
        .tell(0.2, Event::Replied(Ok(Reply::Resigned)), &["finish: failed"]);
}

#[test]
fn a_newcomer_that_has_no_answer_does_not_join() {
    let mut transcript = Transcript::new(ETCD, divided());
    transcript
        .tell(0.0, Event::Tick, &["open"])
        .tell(0.0, Event::Replied(Ok(Reply::Opened)), &["settle"])
        .tell(0.1, Event::Replied(Err(unreachable())), &[])
        .pass(1.0, &["settle"]);
}

#[test]
fn who_is_shown_another_division_starts_nothing_before_that_is_settled() {
    for (own, other) in [
        (rules(), Division::Slots(3)),
        (divided(), Division::Slots(5)),
        (divided(), Division::Whole),
    ] {
        let ours = own.division;
        let waits = || {
            let mut transcript = Transcript::new(ETCD, own.clone());
            transcript.tell(0.0, Event::Tick, &["open"]);
            let first = if ours.is_whole() { "refresh" } else { "settle" };
            transcript.tell(0.0, Event::Replied(Ok(Reply::Opened)), &[first]);
            if !ours.is_whole() {
                transcript.tell(0.0, settled(), &["refresh"]);
            }
            transcript.tell(0.1, orders(other), &[]);
            transcript
        };
        waits()
            .tell(0.1, leading(ETCD, 0.0), &["settle"])
            .tell(0.2, settled(), &["refresh"])
            .tell(0.3, orders(ours), &[])
            .tell(0.3, leading(ETCD, 0.2), &["start 7"]);
        waits().tell(0.1, waiting(1), &["settle"]).tell(0.2, disputed(), &["resign"]);
        // Its place is looked after in between.
        waits()
            .tell(0.1, waiting(1), &["settle"])
            .tell(0.2, Event::Replied(Err(unreachable())), &[])
            .pass(1.0, &["refresh"])
            .tell(1.0, waiting(1), &["settle"]);
    }
}

/// As if the election had been forgotten between the two.
#[test]
fn a_division_that_nobody_has_written_is_none() {
    let mut transcript = Transcript::new(ETCD, divided());
    transcript
        .tell(0.0, Event::Tick, &["open"])
        .tell(0.0, Event::Replied(Ok(Reply::Opened)), &["settle"])
        .tell(0.1, settled(), &["refresh"])
        .tell(0.2, leading(ETCD, 0.1), &[])
        .pass(1.0, &["refresh"])
        .tell(1.0, leading(ETCD, 1.0), &["settle"]);
}

#[test]
fn whoever_runs_a_command_pays_no_heed() {
    Transcript::running(Lease::Unlimited, rules()).tell(1.0, orders(Division::Slots(3)), &[]).tell(
        5.0,
        leading(Lease::Unlimited, 5.0),
        &[],
    );
}

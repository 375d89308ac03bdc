//! What people ask of the election: a pause, or that the leader gives leadership up.

use elect_api::{Lease, Token};

use super::{ETCD, TERM, Transcript, after, at, leading, rules, waiting};
use crate::election::Reply;
use crate::election::machine::{Event, Heeds, Rules, Wait};
use crate::election::orders::{Orders, Request};
use crate::guard::Ended;

fn request() -> Request {
    Request::new("me".into(), None)
}

pub(super) fn paused() -> Event {
    Event::Ordered(Orders::default().paused(Some(request())))
}

fn nothing() -> Event {
    Event::Ordered(Orders::default())
}

fn step_down(token: u64) -> Event {
    Event::Ordered(Orders::default().stepping_down(Token::new(token), request()))
}

#[test]
fn a_leader_of_a_paused_election_stops_its_command_and_gives_leadership_up() {
    for order in [paused(), step_down(7)] {
        Transcript::running(ETCD, rules())
            .tell(1.0, order.clone(), &["signal 15"])
            .tell(1.1, order, &[])
            .tell(2.0, Event::Ended(Ended::Exited(0)), &[])
            .tell(2.1, Event::Empty, &["resign"])
            .tell(2.2, Event::Replied(Ok(Reply::Resigned)), &["finish: stepped down"]);
    }
}

#[test]
fn for_whom_nothing_runs_only_a_request_to_resign_counts() {
    let rules = Rules { heeds: Heeds::Resigning, ..rules() };
    let excluded = Orders::default().prioritizing("us", Some(0), request());
    Transcript::running(ETCD, rules)
        .tell(1.0, paused(), &[])
        .tell(1.1, Event::Ordered(excluded), &[])
        .tell(1.2, step_down(7), &["signal 15"]);
}

#[test]
fn a_request_to_another_leader_is_none_to_us() {
    Transcript::running(ETCD, rules()).tell(1.0, step_down(6), &[]).tell(
        2.0,
        Event::Signal(TERM),
        &["signal 15"],
    );
}

#[test]
fn who_is_told_to_end_as_well_does_not_come_again() {
    Transcript::running(ETCD, rules())
        .tell(1.0, step_down(7), &["signal 15"])
        .tell(1.5, Event::Signal(TERM), &["signal 15"])
        .tell(2.0, Event::Ended(Ended::Signaled(15)), &[])
        .tell(2.1, Event::Empty, &["resign"])
        .tell(2.2, Event::Replied(Ok(Reply::Resigned)), &["finish: lost, for good"]);
}

#[test]
fn a_command_that_had_ended_before_keeps_its_verdict() {
    Transcript::running(ETCD, rules())
        .tell(1.0, Event::Ended(Ended::Exited(3)), &[])
        .tell(1.1, paused(), &["signal 15"])
        .tell(2.1, Event::Empty, &["resign"])
        .tell(2.2, Event::Replied(Ok(Reply::Resigned)), &["finish: Exited(3)"]);
}

#[test]
fn while_it_is_paused_a_winner_keeps_its_place_and_starts_nothing() {
    for (lease, renewal) in [(ETCD, 3.5), (Lease::Unlimited, 6.0)] {
        let mut transcript = Transcript::waiting(lease, rules());
        transcript.tell(1.0, Event::Woken, &["refresh"]).tell(1.1, paused(), &[]).tell(
            1.1,
            leading(lease, 1.0),
            &[],
        );
        // It goes on renewing.
        transcript.pass(renewal, &["refresh"]).tell(renewal, leading(lease, renewal), &[]);
        transcript.tell(7.0, Event::Woken, &["refresh"]).tell(7.1, nothing(), &[]).tell(
            7.1,
            leading(lease, 7.0),
            &["start 7"],
        );
    }
}

#[test]
fn who_does_not_wait_does_not_wait_for_the_end_of_a_pause() {
    Transcript::joined(ETCD, Rules { wait: Wait::No, ..rules() })
        .tell(0.1, paused(), &[])
        .tell(0.1, leading(ETCD, 0.0), &["resign"])
        .tell(0.2, Event::Replied(Ok(Reply::Resigned)), &["finish: unwanted"]);
    let mut transcript = Transcript::joined(ETCD, Rules { wait: Wait::For(after(2.0)), ..rules() });
    transcript.tell(0.1, paused(), &[]).tell(0.1, leading(ETCD, 0.0), &[]);
    transcript.pass(2.0, &["resign"]).tell(
        2.1,
        Event::Replied(Ok(Reply::Resigned)),
        &["finish: unwanted"],
    );
}

/// It may have won before the pause began, as far as others can tell.
#[test]
fn a_winner_that_is_asked_to_give_up_comes_again_as_a_newcomer() {
    let mut transcript = Transcript::waiting(ETCD, rules());
    transcript
        .tell(1.0, Event::Woken, &["refresh"])
        .tell(1.1, step_down(7), &[])
        .tell(1.1, leading(ETCD, 1.0), &["resign"])
        .tell(1.2, Event::Replied(Ok(Reply::Resigned)), &["refresh"])
        .tell(1.3, waiting(1), &[]);
    assert!(transcript.machine.next_tick().is_some_and(|tick| tick > at(1.3)));
}

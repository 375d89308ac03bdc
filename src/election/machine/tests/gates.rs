//! Tests of the calls that a winner makes when it has to pass several gates, and of the refreshes in between.

use elect_api::{Candidate, Division, Entry, Leader, Lease, Survey, Token, Validity, Written};

use super::{ETCD, TERM, Transcript, after, at, leading, rules, unreachable, waiting};
use crate::election::control::{Control, Request};
use crate::election::division::Agreement;
use crate::election::machine::{Event, Heeds, Rules, Settles, Wait};
use crate::election::ranking::Field;
use crate::election::{Answer, Reply};
use crate::guard::Ended;

const LOCAL: Lease = Lease::Unlimited;

fn replied(reply: Reply) -> Event {
    Event::Replied(Ok(reply))
}

/// Returns the answer that no other candidate takes part.
fn alone() -> Event {
    let candidate = Candidate { priority: 80, host: "web".into(), ..Candidate::foreign("us") };
    let (entry, token) = (Entry::new(candidate, None, 1), Token::new(7));
    let leader = Leader::new(entry, token);
    let survey = Survey { leader: Some(leader), waiting: vec![] };
    replied(Reply::Field(Box::new(Field { survey, last: None })))
}

/// Returns a winner since 0.0 that has to pass the gates for the `--once` key, the ranking and the lock delay.
fn won(lease: Lease) -> Transcript {
    let rules = Rules {
        once: true,
        priority: 80,
        keeps_history: true,
        lock_delay: Some(after(20.0)),
        ..rules()
    };
    let mut transcript = Transcript::new(lease, rules);
    transcript
        .tell(0.0, Event::Tick, &["open"])
        .tell(0.0, replied(Reply::Opened), &["recall"])
        .tell(0.0, replied(Reply::Done(false)), &["refresh"])
        .tell(0.0, leading(lease, 0.0), &["recall"]);
    transcript
}

/// Returns the same winner once it has passed all gates and is about to prove that it is still the first.
fn passed() -> Transcript {
    let mut transcript = won(ETCD);
    transcript
        .tell(0.1, replied(Reply::Done(false)), &["announce"])
        .tell(0.2, replied(Reply::Announced), &["compare"])
        .tell(0.3, alone(), &["read history"])
        .tell(0.4, replied(Reply::EndedWell(true)), &["begin history 7"])
        .tell(0.5, replied(Reply::Written(Written::Yes(1))), &["refresh"]);
    transcript
}

#[test]
fn all_is_asked_between_two_proofs() {
    passed().tell(0.6, leading(ETCD, 0.5), &["start 7"]);
}

#[test]
fn a_pause_requested_during_the_gates_counts() {
    passed().tell(0.6, paused(), &[]).tell(0.6, leading(ETCD, 0.5), &[]).pass(2.9, &[]);
}

#[test]
fn a_candidate_that_wins_anew_passes_all_gates_anew() {
    let validity = Validity::Window { anchor: at(1.0), window: after(15.0) };
    let again = Reply::Standing(Answer::Leading { token: Token::new(8), validity });
    passed()
        .tell(0.6, waiting(1), &[])
        .tell(1.0, Event::Woken, &["refresh"])
        .tell(1.1, replied(again), &["recall"])
        .tell(1.2, replied(Reply::Done(false)), &["announce"])
        .tell(1.3, replied(Reply::Announced), &["compare"])
        .tell(1.4, alone(), &["read history"])
        .tell(1.5, replied(Reply::EndedWell(true)), &["begin history 8"]);
}

#[test]
fn a_place_that_was_confirmed_a_renewal_ago_is_looked_after_first() {
    won(ETCD).tell(2.6, replied(Reply::Done(false)), &["refresh"]).tell(
        2.7,
        leading(ETCD, 2.6),
        &["announce"],
    );
    // This also holds if each answer takes that long. Otherwise the next call would never be made.
    won(LOCAL)
        .tell(6.0, replied(Reply::Done(false)), &["refresh"])
        .tell(12.0, leading(LOCAL, 6.0), &["announce"])
        .tell(18.0, replied(Reply::Announced), &["refresh"])
        .tell(24.0, leading(LOCAL, 18.0), &["compare"]);
}

#[test]
fn a_wake_has_it_look_after_its_place_first() {
    won(ETCD)
        .tell(0.1, Event::Woken, &[])
        .tell(0.2, replied(Reply::Done(false)), &["refresh"])
        .tell(0.3, leading(ETCD, 0.2), &["announce"]);
}

#[test]
fn a_recall_is_repeated_if_the_cell_may_have_changed() {
    won(ETCD)
        .tell(0.1, replied(Reply::Done(false)), &["announce"])
        .tell(0.2, Event::Noted, &[])
        .tell(0.3, replied(Reply::Announced), &["refresh"])
        .tell(0.4, leading(ETCD, 0.3), &["recall"]);
}

/// Returns rules of a candidate that wants a division of its own.
fn divided() -> Rules {
    Rules { division: Division::Slots(3), settles: Settles::First, ..rules() }
}

fn control(division: Division) -> Event {
    Event::ControlRead(Control::default().divided(division))
}

fn settled() -> Event {
    Event::Replied(Ok(Reply::Agreement(Agreement::Ours)))
}

fn disputed() -> Event {
    Event::Replied(Ok(Reply::Agreement(Agreement::Disputed("5 slots".into()))))
}

#[test]
fn a_candidate_agrees_on_the_division_before_it_joins() {
    let mut transcript = Transcript::new(ETCD, divided());
    transcript
        .tell(0.0, Event::Tick, &["open"])
        .tell(0.0, Event::Replied(Ok(Reply::Opened)), &["settle"])
        .tell(0.1, settled(), &["refresh"])
        .tell(0.2, control(Division::Slots(3)), &[])
        .tell(0.2, leading(ETCD, 0.1), &["start 7"]);
}

#[test]
fn a_candidate_that_finds_another_division_leaves() {
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
fn nothing_starts_before_a_dispute_about_the_division_is_settled() {
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
            transcript.tell(0.1, control(other), &[]);
            transcript
        };
        waits()
            .tell(0.1, leading(ETCD, 0.0), &["settle"])
            .tell(0.2, settled(), &["refresh"])
            .tell(0.3, control(ours), &[])
            .tell(0.3, leading(ETCD, 0.2), &["start 7"]);
        waits().tell(0.1, waiting(1), &["settle"]).tell(0.2, disputed(), &["resign"]);
        // The place is confirmed in between.
        waits()
            .tell(0.1, waiting(1), &["settle"])
            .tell(0.2, Event::Replied(Err(unreachable())), &[])
            .pass(1.0, &["refresh"])
            .tell(1.0, waiting(1), &["settle"]);
    }
}

/// The election is forgotten between the two answers.
#[test]
fn a_division_that_is_not_written_is_none() {
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
fn a_running_leader_ignores_a_change_of_division() {
    Transcript::running(Lease::Unlimited, rules())
        .tell(1.0, control(Division::Slots(3)), &[])
        .tell(5.0, leading(Lease::Unlimited, 5.0), &[]);
}

fn request() -> Request {
    Request::new("me".into(), None)
}

/// Returns the event that the election is paused.
pub(super) fn paused() -> Event {
    Event::ControlRead(Control::default().paused(Some(request())))
}

fn nothing() -> Event {
    Event::ControlRead(Control::default())
}

fn step_down(token: u64) -> Event {
    Event::ControlRead(Control::default().stepping_down(Token::new(token), request()))
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
fn without_a_command_only_a_request_to_resign_counts() {
    let rules = Rules { heeds: Heeds::Resigning, ..rules() };
    let excluded = Control::default().prioritizing("us", Some(0), request());
    Transcript::running(ETCD, rules)
        .tell(1.0, paused(), &[])
        .tell(1.1, Event::ControlRead(excluded), &[])
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
fn a_leader_that_is_also_told_to_end_does_not_campaign_again() {
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
        // The winner goes on renewing.
        transcript.pass(renewal, &["refresh"]).tell(renewal, leading(lease, renewal), &[]);
        transcript.tell(7.0, Event::Woken, &["refresh"]).tell(7.1, nothing(), &[]).tell(
            7.1,
            leading(lease, 7.0),
            &["start 7"],
        );
    }
}

#[test]
fn a_candidate_that_does_not_wait_does_not_wait_for_a_pause_to_end() {
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

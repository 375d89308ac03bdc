//! Tests with a leader that may be dead: how long a candidate waits to see, and what it reports.

use std::time::Duration;

use elect_api::{Boottime, Doubt, Lease};

use super::{ETCD, Transcript, after, at, leading, rules, unreachable, waiting, word};
use crate::election::machine::{Command, Event, News, Rules, Wait};
use crate::election::{Answer, Call, Reply};

#[test]
fn no_wait_is_decided_by_the_first_answer() {
    for wait in [Wait::No, Wait::For(Duration::ZERO)] {
        Transcript::joined(Lease::Unlimited, Rules { wait, ..rules() })
            .tell(0.1, waiting(1), &["resign"])
            .tell(0.2, Event::Replied(Ok(Reply::Resigned)), &["finish: not acquired"]);
    }
}

/// Returns the answer that the candidate ahead may be dead.
fn in_doubt() -> Event {
    in_doubt_behind(1)
}

fn in_doubt_behind(ahead: usize) -> Event {
    Event::Replied(Ok(Reply::Standing(Answer::Waiting { ahead, alive: false })))
}

/// Returns a candidate that got this answer at each look up to `second`, and then looks again.
fn in_doubt_until(second: f64, wait: Wait) -> Transcript {
    let mut transcript = Transcript::joined(ETCD, Rules { wait, ..rules() });
    transcript.tell(0.1, in_doubt(), &[]);
    loop {
        let now = transcript.machine.next_tick().expect("a tick");
        let said: Vec<_> =
            transcript.machine.step(now, Event::Tick).iter().filter_map(word).collect();
        // The doubt is reported meanwhile.
        if said.is_empty() {
            continue;
        }
        assert_eq!(said, ["refresh"]);
        if now >= at(second) {
            return transcript;
        }
        transcript.machine.step(now, in_doubt());
    }
}

#[test]
fn without_wait_a_candidate_waits_to_learn_whether_a_leader_lives() {
    for wait in [Wait::No, Wait::For(Duration::ZERO), Wait::For(after(5.0))] {
        in_doubt_until(12.5, wait).tell(12.6, leading(ETCD, 12.5), &["start 7"]);
        in_doubt_until(12.5, wait).tell(12.6, waiting(1), &["resign"]).tell(
            12.7,
            Event::Replied(Ok(Reply::Resigned)),
            &["finish: not acquired"],
        );
    }
}

/// The lease of this candidate has 15 s here.
#[test]
fn doubt_whether_a_leader_lives_is_waited_out_for_1_5_leases_at_most() {
    for wait in [Wait::No, Wait::For(Duration::ZERO), Wait::For(after(5.0))] {
        in_doubt_until(20.0, wait)
            .tell(20.1, in_doubt(), &[])
            .pass(22.5, &["refresh"])
            .tell(22.55, in_doubt(), &[])
            .pass(22.65, &["resign"])
            .tell(22.7, Event::Replied(Ok(Reply::Resigned)), &["finish: not acquired"]);
    }
    // A candidate with a longer limit waits longer.
    in_doubt_until(40.0, Wait::For(after(60.0)));
    in_doubt_until(400.0, Wait::Forever);
}

/// The doubt lasts for more than one and a half leases of this candidate.
#[test]
fn no_candidate_waits_for_a_doubt_that_lasts_too_long() {
    for (wait, end) in
        [(Wait::No, 0.1), (Wait::For(Duration::ZERO), 0.1), (Wait::For(after(5.0)), 5.0)]
    {
        for (span, is_waited_for) in [(22.0, true), (23.0, false)] {
            let mut transcript = Transcript::joined(ETCD, Rules { wait, ..rules() });
            let mut said = Vec::new();
            let mut now = at(0.1);
            while now <= at(end) {
                said.extend(transcript.machine.step(now, Event::Tick));
                if transcript.machine.request.call() == Some(&Call::Refresh) {
                    said.extend(
                        transcript.machine.step(now, Event::Doubted(Doubt::Leader(after(span)))),
                    );
                    said.extend(transcript.machine.step(now, in_doubt()));
                }
                let Some(next) = transcript.machine.next_tick() else { break };
                now = next;
            }
            let leaves = said.iter().any(|it| matches!(it, Command::Ask(Call::Resign(_))));
            assert_eq!(leaves, !is_waited_for, "{wait:?}, {span}: {said:?}");
        }
    }
}

/// What a candidate says until that time, of a doubt that the store explains so at first, or does not explain.
fn told(wait: Wait, until: f64, doubt: Option<Doubt>) -> Vec<(Boottime, Doubt)> {
    // A store that may have lost a record shows no leader.
    let ahead = usize::from(!matches!(doubt, Some(Doubt::Store(_))));

    let mut transcript = Transcript::joined(ETCD, Rules { wait, ..rules() });
    let began = at(0.1);
    let doubted = |now: Boottime| match doubt {
        Some(Doubt::Store(span)) => Some(Doubt::Store(span.saturating_sub(now.since(began)))),
        other => other,
    };
    let mut told = Vec::new();
    let mut commands = Vec::new();
    let mut now = began;
    loop {
        if transcript.machine.request.call() == Some(&Call::Refresh) {
            if let Some(doubt) = doubted(now) {
                commands.extend(transcript.machine.step(now, Event::Doubted(doubt)));
            }
            commands.extend(transcript.machine.step(now, in_doubt_behind(ahead)));
        }
        told.extend(commands.drain(..).filter_map(|command| match command {
            Command::Tell(News::InDoubt(left)) => Some((now, left)),
            _ => None,
        }));
        now = transcript.machine.next_tick().expect("a tick");
        if now >= at(until) {
            return told;
        }
        commands.extend(transcript.machine.step(now, Event::Tick));
    }
}

#[test]
fn a_candidate_in_doubt_reports_it_once_and_not_at_once() {
    let leader = |left| Doubt::Leader(after(left));
    assert_eq!(told(Wait::No, 5.0, None), []);
    assert_eq!(told(Wait::No, 20.0, None), [(at(5.1), leader(17.5))]);
    assert_eq!(told(Wait::For(after(10.0)), 20.0, None), [(at(10.0), leader(12.6))]);
    assert_eq!(told(Wait::Forever, 60.0, None), []);
    assert_eq!(told(Wait::Forever, 60.0, Some(leader(15.0))), []);
}

/// The store may have lost the record of a leader: then no candidate leads for a time, and none is seen to.
#[test]
fn a_candidate_waits_for_a_leader_that_the_store_may_have_forgotten_and_says_so_in_any_case() {
    let store = |left| Doubt::Store(after(left));
    for wait in [Wait::No, Wait::For(Duration::ZERO), Wait::Forever] {
        assert_eq!(told(wait, 5.0, Some(store(60.0))), []);
        assert_eq!(told(wait, 60.0, Some(store(60.0))), [(at(5.1), store(55.0))]);
    }
    assert_eq!(told(Wait::For(after(10.0)), 60.0, Some(store(60.0))), [(at(10.0), store(50.1))]);
}

#[test]
fn nothing_is_settled_by_a_store_that_does_not_answer() {
    for (wait, verdict) in
        [(Wait::No, "finish: store failed"), (Wait::For(after(5.0)), "finish: not acquired")]
    {
        in_doubt_until(12.5, wait)
            .tell(12.6, Event::Replied(Err(unreachable())), &["resign"])
            .tell(12.7, Event::Replied(Ok(Reply::Resigned)), &[verdict]);
    }
}

#[test]
fn without_a_candidate_ahead_the_election_is_not_taken_yet() {
    Transcript::joined(ETCD, Rules { wait: Wait::No, ..rules() })
        .tell(0.1, waiting(0), &[])
        .tell(0.1, Event::Woken, &["refresh"])
        .tell(0.2, leading(ETCD, 0.1), &["start 7"]);
}

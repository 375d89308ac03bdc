//! Tests with a store that answers, but gives no candidate a place.

use elect_api::{Division, Error, ErrorKind, Lease};

use super::{ETCD, Transcript, after, at, leading, rules, unreachable, waiting, *};
use crate::election::control::Control;
use crate::election::division::Agreement;
use crate::election::machine::{Command, Event, News, Rules, Settles, Verdict, Wait};
use crate::election::{Answer, Call, Reply};

const LOCAL: Lease = Lease::Unlimited;

/// Answers reads, and settles a division. Refreshes first answer `seats` times that none is ahead, and then fail.
/// Returns when and how the candidacy ended, or `None` if it lasts for a thousand seconds.
fn on_a_full_store(lease: Lease, rules: Rules, mut seats: u32) -> Option<(f64, Verdict)> {
    let mut machine = Transcript::new(lease, rules).machine;
    let (mut now, mut event) = (at(0.0), Event::Tick);
    while now < at(1000.0) {
        let mut answer = None;
        for command in machine.step(now, event) {
            answer = match command {
                Command::Ask(Call::Open(_)) => Some(Event::Replied(Ok(Reply::Opened))),
                Command::Ask(Call::Recall) => Some(Event::Replied(Ok(Reply::Done(false)))),
                Command::Ask(Call::Settle) => {
                    Some(Event::Replied(Ok(Reply::Agreement(Agreement::Ours))))
                }
                Command::Ask(Call::Refresh) if seats > 0 => {
                    seats -= 1;
                    Some(waiting(0))
                }
                Command::Ask(Call::Refresh) => Some(Event::Replied(Err(unreachable()))),
                Command::Ask(Call::Resign(_)) => Some(Event::Replied(Ok(Reply::Resigned))),
                Command::Finish(verdict) => {
                    return Some((now.since(at(0.0)).as_secs_f64(), verdict));
                }
                _ => None,
            };
        }
        event = answer.unwrap_or_else(|| {
            now = machine.next_tick().expect("a tick");
            Event::Tick
        });
    }
    None
}

fn divided() -> Rules {
    Rules { division: Division::Slots(2), settles: Settles::First, ..rules() }
}

#[test]
fn a_store_that_answers_and_takes_no_entry_has_failed() {
    let cases = [
        (Rules { once: true, ..rules() }, 0),
        (divided(), 0),
        (Rules { once: true, ..divided() }, 0),
        // The door tells this to a candidate for slots.
        (rules(), 1),
    ];
    for lease in [ETCD, LOCAL] {
        for (rules, seats) in &cases {
            for (wait, range) in [
                (Wait::Forever, 9.9..=10.0),
                (Wait::No, 9.9..=10.0),
                (Wait::For(after(4.0)), 3.9..=5.0),
                (Wait::For(after(30.0)), 29.9..=30.0),
            ] {
                // After 4 s the store's last answer still counts.
                if *seats > 0 && wait == Wait::For(after(4.0)) {
                    continue;
                }
                let rules = Rules { wait, ..rules.clone() };
                let (end, verdict) = on_a_full_store(lease, rules, *seats).expect("an end");
                let is_it = matches!(verdict, Verdict::StoreFailed { out_of_time: true, .. });
                assert!(is_it, "{wait:?}: {verdict:?}");
                assert!(range.contains(&end), "{wait:?}: {end} s");
            }
        }
    }
}

/// The store answers well, but the time is over. No leader is known.
#[test]
fn a_candidate_without_a_place_in_time_says_so() {
    for wait in [Wait::For(after(0.5)), Wait::No] {
        let (_, verdict) =
            on_a_full_store(ETCD, Rules { wait, ..rules() }, u32::MAX).expect("an end");
        let Verdict::NotAcquired(why) = verdict else { panic!("{verdict:?}") };
        assert!(!why.contains("another"), "{why}");
    }
}

#[test]
fn a_candidate_that_insists_keeps_trying() {
    let rules = Rules { once: true, insists: true, ..rules() };
    assert!(on_a_full_store(ETCD, rules, 0).is_none());
}

#[test]
fn a_request_that_is_swallowed_after_an_answer_is_a_failure() {
    for wait in [Wait::Forever, Wait::No] {
        let mut transcript = Transcript::new(ETCD, Rules { once: true, wait, ..rules() });
        transcript
            .tell(0.0, Event::Tick, &["open"])
            .tell(0.0, Event::Replied(Ok(Reply::Opened)), &["recall"])
            .tell(0.0, Event::Replied(Ok(Reply::Done(false))), &["refresh"])
            .pass(9.9, &["abandon", "refresh", "abandon", "refresh", "abandon", "refresh"])
            .pass(10.0, &["abandon", "resign"])
            .tell(10.0, Event::Replied(Ok(Reply::Resigned)), &["finish: store failed"]);
    }
}

/// The candidate that blocks the door of a local store may go on. The store does not fail.
#[test]
fn a_stopped_candidate_in_the_way_is_no_failure_of_the_store() {
    let blocked = |wait| {
        let mut transcript = Transcript::new(LOCAL, Rules { once: true, wait, ..rules() });
        transcript
            .tell(0.0, Event::Tick, &["open"])
            .tell(0.0, Event::Replied(Ok(Reply::Opened)), &["recall"])
            .tell(0.0, Event::Replied(Ok(Reply::Done(false))), &["refresh"]);
        transcript
    };
    blocked(Wait::No).pass(10.0, &["abandon", "refresh", "abandon", "resign"]).tell(
        10.0,
        Event::Replied(Ok(Reply::Resigned)),
        &["finish: not acquired"],
    );
    let mut patient = blocked(Wait::Forever);
    while patient.machine.next_tick().is_some_and(|tick| tick < at(1000.0)) {
        let now = patient.machine.next_tick().expect("a tick");
        let said = patient.machine.step(now, Event::Tick);
        assert!(
            !said.iter().any(|command| matches!(command, Command::Ask(Call::Resign(_)))),
            "{said:?}"
        );
    }
}

/// Counts the reports that an entry is left in the store, after a signal has ended the candidacy. `answer` is the
/// answer to the first request. The removal of the entry has no answer.
fn left_after(answer: Option<Result<Reply, Error>>) -> usize {
    let mut transcript = Transcript::joined(ETCD, rules());
    let mut said = Vec::new();
    if let Some(answer) = answer {
        said.extend(transcript.machine.step(at(0.1), Event::Replied(answer)));
    }
    said.extend(transcript.machine.step(at(0.2), Event::Signal(TERM)));
    while let Some(tick) = transcript.machine.next_tick().filter(|&tick| tick <= at(60.0)) {
        said.extend(transcript.machine.step(tick, Event::Tick));
    }
    assert!(said.iter().any(|it| matches!(it, Command::Finish(_))), "{said:?}");
    said.iter().filter(|it| matches!(it, Command::Tell(News::EntryLeft(_)))).count()
}

#[test]
fn an_entry_is_said_to_be_left_only_where_one_may_be() {
    let unclear = Error::new(ErrorKind::Ambiguous, "the answer was lost");
    let placed = Reply::Standing(Answer::Waiting { ahead: 1, alive: true });
    assert_eq!(left_after(Some(Ok(placed))), 1);
    assert_eq!(left_after(Some(Err(unclear))), 1);
    // The request is pending when the signal comes.
    assert_eq!(left_after(None), 1);
    assert_eq!(left_after(Some(Err(unreachable()))), 0);
}

/// The store refuses connections, and comes back shortly before the time is over.
#[test]
fn a_store_that_comes_back_in_the_last_second_is_found() {
    for wait in [Wait::For(after(3.0)), Wait::For(after(8.0)), Wait::No, Wait::Forever] {
        let end = if let Wait::For(limit) = wait { limit } else { after(10.0) };
        for seed in 0..20 {
            let mut machine = Transcript::new(ETCD, Rules { wait, ..rules() }).machine;
            machine.chance = fastrand::Rng::with_seed(seed);
            let (mut now, mut asked) = (at(0.0), Vec::new());
            loop {
                let said = machine.step(now, Event::Tick);
                if said.iter().any(|it| matches!(it, Command::Ask(Call::Open(_)))) {
                    asked.push(now.since(at(0.0)));
                    machine.step(now, Event::Replied(Err(unreachable())));
                }
                let Some(tick) = machine.next_tick() else { break };
                now = tick;
            }
            let last = *asked.last().expect("attempts");
            assert!(last < end && last + after(0.2) > end, "{wait:?}: {asked:?}");
            assert!(asked.len() < 30, "{wait:?}: {asked:?}");
        }
    }
}

fn why_not(mut transcript: Transcript, second: f64) -> String {
    let said = transcript.machine.step(at(second), Event::Tick);
    assert!(said.iter().any(|it| matches!(it, Command::Ask(Call::Resign(_)))), "{said:?}");
    let said = transcript.machine.step(at(second), Event::Replied(Ok(Reply::Resigned)));
    match said.as_slice() {
        [Command::Finish(Verdict::NotAcquired(why))] => why.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn it_is_said_whether_another_leads_or_did() {
    let patient = || Rules { wait: Wait::For(after(5.0)), ..rules() };
    assert_eq!(why_not(Transcript::waiting(ETCD, patient()), 5.0), "another candidate leads");
    let mut transcript = Transcript::waiting(ETCD, patient());
    transcript.tell(4.0, Event::Woken, &["refresh"]);
    let full = Error::new(ErrorKind::Unreachable, "its database is full");
    transcript.tell(4.9, Event::Replied(Err(full)), &[]);
    assert_eq!(
        why_not(transcript, 5.0),
        "another candidate led when the store last said so; since then: its database is full"
    );
}

/// The candidate has the first place, and cannot read whether the key is done. No other candidate leads.
#[test]
fn a_winner_that_cannot_find_out_whether_it_is_done_says_so() {
    let rules = Rules { once: true, wait: Wait::For(after(3.0)), ..rules() };
    let mut transcript = Transcript::new(ETCD, rules);
    transcript
        .tell(0.0, Event::Tick, &["open"])
        .tell(0.0, Event::Replied(Ok(Reply::Opened)), &["recall"])
        .tell(0.0, Event::Replied(Ok(Reply::Done(false))), &["refresh"])
        .tell(0.0, leading(ETCD, 0.0), &["recall"])
        .tell(2.99, Event::Replied(Err(unreachable())), &["resign"])
        .tell(3.0, Event::Replied(Ok(Reply::Resigned)), &["finish: store failed"]);
}

#[test]
fn a_winner_whose_time_is_over_before_it_may_start_does_not_say_that_another_leads() {
    let rules = Rules { once: true, wait: Wait::For(after(1.0)), ..rules() };
    let mut transcript = Transcript::new(ETCD, rules);
    transcript
        .tell(0.0, Event::Tick, &["open"])
        .tell(0.0, Event::Replied(Ok(Reply::Opened)), &["recall"])
        .tell(0.0, Event::Replied(Ok(Reply::Done(false))), &["refresh"])
        .tell(0.0, leading(ETCD, 0.0), &["recall"]);
    assert_eq!(why_not(transcript, 1.0), "the time was over before it was settled who leads");
}

/// A place behind another candidate is a place. From then on every outage is ridden out.
#[test]
fn a_waiter_rides_out_an_outage_without_a_limit() {
    let mut transcript = Transcript::waiting(ETCD, rules());
    transcript.tell(1.0, Event::ControlRead(Control::default()), &[]);
    let mut now = at(1.0);
    while now < at(1000.0) {
        now = transcript.machine.next_tick().expect("a tick");
        for command in transcript.machine.step(now, Event::Tick) {
            assert!(!matches!(command, Command::Ask(Call::Resign(_))), "{command:?}");
            if matches!(command, Command::Ask(Call::Refresh)) {
                transcript.machine.step(now, Event::Replied(Err(unreachable())));
            }
        }
    }
}

/// Counts how often a winner repeats a call that its store does not answer, in a minute or until it gives up. Refreshes
/// are answered.
fn asks(rules: Rules, told: &Control) -> usize {
    let mut machine = Transcript::new(ETCD, rules).machine;
    let (mut now, mut has_place, mut asked) = (at(0.0), false, 0);
    let mut events = vec![Event::Tick];
    while let Some(event) = events.pop() {
        for command in machine.step(now, event) {
            let no_answer = match command {
                Command::Ask(Call::Open(_)) => Event::Replied(Ok(Reply::Opened)),
                Command::Ask(Call::Refresh) => {
                    has_place = true;
                    events.push(leading(ETCD, now.since(at(0.0)).as_secs_f64()));
                    Event::ControlRead(told.clone())
                }
                Command::Ask(Call::Recall) if !has_place => Event::Replied(Ok(Reply::Done(false))),
                Command::Ask(Call::Resign(_)) => return asked,
                Command::Ask(_) => Event::Replied(Err(unreachable())),
                Command::Start(_) => panic!("nothing must be started"),
                _ => continue,
            };
            asked += usize::from(!matches!(
                no_answer,
                Event::Replied(Ok(Reply::Opened)) | Event::ControlRead(_)
            ));
            events.push(no_answer);
        }
        if events.is_empty() {
            now = machine.next_tick().filter(|&tick| tick < at(60.0)).unwrap_or(at(60.0));
            events.extend((now < at(60.0)).then_some(Event::Tick));
        }
    }
    asked
}

#[test]
fn a_winner_repeats_a_failing_request_less_and_less_often() {
    let divided = Control::default().divided(Division::Slots(3));
    for (rules, told) in [
        (Rules { once: true, ..rules() }, Control::default()),
        (Rules { priority: 80, ..rules() }, Control::default()),
        (rules(), Control::default().ranked()),
        (rules(), divided),
    ] {
        let asked = asks(rules, &told);
        assert!((5..50).contains(&asked), "{asked} times, {told:?}");
    }
}

#[test]
fn a_candidate_that_insists_tries_an_unreached_store_without_end() {
    let mut transcript = Transcript::new(ETCD, Rules { insists: true, ..rules() });
    transcript.tell(0.0, Event::Tick, &["open"]);
    for second in [1.0, 100.0, 10_000.0] {
        transcript
            .tell(second, Event::Replied(Err(unreachable())), &[])
            .pass(second + 1.0, &["open"]);
    }
    // A limit given by the user applies, too.
    for wait in [Wait::No, Wait::For(after(2.0))] {
        let mut limited = Transcript::new(ETCD, Rules { insists: true, wait, ..rules() });
        limited.tell(0.0, Event::Tick, &["open"]).tell(
            100.0,
            Event::Replied(Err(unreachable())),
            &["finish: store failed"],
        );
    }
}

#[test]
fn a_candidate_that_begins_later_asks_nothing_before_and_waits_in_full() {
    let late = || {
        let rules = Rules { wait: Wait::For(after(1.0)), ..rules() };
        let machine = Transcript::new(Lease::Unlimited, rules).machine.after(after(20.0));
        let mut transcript = Transcript { machine };
        transcript.tell(0.0, Event::Tick, &[]).pass(19.9, &[]);
        transcript
    };
    late()
        .pass(20.0, &["open"])
        .tell(20.0, Event::Replied(Ok(Reply::Opened)), &["refresh"])
        .tell(20.1, waiting(1), &[])
        .pass(20.9, &[]);
    late().tell(19.9, Event::Signal(TERM), &["finish: interrupted 15"]);
}

/// The process has led with a greater token, so the store has gone back.
#[test]
fn a_win_with_a_smaller_token_than_before_is_refused_for_good() {
    let rules = Rules { floor: Some(Token::new(9)), ..rules() };
    let mut machine = Transcript::new(ETCD, rules).machine;
    let (mut event, mut seen) = (Event::Tick, Vec::new());
    for _ in 0..8 {
        let mut answer = Event::Tick;
        for command in machine.step(at(0.0), event) {
            match command {
                Command::Ask(Call::Open(_)) => answer = Event::Replied(Ok(Reply::Opened)),
                Command::Ask(Call::Refresh) => answer = leading(ETCD, 0.0),
                Command::Ask(Call::Resign(_)) => answer = Event::Replied(Ok(Reply::Resigned)),
                other => seen.push(other),
            }
        }
        event = answer;
    }
    assert!(!seen.iter().any(|it| matches!(it, Command::Start(_))), "{seen:?}");
    let is_end = |it: &Command| matches!(it, Command::Finish(Verdict::StoreFailed { error, out_of_time: false }) if !error.may_pass());
    assert!(seen.iter().any(is_end), "{seen:?}");
}

use elect_api::{Error, ErrorKind, Lease, Written};

use super::{ETCD, TERM, Transcript, after, at, gone, leading, rules, unreachable, waiting, word};
use crate::election::machine::{Command, Counting, Event, News, Rules};
use crate::election::{Attempted, Call, Reply};
use crate::guard::Ended;

const LOCAL: Lease = Lease::Unlimited;

fn once() -> Rules {
    Rules { once: true, ..rules() }
}

fn recalled(is_done: bool) -> Event {
    Event::Replied(Ok(Reply::Done(is_done)))
}

fn recorded(written: Written) -> Event {
    Event::Replied(Ok(Reply::Written(written)))
}

/// Returns a candidate that has asked for the key before it joined.
fn asked(lease: Lease) -> Transcript {
    let mut transcript = Transcript::new(lease, once());
    transcript
        .tell(0.0, Event::Tick, &["open"])
        .tell(0.0, Event::Replied(Ok(Reply::Opened)), &["recall"])
        .tell(0.0, recalled(false), &["refresh"]);
    transcript
}

/// Returns a leader whose command has succeeded.
fn succeeded(lease: Lease) -> Transcript {
    let mut transcript = asked(lease);
    transcript
        .tell(0.0, leading(lease, 0.0), &["recall"])
        .tell(0.0, recalled(false), &["refresh"])
        .tell(0.0, leading(lease, 0.0), &["start 7"])
        .tell(0.1, Event::Started, &[])
        .tell(1.0, Event::Ended(Ended::Exited(0)), &[])
        .tell(1.0, Event::Empty, &["record"]);
    transcript
}

#[test]
fn a_success_is_recorded_before_the_lease_is_given_up() {
    succeeded(LOCAL).tell(1.1, recorded(Written::Yes(1)), &["resign"]).tell(
        1.2,
        Event::Replied(Ok(Reply::Resigned)),
        &["finish: Exited(0)"],
    );
}

/// A command that was asked to stop may exit with 0.
#[test]
fn a_run_that_was_stopped_on_request_is_not_done() {
    asked(LOCAL)
        .tell(0.0, leading(LOCAL, 0.0), &["recall"])
        .tell(0.0, recalled(false), &["refresh"])
        .tell(0.0, leading(LOCAL, 0.0), &["start 7"])
        .tell(0.5, Event::StepDown("deploy".into()), &["signal 15"])
        .tell(1.0, Event::Ended(Ended::Exited(0)), &[])
        .tell(1.0, Event::Empty, &["resign"])
        .tell(1.1, Event::Replied(Ok(Reply::Resigned)), &["finish: stepped down"]);
}

/// Returns a leader whose command runs.
fn running(rules: Rules) -> Transcript {
    let mut transcript = Transcript::new(LOCAL, rules);
    transcript
        .tell(0.0, Event::Tick, &["open"])
        .tell(0.0, Event::Replied(Ok(Reply::Opened)), &["recall"])
        .tell(0.0, recalled(false), &["refresh"])
        .tell(0.0, leading(LOCAL, 0.0), &["recall"])
        .tell(0.0, recalled(false), &["refresh"])
        .tell(0.0, leading(LOCAL, 0.0), &["start 7"])
        .tell(0.1, Event::Started, &[]);
    transcript
}

#[test]
fn a_run_cut_short_by_a_signal_is_neither_done_nor_a_success() {
    for signal in [TERM, libc::SIGINT, libc::SIGQUIT, libc::SIGHUP] {
        running(once())
            .tell(0.5, Event::Signal(signal), &[&format!("signal {signal}")])
            .tell(1.0, Event::Ended(Ended::Exited(0)), &[])
            .tell(1.0, Event::Empty, &["resign"])
            .tell(
                1.1,
                Event::Replied(Ok(Reply::Resigned)),
                &[&format!("finish: interrupted {signal}")],
            );
    }
    // A key in the terminal does the same, although only the command got its signal.
    running(once())
        .tell(1.0, Event::EndedAfterKey(Ended::Exited(0), libc::SIGINT), &[])
        .tell(1.0, Event::Empty, &["resign"])
        .tell(1.1, Event::Replied(Ok(Reply::Resigned)), &["finish: interrupted 2"]);
    // Other signals do not ask for an end.
    running(once())
        .tell(0.5, Event::Signal(libc::SIGUSR1), &["signal 10"])
        .tell(1.0, Event::Ended(Ended::Exited(0)), &[])
        .tell(1.0, Event::Empty, &["record"]);
    // Processes that are killed are not a part of the work.
    running(once())
        .tell(1.0, Event::Ended(Ended::Exited(0)), &[])
        .tell(1.1, Event::Signal(TERM), &["signal 15"])
        .tell(1.2, Event::Empty, &["record"]);
}

#[test]
fn a_run_is_done_once_its_awaited_leftovers_are() {
    let awaiting = || running(Rules { leftover_grace: None, ..once() });
    let ended = Event::Ended(Ended::Exited(0));
    awaiting().tell(1.0, ended.clone(), &[]).tell(9.0, Event::Empty, &["record"]);
    for (event, order, end) in [
        (Event::Signal(TERM), "signal 15", "interrupted 15"),
        (Event::StepDown("deploy".into()), "signal 15", "stepped down"),
        (Event::Withdraw("moved".into()), "signal 15", "withdrawn"),
    ] {
        awaiting()
            .tell(1.0, ended.clone(), &[])
            .tell(2.0, event, &[order])
            .tell(3.0, Event::Empty, &["resign"])
            .tell(3.1, Event::Replied(Ok(Reply::Resigned)), &[&format!("finish: {end}")]);
    }
    awaiting().tell(1.0, ended, &[]).tell(2.0, Event::GuardianDied, &["sweep"]).tell(
        3.0,
        Event::Empty,
        &["resign"],
    );
}

#[test]
fn an_awaited_run_that_is_handed_over_has_not_ended_by_itself() {
    let awaiting = || {
        let rules = Rules { leftover_grace: None, once: false, ..once() };
        Transcript::running(Lease::Unlimited, rules)
    };
    for (event, end) in [
        (Event::Signal(TERM), "Exited(0)"),
        (Event::StepDown("deploy".into()), "stepped down"),
        (Event::Withdraw("moved".into()), "withdrawn"),
    ] {
        awaiting()
            .tell(1.0, Event::Ended(Ended::Exited(0)), &[])
            .tell(2.0, event, &["signal 15"])
            .tell(3.0, Event::Empty, &["resign"])
            .tell(3.1, Event::Replied(Ok(Reply::Resigned)), &[&format!("finish: {end}")]);
    }
}

#[test]
fn a_key_that_is_done_already_is_not_joined_for() {
    let mut transcript = Transcript::new(LOCAL, once());
    transcript
        .tell(0.0, Event::Tick, &["open"])
        .tell(0.0, Event::Replied(Ok(Reply::Opened)), &["recall"])
        .tell(0.0, recalled(true), &["resign"])
        .tell(0.0, Event::Replied(Ok(Reply::Resigned)), &["finish: already done"]);
}

#[test]
fn a_newcomer_that_gets_no_answer_does_not_join() {
    let mut transcript = Transcript::new(LOCAL, once());
    transcript
        .tell(0.0, Event::Tick, &["open"])
        .tell(0.0, Event::Replied(Ok(Reply::Opened)), &["recall"])
        .tell(0.1, Event::Replied(Err(unreachable())), &[])
        .pass(1.0, &["recall"])
        .pass(6.5, &["abandon", "recall"]);
}

#[test]
fn a_waiter_leaves_when_it_hears_that_it_is_done() {
    asked(LOCAL)
        .tell(0.0, waiting(1), &[])
        .tell(1.0, Event::Noted, &["recall"])
        .tell(1.1, recalled(false), &["refresh"])
        .tell(1.1, waiting(1), &[])
        .tell(2.0, Event::Noted, &["recall"])
        .tell(2.1, recalled(true), &["resign"])
        .tell(2.2, Event::Replied(Ok(Reply::Resigned)), &["finish: already done"]);
}

#[test]
fn a_waiter_that_hears_it_in_the_middle_of_a_refresh_asks_next() {
    asked(LOCAL).tell(0.0, Event::Noted, &[]).tell(0.1, waiting(1), &["recall"]).tell(
        0.2,
        recalled(true),
        &["resign"],
    );
}

#[test]
fn a_waiter_without_an_answer_keeps_its_place_and_asks_again() {
    asked(ETCD)
        .tell(0.0, waiting(1), &[])
        .tell(1.0, Event::Noted, &["recall"])
        .tell(1.1, Event::Replied(Err(unreachable())), &[])
        .pass(2.0, &["refresh"])
        .tell(2.0, waiting(1), &["recall"]);
}

#[test]
fn a_winner_asks_again_before_it_starts() {
    asked(LOCAL)
        .tell(0.0, waiting(1), &[])
        .tell(1.0, Event::Woken, &["refresh"])
        .tell(1.0, leading(LOCAL, 1.0), &["recall"])
        .tell(1.1, Event::Replied(Err(unreachable())), &[])
        .pass(2.0, &["refresh"])
        .tell(2.0, leading(LOCAL, 2.0), &["recall"])
        .tell(2.1, recalled(true), &["resign"])
        .tell(2.2, Event::Replied(Ok(Reply::Resigned)), &["finish: already done"]);
}

#[test]
fn nothing_but_a_success_is_recorded() {
    for ended in [Ended::Exited(1), Ended::Signaled(9)] {
        let mut transcript = asked(LOCAL);
        transcript
            .tell(0.0, leading(LOCAL, 0.0), &["recall"])
            .tell(0.0, recalled(false), &["refresh"])
            .tell(0.0, leading(LOCAL, 0.0), &["start 7"])
            .tell(1.0, Event::Ended(ended), &[])
            .tell(1.0, Event::Empty, &["resign"]);
    }
}

#[test]
fn a_record_is_tried_until_the_lease_ends() {
    let mut transcript = succeeded(ETCD);
    transcript
        .tell(1.5, Event::Replied(Err(unreachable())), &[])
        .pass(2.0, &["record"])
        .tell(2.1, Event::Signal(TERM), &[])
        .tell(2.2, recorded(Written::Yes(1)), &["resign"]);
    let mut transcript = succeeded(ETCD);
    let end = 15.0 / 1.1;
    while transcript.machine.next_tick().is_some_and(|tick| tick < at(end - 0.1)) {
        let tick = transcript.machine.next_tick().expect("a tick");
        let _ = transcript.machine.step(tick, Event::Tick);
    }
    transcript.pass(end + 0.1, &["abandon", "resign"]).tell(
        end + 0.2,
        Event::Replied(Ok(Reply::Resigned)),
        &["finish: lost, for good"],
    );
}

#[test]
fn a_failed_record_gives_the_stores_reason() {
    let in_vain = |error: Option<Error>| {
        let mut transcript = succeeded(ETCD);
        let mut said = vec![Command::Ask(Call::Record)];
        while let Some(tick) = transcript.machine.next_tick().filter(|&tick| tick <= at(14.0)) {
            let event = match (&error, said.last()) {
                (Some(error), Some(Command::Ask(Call::Record))) => {
                    said.clear();
                    Event::Replied(Err(error.clone()))
                }
                _ => Event::Tick,
            };
            said.extend(transcript.machine.step(tick, event));
        }
        said.into_iter().find_map(|command| match command {
            Command::Tell(News::Unrecorded(why)) => Some(why),
            _ => None,
        })
    };
    let why = in_vain(Some(Error::new(ErrorKind::Unreachable, "full")));
    assert!(why.as_ref().is_some_and(|why| why.ends_with(": full")), "{why:?}");
    let why = in_vain(None);
    assert!(
        why.as_ref().is_some_and(|why| why.contains(": the store did not answer in time")),
        "{why:?}"
    );
}

/// A store that takes no mark would take no record either, and the next candidate would do the work again.
#[test]
fn a_run_that_could_not_be_recorded_is_not_started() {
    let begin = |lease| {
        let mut transcript = Transcript::new(lease, Rules { keeps_history: true, ..once() });
        transcript
            .tell(0.0, Event::Tick, &["open"])
            .tell(0.0, Event::Replied(Ok(Reply::Opened)), &["recall"])
            .tell(0.0, recalled(false), &["refresh"])
            .tell(0.0, leading(lease, 0.0), &["recall"]);
        transcript
    };
    let marked = || {
        let mut transcript = begin(ETCD);
        transcript.tell(0.0, recalled(false), &["read history"]).tell(
            0.0,
            Event::Replied(Ok(Reply::EndedWell(false))),
            &["begin history 7"],
        );
        transcript
    };
    marked().tell(0.1, Event::Replied(Ok(Reply::Written(Written::Yes(1)))), &["refresh"]).tell(
        0.2,
        leading(ETCD, 0.1),
        &["start 7"],
    );
    let (mut transcript, mut now) = (marked(), at(0.0));
    let (mut event, mut said) = (Event::Replied(Err(unreachable())), Vec::new());
    while now < at(20.0) && said != ["resign: nothing was started: no"] {
        said = transcript.machine.step(now, event).iter().filter_map(word).collect();
        event = match said.first().map(String::as_str) {
            Some("refresh") => leading(ETCD, now.since(at(0.0)).as_secs_f64()),
            Some("begin history 7") => Event::Replied(Err(unreachable())),
            _ => {
                now = transcript.machine.next_tick().expect("a tick");
                Event::Tick
            }
        };
    }
    assert!((at(9.0)..=at(13.0)).contains(&now), "{now:?}: {said:?}");
    // A local disk keeps room for it, and a command that frees space must not wait for space.
    begin(LOCAL).tell(0.0, recalled(false), &["refresh"]).tell(
        0.1,
        leading(LOCAL, 0.0),
        &["start 7"],
    );
}

#[test]
fn a_success_that_another_may_repeat_is_none() {
    succeeded(ETCD).tell(1.5, recorded(Written::Gone("removed".into())), &["resign"]).tell(
        1.6,
        Event::Replied(Ok(Reply::Resigned)),
        &["finish: lost, for good"],
    );
    succeeded(ETCD)
        .tell(1.5, Event::Replied(Err(Error::new(ErrorKind::Unfit, "garbled"))), &["resign"])
        .tell(1.6, Event::Replied(Ok(Reply::Resigned)), &["finish: failed"]);
    // With new credentials it may be recorded before the lease ends.
    succeeded(ETCD)
        .tell(1.5, Event::Replied(Err(Error::new(ErrorKind::Denied, "a wrong password"))), &[])
        .pass(1.6, &["record"]);
}

/// The command had ended well, but other processes of its tree still ran when the lease was lost.
#[test]
fn a_success_before_a_loss_is_none_either() {
    let mut transcript = asked(ETCD);
    transcript
        .tell(0.0, leading(ETCD, 0.0), &["recall"])
        .tell(0.0, recalled(false), &["refresh"])
        .tell(0.0, leading(ETCD, 0.0), &["start 7"])
        .tell(1.0, Event::Ended(Ended::Exited(0)), &[])
        .pass(2.6, &["refresh"])
        .tell(2.6, gone(), &["kill"])
        .tell(2.7, Event::Empty, &["record"])
        .tell(2.8, recorded(Written::Gone("removed".into())), &["resign"])
        .tell(2.9, Event::Replied(Ok(Reply::Resigned)), &["finish: lost, for good"]);
}

#[test]
fn a_lease_is_held_after_the_record() {
    running(Rules { hold: Some(after(4.9)), ..once() })
        .tell(1.0, Event::Ended(Ended::Exited(0)), &[])
        .tell(1.0, Event::Empty, &["record"])
        .tell(1.1, recorded(Written::Yes(1)), &["refresh"])
        .tell(1.2, leading(LOCAL, 1.1), &[])
        .pass(5.1, &["resign"]);
}

/// Returns a winner without an answer before its entry was gone, which gives its seat up.
fn lost_while_asking() -> Transcript {
    let mut transcript = asked(ETCD);
    transcript
        .tell(0.0, leading(ETCD, 0.0), &["recall"])
        .tell(1.0, Event::Replied(Err(unreachable())), &[])
        .pass(2.0, &["refresh"])
        .tell(16.0, gone(), &[])
        .pass(17.0, &["resign"]);
    transcript
}

#[test]
fn a_winner_that_loses_it_while_it_asks_enters_anew() {
    lost_while_asking()
        .tell(17.0, Event::Replied(Err(unreachable())), &[])
        .pass(18.0, &["resign"])
        .tell(18.0, Event::Replied(Ok(Reply::Resigned)), &["recall"])
        .tell(18.1, recalled(false), &["refresh"])
        .tell(18.2, waiting(1), &[]);
}

#[test]
fn a_winner_that_has_lost_it_and_is_told_to_end_leaves() {
    lost_while_asking().tell(17.1, Event::Signal(TERM), &["abandon", "resign"]).tell(
        17.2,
        Event::Replied(Ok(Reply::Resigned)),
        &["finish: interrupted 15"],
    );
}

/// Returns a candidate that has won and found its key not done, where runs are counted.
fn about_to_count(lease: Lease) -> Transcript {
    let rules = Rules { counting: Counting::BeforeStart, ..once() };
    let mut transcript = Transcript::new(lease, rules);
    transcript
        .tell(0.0, Event::Tick, &["open"])
        .tell(0.0, Event::Replied(Ok(Reply::Opened)), &["recall"])
        .tell(0.0, recalled(false), &["refresh"])
        .tell(0.0, leading(lease, 0.0), &["recall"])
        .tell(0.0, recalled(false), &["attempt"]);
    transcript
}

fn attempted(attempted: Attempted) -> Event {
    Event::Replied(Ok(Reply::Attempted(attempted)))
}

#[test]
fn a_run_is_counted_before_it_starts_and_leadership_proven_again() {
    about_to_count(ETCD).tell(0.1, attempted(Attempted::Counted), &["refresh"]).tell(
        0.2,
        leading(ETCD, 0.1),
        &["start 7"],
    );
}

#[test]
fn a_candidate_without_attempts_left_leaves() {
    about_to_count(LOCAL)
        .tell(0.1, attempted(Attempted::UsedUp("k was tried".into())), &["resign"])
        .tell(0.2, Event::Replied(Ok(Reply::Resigned)), &["finish: used up"]);
}

/// The run may be counted or not. The same count is written again, with the same token.
#[test]
fn a_count_without_an_answer_is_made_again_after_a_proof() {
    about_to_count(ETCD)
        .tell(0.1, Event::Replied(Err(unreachable())), &[])
        .pass(1.1, &["refresh"])
        .tell(1.2, leading(ETCD, 1.1), &["attempt"])
        .tell(1.3, attempted(Attempted::Counted), &["refresh"])
        .tell(1.4, leading(ETCD, 1.3), &["start 7"]);
}

#[test]
fn a_count_that_is_not_taken_starts_nothing() {
    about_to_count(ETCD)
        .tell(0.1, attempted(Attempted::Uncounted), &[])
        .pass(1.1, &["refresh"])
        .tell(1.2, leading(ETCD, 1.1), &["attempt"]);
}

#[test]
fn a_count_that_cannot_be_written_or_read_starts_nothing() {
    about_to_count(ETCD)
        .tell(0.1, Event::Replied(Err(Error::new(ErrorKind::Unfit, "garbled"))), &["resign"])
        .tell(0.2, Event::Replied(Ok(Reply::Resigned)), &["finish: store failed"]);
    // Lost rights may come back, but the others do not wait for that without end.
    let refused = || Event::Replied(Err(Error::new(ErrorKind::Denied, "no right")));
    let mut transcript = about_to_count(ETCD);
    let (mut now, mut event, mut said) = (at(0.1), refused(), Vec::new());
    while now < at(20.0) && !said.contains(&"resign".to_owned()) {
        let words = transcript.machine.step(now, event);
        said = words.iter().filter_map(word).collect();
        event = match said.first().map(String::as_str) {
            Some("refresh") => leading(ETCD, now.since(at(0.0)).as_secs_f64()),
            Some("attempt") => refused(),
            _ => {
                now = transcript.machine.next_tick().expect("a tick");
                Event::Tick
            }
        };
    }
    assert_eq!(said, ["resign"]);
    assert!((at(9.0)..=at(13.0)).contains(&now), "{now:?}");
}

use elect_api::{Error, ErrorKind, Lease, Written};

use super::{ETCD, TERM, Transcript, after, at, gone, leading, rules, unreachable, waiting};
use crate::election::control::Control;
use crate::election::machine::{Block, Command, Event, News, Restarts, Rules, Wait};
use crate::election::{Call, Reply};
use crate::guard::Ended;

const LOCAL: Lease = Lease::Unlimited;
const WRITTEN: fn() -> Event = || Event::Replied(Ok(Reply::Written(Written::Yes(1))));

fn delaying() -> Rules {
    Rules { keeps_history: true, lock_delay: Some(after(20.0)), ..rules() }
}

fn found(has_ended_well: bool) -> Event {
    Event::Replied(Ok(Reply::EndedWell(has_ended_well)))
}

/// Returns a winner since 0.0 that waits until 20.0.
fn held_back(lease: Lease, rules: Rules) -> Transcript {
    let mut transcript = Transcript::joined(lease, rules);
    transcript.tell(0.0, leading(lease, 0.0), &["read history"]).tell(0.5, found(false), &[]);
    transcript
}

/// Returns a leader whose command runs since 0.3.
fn started(lease: Lease) -> Transcript {
    started_with(lease, delaying())
}

fn started_with(lease: Lease, rules: Rules) -> Transcript {
    let mut transcript = Transcript::joined(lease, rules);
    transcript
        .tell(0.0, leading(lease, 0.0), &["read history"])
        .tell(0.1, found(true), &["begin history 7"])
        .tell(0.2, WRITTEN(), &["refresh"])
        .tell(0.3, leading(lease, 0.2), &["start 7"])
        .tell(0.3, Event::Started, &[]);
    transcript
}

#[test]
fn a_successor_of_a_clean_end_announces_itself_and_starts() {
    started(LOCAL)
        .tell(1.0, Event::Ended(Ended::Exited(7)), &[])
        .tell(1.0, Event::Empty, &["resign: the command exited with code 7"])
        .tell(1.1, Event::Replied(Ok(Reply::Resigned)), &["finish: Exited(7)"]);
}

#[test]
fn after_any_other_end_nothing_is_started_for_the_time_since_the_win_and_the_lease_is_renewed() {
    let mut transcript = held_back(ETCD, delaying());
    for n in 1..=7 {
        let due = 2.5 * f64::from(n);
        transcript.pass(due, &["refresh"]).tell(due + 0.1, leading(ETCD, due), &[]);
    }
    transcript
        .pass(19.99, &[])
        .pass(20.0, &["begin history 7"])
        .tell(20.1, WRITTEN(), &["refresh"])
        .tell(20.2, leading(ETCD, 20.1), &["start 7"]);
}

#[test]
fn it_is_told_how_long_that_takes() {
    let mut transcript = Transcript::joined(LOCAL, delaying());
    transcript.tell(0.0, leading(LOCAL, 0.0), &["read history"]);
    let told = transcript.machine.step(at(0.5), found(false));
    assert!(
        told.iter().any(|command| matches!(
            command,
            Command::Tell(News::Blocked(Block::Delay { left, .. })) if *left == after(19.5)
        )),
        "{told:?}"
    );
}

#[test]
fn an_answer_that_comes_late_delays_no_further() {
    let mut transcript = Transcript::joined(ETCD, delaying());
    transcript.tell(0.0, leading(ETCD, 0.0), &["read history"]);
    for n in 0..6 {
        let now = 1.0 + 3.5 * f64::from(n);
        transcript.tell(now, Event::Replied(Err(unreachable())), &[]);
        transcript.pass(now + 2.5, &["refresh"]);
        transcript.tell(now + 3.0, leading(ETCD, now + 2.5), &["read history"]);
    }
    transcript.tell(22.0, found(false), &["refresh"]).tell(
        22.1,
        leading(ETCD, 22.0),
        &["begin history 7"],
    );
}

/// The store answers refreshes, but has no room for the mark, for example.
#[test]
fn a_mark_that_is_not_taken_is_tried_less_and_less_often_and_not_for_ever() {
    for wait in [Wait::Forever, Wait::No, Wait::For(after(60.0))] {
        let mut transcript = Transcript::joined(LOCAL, Rules { wait, ..delaying() });
        transcript.tell(0.0, leading(LOCAL, 0.0), &["read history"]).tell(
            0.0,
            found(true),
            &["begin history 7"],
        );
        let mut pauses = Vec::new();
        let mut now = at(0.0);
        loop {
            let said = transcript.machine.step(now, Event::Replied(Err(unreachable())));
            if said.iter().any(|command| matches!(command, Command::Ask(Call::Resign(_)))) {
                break;
            }
            let tick = transcript.machine.next_tick().expect("another try");
            pauses.push(tick.since(now));
            now = tick;
            transcript.machine.step(now, Event::Tick);
            transcript.machine.step(now, leading(LOCAL, 0.0));
        }
        assert!(pauses[0] <= after(0.05), "{pauses:?}");
        assert!(pauses[6..].iter().all(|&pause| pause >= after(1.0)), "{pauses:?}");
        let tried = now.since(at(0.0)).as_secs_f64();
        assert!((5.0..=10.0).contains(&tried), "{tried}");
        transcript.tell(tried, Event::Replied(Ok(Reply::Resigned)), &["finish: store failed"]);
    }
}

/// A candidate with a place rides an outage out.
#[test]
fn a_mark_for_which_there_was_no_answer_is_tried_for_as_long_as_the_place_is_not_confirmed() {
    let mut transcript = Transcript::joined(ETCD, delaying());
    transcript.tell(0.0, leading(ETCD, 0.0), &["read history"]).tell(
        0.0,
        found(true),
        &["begin history 7"],
    );
    let (mut now, mut refreshes) = (at(0.0), 0_u32);
    let mut event = Event::Replied(Err(unreachable()));
    while now < at(300.0) {
        let mut answer = None;
        for command in transcript.machine.step(now, event) {
            answer = match command {
                Command::Ask(Call::BeginHistory(_)) => Some(Event::Replied(Err(unreachable()))),
                Command::Ask(Call::Refresh) => {
                    refreshes += 1;
                    let is_out = !refreshes.is_multiple_of(2);
                    Some(if is_out {
                        Event::Replied(Err(unreachable()))
                    } else {
                        leading(ETCD, now.since(at(0.0)).as_secs_f64())
                    })
                }
                Command::Ask(Call::Resign(_)) => panic!("it has given up"),
                _ => None,
            };
        }
        event = answer.unwrap_or_else(|| {
            now = transcript.machine.next_tick().expect("a tick");
            Event::Tick
        });
    }
    assert!(refreshes > 20, "{refreshes}");
}

#[test]
fn an_unreadable_history_counts_as_an_unclean_end() {
    let unfit = Error::new(ErrorKind::Unfit, "garbled");
    Transcript::joined(LOCAL, delaying())
        .tell(0.0, leading(LOCAL, 0.0), &["read history"])
        .tell(0.1, Event::Replied(Err(unfit)), &["refresh"])
        .tell(0.2, leading(LOCAL, 0.2), &[])
        .pass(5.1, &["refresh"]);
}

#[test]
fn a_leader_that_cannot_announce_itself_starts_nothing() {
    let beginning = || {
        let mut transcript = Transcript::joined(ETCD, delaying());
        transcript.tell(0.0, leading(ETCD, 0.0), &["read history"]).tell(
            0.1,
            found(true),
            &["begin history 7"],
        );
        transcript
    };
    beginning()
        .tell(0.2, Event::Replied(Err(unreachable())), &[])
        .pass(0.5, &["refresh"])
        .tell(0.6, leading(ETCD, 0.5), &["begin history 7"])
        .tell(0.7, WRITTEN(), &["refresh"]);
    beginning().pass(2.7, &["abandon", "refresh"]).tell(
        2.7,
        leading(ETCD, 2.6),
        &["begin history 7"],
    );
    beginning()
        .tell(0.2, Event::Replied(Ok(Reply::Written(Written::Gone("removed".into())))), &[])
        .pass(0.5, &["refresh"])
        .tell(0.6, gone(), &[])
        .pass(1.0, &["resign"])
        .tell(1.0, Event::Replied(Ok(Reply::Resigned)), &["refresh"])
        .tell(1.1, leading(ETCD, 1.0), &["read history"]);
    // A store that admitted the candidate a moment ago and refuses it now may admit it later.
    beginning()
        .tell(0.2, Event::Replied(Err(Error::new(ErrorKind::Denied, "no"))), &[])
        .pass(1.5, &["refresh"]);
    beginning()
        .tell(0.2, Event::Replied(Err(Error::new(ErrorKind::Unfit, "no"))), &[
            "resign: nothing was started: the store does not take the mark that has to be there before a \
             command may start",
        ])
        .tell(0.3, Event::Replied(Ok(Reply::Resigned)), &["finish: store failed"]);
}

#[test]
fn a_leader_that_leaves_during_the_delay_writes_no_history() {
    held_back(ETCD, delaying()).tell(1.0, Event::Signal(TERM), &["resign"]).tell(
        1.1,
        Event::Replied(Ok(Reply::Resigned)),
        &["finish: interrupted 15"],
    );
    held_back(LOCAL, delaying()).tell(1.0, Event::Withdraw("ill".into()), &["resign"]).tell(
        1.1,
        Event::Replied(Ok(Reply::Resigned)),
        &["finish: withdrawn"],
    );
}

#[test]
fn a_leader_that_leaves_after_the_delay_says_that_nothing_started() {
    let mut transcript = Transcript::joined(LOCAL, delaying());
    transcript
        .tell(0.0, leading(LOCAL, 0.0), &["read history"])
        .tell(0.1, found(true), &["begin history 7"])
        .tell(0.2, Event::Signal(TERM), &[])
        .tell(0.3, WRITTEN(), &["resign: told to end by SIGTERM"])
        .tell(0.4, Event::Replied(Ok(Reply::Resigned)), &["finish: interrupted 15"]);
}

#[test]
fn a_leader_that_loses_during_the_delay_waits_for_it_anew() {
    held_back(ETCD, delaying())
        .pass(3.0, &["refresh"])
        .tell(3.0, gone(), &[])
        .pass(3.3, &["resign"])
        .tell(3.3, Event::Replied(Ok(Reply::Resigned)), &["refresh"])
        .tell(3.4, waiting(1), &[])
        .tell(6.0, Event::Woken, &["refresh"])
        .tell(6.0, leading(ETCD, 6.0), &["read history"])
        .tell(6.1, found(false), &[])
        .pass(8.7, &["refresh"]);
}

#[test]
fn a_lock_delay_does_not_count_as_waiting_for_leadership() {
    for wait in [Wait::No, Wait::For(after(2.0))] {
        held_back(LOCAL, Rules { wait, ..delaying() })
            .pass(6.0, &["refresh"])
            .tell(6.0, leading(LOCAL, 6.0), &[])
            .pass(11.0, &["refresh"])
            .tell(11.0, leading(LOCAL, 11.0), &[]);
    }
}

#[test]
fn a_pause_takes_effect_and_the_delay_so_far_counts() {
    held_back(LOCAL, delaying())
        .tell(1.0, Event::Woken, &["refresh"])
        .tell(1.0, super::gates::paused(), &[])
        .tell(1.0, leading(LOCAL, 1.0), &[])
        .pass(6.0, &["refresh"])
        .tell(19.0, leading(LOCAL, 6.0), &["refresh"])
        .tell(19.0, Event::ControlRead(Control::default()), &[])
        .tell(19.1, leading(LOCAL, 19.0), &[])
        .pass(20.0, &["begin history 7"]);
}

#[test]
fn a_command_that_was_cut_short_is_no_clean_end() {
    started(LOCAL).tell(1.0, Event::Ended(Ended::Signaled(9)), &[]).tell(
        1.0,
        Event::Empty,
        &["resign abruptly: SIGKILL ended the command"],
    );
    started(LOCAL).tell(1.0, Event::Ended(Ended::Signaled(15)), &[]).tell(
        1.0,
        Event::Empty,
        &["resign abruptly: SIGTERM ended the command"],
    );
    started(LOCAL)
        .tell(1.0, Event::Signal(TERM), &["signal 15"])
        .tell(1.0, Event::Ended(Ended::Signaled(15)), &[])
        .tell(1.0, Event::Empty, &["resign: told to end by SIGTERM"]);
    // The command went on after the signal, and crashed.
    started(LOCAL)
        .tell(1.0, Event::Signal(TERM), &["signal 15"])
        .tell(2.0, Event::Ended(Ended::Signaled(6)), &[])
        .tell(
            2.0,
            Event::Empty,
            &["resign abruptly: told to end by SIGTERM: SIGABRT ended the command"],
        );
    started(LOCAL).tell(1.0, Event::GuardianDied, &["sweep"]).tell(
        1.0,
        Event::Empty,
        &["resign abruptly: the guardian process was killed, or failed; the command was killed with it"],
    );
    started(LOCAL).tell(1.0, Event::NotStarted(libc::ENOENT), &[]).tell(
        1.0,
        Event::Empty,
        &["resign: the command could not be executed"],
    );
}

/// The command has exited, and the processes that it left are awaited.
#[test]
fn killed_leftovers_are_no_clean_end() {
    for (empty, resigns) in [(2.9, "resign: "), (3.0, "resign abruptly: ")] {
        let rules = Rules { stop_timeout: Some(after(2.0)), ..delaying() };
        let expected = format!("{resigns}told to end by SIGTERM");
        started_with(LOCAL, rules)
            .tell(0.5, Event::Ended(Ended::Exited(0)), &[])
            .tell(1.0, Event::Signal(TERM), &["signal 15, kill at 3.0"])
            .tell(empty, Event::Empty, &[&expected]);
    }
}

#[test]
fn a_lost_lease_is_no_clean_end() {
    let mut transcript = started(ETCD);
    transcript.pass(2.7, &["refresh"]);
    transcript.pass(8.9, &["abandon", "refresh", "abandon", "refresh", "stop, kill at 12.8"]);
    transcript.tell(9.0, Event::Ended(Ended::Exited(0)), &[]).tell(
        9.0,
        Event::Empty,
        &[
            "abandon",
            "resign abruptly: leadership was lost: the lease could not be renewed in time",
        ],
    );
}

/// Nothing runs when the lease is lost.
#[test]
fn a_lease_lost_between_two_starts_is_no_clean_end() {
    let restarts =
        Restarts { after_success: false, delay: after(60.0), longest_delay: after(60.0) };
    let mut transcript = started_with(ETCD, Rules { restarts: Some(restarts), ..delaying() });
    transcript.tell(1.0, Event::Ended(Ended::Exited(1)), &[]).tell(1.0, Event::Empty, &[]);
    let commands = transcript.machine.step(at(2.0), Event::SoftPassed);
    let is_abrupt = |command: &Command| matches!(command, Command::Ask(Call::Resign(Some(words))) if words.is_abrupt);
    assert!(commands.iter().any(is_abrupt), "{commands:?}");
}

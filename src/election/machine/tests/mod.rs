//! Tests every row of "What happens when" as a transcript: the events that the machine gets, their seconds, and its
//! commands.

mod clock;
mod delay;
mod doubt;
mod gates;
mod history;
mod once;
mod patience;
mod ranking;
mod restarting;
mod transcript;
mod wishes;

use std::time::Duration;

use elect_api::{Cadence, Error, ErrorKind, Lease, Token, Validity};

use self::transcript::{
    ETCD, TERM, Transcript, after, at, gone, leading, rules, unreachable, waiting, word,
};
use super::{Command, Event, LetIn, Machine, News, Restarts, Rules, StoppedBy, Verdict, Wait};
use crate::election::timing::{Timing, TimingOptions};
use crate::election::{Answer, Call, Reply};
use crate::guard::Ended;

#[test]
fn a_command_runs_and_its_end_is_the_verdict() {
    Transcript::running(Lease::Unlimited, rules())
        .tell(1.0, Event::Ended(Ended::Exited(7)), &[])
        .tell(1.1, Event::Empty, &["resign"])
        .tell(1.2, Event::Replied(Ok(Reply::Resigned)), &["finish: Exited(7)"]);
}

#[test]
fn nothing_is_resigned_before_the_tree_is_empty() {
    Transcript::running(Lease::Unlimited, rules())
        .tell(1.0, Event::Ended(Ended::Exited(0)), &[])
        .pass(5.0, &["refresh"])
        .tell(5.0, leading(Lease::Unlimited, 5.0), &[])
        .tell(9.0, Event::Empty, &["resign"]);
}

#[test]
fn a_command_that_cannot_run_gives_the_lease_up() {
    Transcript::joined(Lease::Unlimited, rules())
        .tell(0.0, leading(Lease::Unlimited, 0.0), &["start 7"])
        .tell(0.1, Event::NotStarted(libc::ENOENT), &[])
        .tell(0.1, Event::Empty, &["resign"])
        .tell(0.2, Event::Replied(Ok(Reply::Resigned)), &["finish: not started 2"]);
}

#[test]
fn a_guardian_that_is_too_late_to_start_anything_is_a_loss() {
    Transcript::joined(ETCD, rules())
        .tell(0.0, leading(ETCD, 0.0), &["start 7"])
        .tell(1.0, Event::NotStarted(libc::ETIME), &[])
        .tell(1.0, Event::Empty, &["resign"])
        .tell(1.1, Event::Replied(Ok(Reply::Resigned)), &["finish: lost"]);
}

#[test]
fn a_waiter_asks_again_when_woken_and_from_time_to_time() {
    Transcript::waiting(Lease::Unlimited, rules())
        .tell(1.0, Event::Woken, &["refresh"])
        .tell(1.0, Event::Woken, &[])
        .tell(1.1, waiting(1), &["refresh"])
        .tell(1.2, waiting(1), &[])
        .pass(6.5, &["refresh"])
        .tell(6.5, leading(Lease::Unlimited, 6.5), &["start 7"]);
}

#[test]
fn store_unreachable_while_waiting_keeps_the_place_until_the_wait_ends() {
    let mut transcript =
        Transcript::waiting(ETCD, Rules { wait: Wait::For(after(9.0)), ..rules() });
    transcript.tell(1.0, Event::Woken, &["refresh"]).tell(
        2.0,
        Event::Replied(Err(unreachable())),
        &[],
    );
    transcript.pass(2.1, &["refresh"]).pass(8.9, &["abandon", "refresh", "abandon", "refresh"]);
    transcript.pass(9.0, &["abandon", "resign"]).tell(
        9.1,
        Event::Replied(Ok(Reply::Resigned)),
        &["finish: not acquired"],
    );
}

#[test]
fn store_unreachable_while_leading_is_ridden_out() {
    Transcript::running(ETCD, rules())
        .pass(2.5, &["refresh"])
        .tell(3.0, Event::Replied(Err(unreachable())), &[])
        .pass(3.1, &["refresh"])
        .pass(5.7, &["abandon", "refresh"])
        .tell(5.8, leading(ETCD, 5.6), &[])
        .pass(8.7, &["refresh"])
        .tell(9.0, leading(ETCD, 8.2), &[]);
}

#[test]
fn a_store_that_never_answers_is_given_up() {
    let mut transcript = Transcript::new(Lease::Unlimited, rules());
    transcript.tell(0.0, Event::Tick, &["open"]);
    transcript.tell(0.0, Event::Replied(Err(unreachable())), &[]);
    let (mut second, mut finished) = (0.0, false);
    while !finished {
        second = transcript.machine.next_tick().expect("a tick").since(at(0.0)).as_secs_f64();
        for command in transcript.machine.step(at(second), Event::Tick) {
            match command {
                Command::Ask(Call::Open(_)) => {
                    let commands =
                        transcript.machine.step(at(second), Event::Replied(Err(unreachable())));
                    finished |= commands
                        .iter()
                        .any(|c| matches!(c, Command::Finish(Verdict::StoreFailed { .. })));
                }
                Command::Finish(verdict) => panic!("the error itself was not told: {verdict:?}"),
                _ => {}
            }
        }
    }
    assert!((5.0..=10.0).contains(&second), "{second}");
}

#[test]
fn an_answer_that_never_comes_is_unknown_and_asked_for_again() {
    Transcript::joined(Lease::Unlimited, rules())
        .pass(5.1, &["abandon", "refresh"])
        .tell(5.2, waiting(0), &[])
        .tell(5.3, Event::Signal(TERM), &["resign"]);
}

#[test]
fn a_permanent_error_at_the_start_ends_the_candidacy() {
    let denied = || Error::new(ErrorKind::Denied, "no right");
    let mut transcript = Transcript::new(Lease::Unlimited, rules());
    transcript.tell(0.0, Event::Tick, &["open"]);
    transcript.tell(0.0, Event::Replied(Err(denied())), &["finish: store failed"]);
    Transcript::joined(Lease::Unlimited, rules())
        .tell(0.1, Event::Replied(Err(denied())), &["resign"])
        .tell(0.1, Event::Replied(Err(denied())), &["finish: store failed"]);
}

/// Happens while all credentials are replaced. The leader, the waiters and candidates that join again go on.
#[test]
fn a_candidate_with_a_place_rides_out_a_refusal() {
    let refused = || Event::Replied(Err(Error::new(ErrorKind::Denied, "a wrong password")));
    let mut again =
        Transcript::new(ETCD, Rules { insists: true, let_in: LetIn::Before, ..rules() });
    again.tell(0.0, Event::Tick, &["open"]);
    let mut waiting = Transcript::waiting(ETCD, rules());
    waiting.tell(0.1, Event::Woken, &["refresh"]);
    for transcript in [&mut again, &mut waiting] {
        let (mut now, mut event, mut asked) = (at(0.2), refused(), 0);
        while now < at(10_000.0) {
            let said = transcript.machine.step(now, event);
            let said: Vec<String> = said.iter().filter_map(word).collect();
            event = match said.first().map(String::as_str) {
                None => {
                    now = transcript.machine.next_tick().expect("a tick");
                    Event::Tick
                }
                Some("open" | "refresh") => refused(),
                Some(other) => panic!("{other} at {now:?}"),
            };
            asked += usize::from(!said.is_empty());
        }
        assert!(asked > 1000, "{asked}");
    }
}

/// Time does not help here.
#[test]
fn a_store_that_cannot_serve_us_is_left_from_any_place() {
    let other = || Event::Replied(Err(Error::new(ErrorKind::Unfit, "another store than before")));
    Transcript::waiting(ETCD, Rules { let_in: LetIn::Before, ..rules() })
        .tell(0.1, Event::Woken, &["refresh"])
        .tell(0.2, other(), &["resign"])
        .tell(0.3, Event::Replied(Ok(Reply::Resigned)), &["finish: store failed"]);
}

#[test]
fn a_refusal_that_outlasts_the_time_that_was_given_is_the_reason() {
    let refused = || Event::Replied(Err(Error::new(ErrorKind::Denied, "a wrong password")));
    Transcript::waiting(ETCD, Rules { wait: Wait::For(after(2.0)), ..rules() })
        .tell(0.1, Event::Woken, &["refresh"])
        .tell(0.2, refused(), &[])
        .pass(0.5, &["refresh"])
        .tell(0.5, refused(), &[])
        .pass(1.9, &["refresh"])
        .tell(1.9, refused(), &[])
        .pass(2.0, &["refresh", "abandon", "resign"])
        .tell(2.1, Event::Replied(Ok(Reply::Resigned)), &["finish: store failed"]);
}

#[test]
fn definite_loss_while_waiting_joins_again() {
    Transcript::waiting(Lease::Unlimited, rules())
        .tell(1.0, Event::Woken, &["refresh"])
        .tell(1.0, gone(), &[])
        .pass(1.1, &["resign"])
        .tell(1.1, Event::Replied(Ok(Reply::Resigned)), &["refresh"])
        .tell(1.2, leading(Lease::Unlimited, 1.1), &["start 7"]);
}

#[test]
fn definite_loss_while_leading_kills_at_once_and_renews_no_more() {
    let losses = [
        gone(),
        waiting(1),
        Event::Replied(Ok(Reply::Standing(Answer::Leading {
            token: Token::new(8),
            validity: Validity::Unlimited,
        }))),
    ];
    for loss in losses {
        Transcript::running(Lease::Unlimited, rules())
            .pass(5.0, &["refresh"])
            .tell(5.0, loss, &["kill"])
            .pass(60.0, &[])
            .tell(60.0, Event::Ended(Ended::Signaled(9)), &[])
            .tell(60.0, Event::Empty, &["resign"])
            .tell(60.0, Event::Replied(Ok(Reply::Resigned)), &["finish: lost"]);
    }
}

#[test]
fn eviction_leaves_the_command_its_grace() {
    Transcript::running(Lease::Unlimited, rules())
        .pass(5.0, &["refresh"])
        .tell(
            5.0,
            Event::Replied(Ok(Reply::Standing(Answer::Evicted("removed".into())))),
            &["stop, kill at 9.0"],
        )
        .tell(6.0, Event::Ended(Ended::Exited(0)), &[])
        .tell(6.0, Event::Empty, &["resign"])
        .tell(6.0, Event::Replied(Ok(Reply::Resigned)), &["finish: lost"]);
}

#[test]
fn soft_deadline_asks_hard_deadline_kills_and_renewing_goes_on() {
    let mut transcript = Transcript::running(ETCD, rules());
    transcript.pass(2.5, &["refresh"]);
    // The soft deadline is V - K - G = 13.636 - 1 - 4 after the anchor at 0. The hard deadline is 4 s later.
    transcript.pass(8.7, &["abandon", "refresh", "abandon", "refresh", "stop, kill at 12.6"]);
    transcript.tell(9.0, leading(ETCD, 7.8), &[]).pass(10.4, &["refresh"]);
    transcript.tell(10.5, Event::Ended(Ended::Signaled(15)), &[]).tell(
        10.5,
        Event::Empty,
        &["abandon", "resign"],
    );
    transcript.tell(10.6, Event::Replied(Ok(Reply::Resigned)), &["finish: lost"]);
}

#[test]
fn leftovers_of_the_command_are_stopped_with_a_lost_lease() {
    Transcript::running(Lease::Unlimited, rules())
        .tell(1.0, Event::Ended(Ended::Exited(3)), &[])
        .pass(5.0, &["refresh"])
        .tell(
            5.0,
            Event::Replied(Ok(Reply::Standing(Answer::Evicted("removed".into())))),
            &["stop, kill at 9.0"],
        )
        .tell(6.0, Event::Empty, &["resign"])
        .tell(6.0, Event::Replied(Ok(Reply::Resigned)), &["finish: Exited(3)"]);
    let mut transcript = Transcript::running(ETCD, rules());
    transcript.tell(1.0, Event::Ended(Ended::Exited(3)), &[]).pass(2.5, &["refresh"]);
    transcript.pass(8.7, &["abandon", "refresh", "abandon", "refresh", "stop, kill at 12.6"]);
}

#[test]
fn a_stopped_candidate_at_the_door_of_a_local_election_is_waited_for() {
    Transcript::joined(Lease::Unlimited, rules())
        .pass(10.2, &["abandon", "refresh", "abandon", "refresh"]);
    Transcript::joined(Lease::Unlimited, Rules { wait: Wait::No, ..rules() })
        .pass(10.0, &["abandon", "refresh", "abandon", "resign"])
        .tell(10.0, Event::Replied(Ok(Reply::Resigned)), &["finish: not acquired"]);
}

#[test]
fn a_late_answer_never_moves_the_anchor_back() {
    let mut transcript = Transcript::running(ETCD, rules());
    transcript.pass(2.5, &["refresh"]).tell(2.6, leading(ETCD, 2.5), &[]);
    transcript.pass(5.0, &["refresh"]).tell(5.1, leading(ETCD, 1.0), &[]);
    transcript.pass(11.1, &["refresh", "abandon", "refresh"]);
    transcript.pass(11.2, &["stop, kill at 15.1"]);
}

#[test]
fn a_win_that_is_proven_too_late_starts_nothing() {
    Transcript::joined(ETCD, rules())
        .tell(2.0, leading(ETCD, -8.0), &[])
        .pass(2.05, &["refresh"])
        .tell(2.1, leading(ETCD, 2.0), &["start 7"]);
}

#[test]
fn a_grant_too_small_for_the_grace_is_given_back() {
    let granted = Validity::Window { anchor: at(0.0), window: after(4.0) };
    let win = || {
        Event::Replied(Ok(Reply::Standing(Answer::Leading {
            token: Token::new(7),
            validity: granted,
        })))
    };
    let options = TimingOptions { kill_grace: Some(after(4.0)), ..TimingOptions::default() };
    let timing = Timing::new(&options, ETCD).expect("holds as asked");
    let mut transcript = Transcript { machine: Machine::new(rules(), timing, at(0.0), 7) };
    transcript.tell(0.0, Event::Tick, &["open"]).tell(
        0.0,
        Event::Replied(Ok(Reply::Opened)),
        &["refresh"],
    );
    transcript.tell(0.1, win(), &["resign"]).tell(
        0.2,
        Event::Replied(Ok(Reply::Resigned)),
        &["finish: failed"],
    );
    // With the default grace, which follows the grant, it would be enough.
    Transcript::joined(ETCD, rules()).tell(0.1, win(), &["start 7"]);
}

#[test]
fn the_first_renewal_comes_in_the_time_that_was_granted() {
    let options = TimingOptions { ttl: after(600.0), ..TimingOptions::default() };
    let timing = Timing::new(&options, ETCD).expect("holds as asked");
    let mut transcript = Transcript { machine: Machine::new(rules(), timing, at(0.0), 7) };
    transcript.tell(0.0, Event::Tick, &["open"]).tell(
        0.0,
        Event::Replied(Ok(Reply::Opened)),
        &["refresh"],
    );
    let validity = Validity::Window { anchor: at(0.0), window: after(12.0) };
    let win =
        Event::Replied(Ok(Reply::Standing(Answer::Leading { token: Token::new(7), validity })));
    transcript.tell(0.1, win, &["start 7"]).tell(0.2, Event::Started, &[]);
    transcript.pass(2.0, &["refresh"]);
}

#[test]
fn a_dead_guardian_is_swept_after_and_elect_says_that_it_failed() {
    Transcript::running(Lease::Unlimited, rules())
        .tell(1.0, Event::GuardianDied, &["sweep"])
        .tell(1.1, Event::Empty, &["resign"])
        .tell(1.2, Event::Replied(Ok(Reply::Resigned)), &["finish: failed"]);
    let mut late = Transcript::running(ETCD, rules());
    late.pass(2.5, &["refresh"]).tell(9.0, Event::GuardianDied, &["sweep", "abandon"]);
    late.tell(9.0, Event::Empty, &["resign"]);
    late.tell(9.1, Event::Replied(Ok(Reply::Resigned)), &["finish: lost"]);
    Transcript::waiting(Lease::Unlimited, rules())
        .tell(1.0, Event::GuardianDied, &["resign"])
        .tell(1.2, Event::Replied(Ok(Reply::Resigned)), &["finish: failed"]);
}

#[test]
fn resigning_is_tried_again_but_not_for_ever() {
    let mut transcript = Transcript::waiting(ETCD, rules());
    transcript.tell(1.0, Event::Signal(TERM), &["resign"]).tell(
        1.1,
        Event::Replied(Err(unreachable())),
        &[],
    );
    transcript
        .pass(1.2, &["resign"])
        .pass(6.0, &["abandon", "resign", "abandon", "finish: interrupted 15"]);
}

#[test]
fn a_candidate_that_would_wait_for_itself_is_told() {
    Transcript::waiting(Lease::Unlimited, rules())
        .tell(0.1, Event::WaitsForUs("nested".into()), &["resign"])
        .tell(0.1, Event::Replied(Ok(Reply::Resigned)), &["finish: failed"]);
}

const ZOOKEEPER: Lease = Lease::Timed(Cadence::SESSION);

/// The command would have to stop before the next proof can come.
#[test]
fn a_proof_from_before_a_silence_of_a_session_store_starts_nothing() {
    // The answer to the connect came late.
    let mut came = Transcript::joined(ZOOKEEPER, rules());
    came.tell(2.2, leading(ZOOKEEPER, 0.0), &[]);
    for second in [2.3, 3.0, 4.0, 5.0, 6.0] {
        came.pass(second, &["refresh"]).tell(second, leading(ZOOKEEPER, 0.0), &[]);
    }
    // This proof counts from a request that was sent after the first answer.
    came.pass(7.0, &["refresh"]).tell(7.0, leading(ZOOKEEPER, 2.3), &["start 7", "refresh"]);
    // A quick first answer may rest on proofs of other seats in the same session.
    let mut late = Transcript::new(ZOOKEEPER, rules());
    late.tell(4.0, Event::Tick, &["open"]);
    late.tell(4.0, Event::Replied(Ok(Reply::Opened)), &["refresh"]);
    late.tell(4.1, leading(ZOOKEEPER, 0.0), &["start 7", "refresh"]);
    // This does not hold after a failed request.
    let mut again = Transcript::new(ZOOKEEPER, rules());
    again.tell(4.0, Event::Tick, &["open"]);
    again.tell(4.0, Event::Replied(Ok(Reply::Opened)), &["refresh"]);
    again.tell(4.1, Event::Replied(Err(unreachable())), &[]).pass(4.3, &["refresh"]);
    again.tell(4.3, leading(ZOOKEEPER, 0.0), &[]);
    // An equally old proof is enough if the store has answered all the time.
    let mut waited = Transcript::waiting(ZOOKEEPER, rules());
    for second in [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0] {
        waited.pass(second, &["refresh"]).tell(second, waiting(1), &[]);
    }
    let heard = |transcript: &Transcript| Transcript { machine: transcript.machine.clone() };
    heard(&waited).pass(9.0, &["refresh"]).tell(
        9.0,
        leading(ZOOKEEPER, 4.0),
        &["start 7", "refresh"],
    );
    // It is not enough if the store was silent meanwhile.
    waited.pass(9.0, &["refresh"]).tell(11.4, leading(ZOOKEEPER, 7.0), &[]);
    for second in [11.5, 12.5, 13.5, 14.5, 15.5] {
        waited.pass(second, &["refresh"]).tell(second, leading(ZOOKEEPER, 8.0), &[]);
    }
    waited.pass(16.5, &["refresh"]).tell(16.5, leading(ZOOKEEPER, 11.5), &["start 7", "refresh"]);
}

/// A leader that is cut off asks again in time. A waiter has time for a slow connection.
#[test]
fn a_candidates_attempts_may_take_longer_than_a_leaders() {
    Transcript::joined(ZOOKEEPER, rules()).pass(2.4, &[]).pass(2.6, &["abandon", "refresh"]);
    Transcript::running(ZOOKEEPER, rules())
        .pass(1.8, &["refresh"])
        .pass(2.0, &["abandon", "refresh"]);
}

fn recoveries(commands: &[Command]) -> Vec<u32> {
    let count = |command: &Command| match command {
        Command::Tell(News::Recovered(failures)) => Some(*failures),
        _ => None,
    };
    commands.iter().filter_map(count).collect()
}

#[test]
fn a_store_that_answers_again_is_told_of_once() {
    let mut machine = Transcript::waiting(ETCD, rules()).machine;
    for second in [2.5, 3.0] {
        machine.step(at(second), Event::Tick);
        machine.step(at(second), Event::Replied(Err(unreachable())));
    }
    machine.step(at(4.0), Event::Tick);
    assert_eq!(recoveries(&machine.step(at(4.0), waiting(1))), [2]);
    machine.step(at(6.5), Event::Tick);
    assert_eq!(recoveries(&machine.step(at(6.5), waiting(1))), [0; 0]);
}

/// The lease may still be lost if its proof comes from before the trouble.
#[test]
fn a_leader_tells_of_a_store_that_answers_again_when_its_lease_is_renewed() {
    let mut machine = Transcript::running(ZOOKEEPER, rules()).machine;
    for second in [2.0, 3.0] {
        machine.step(at(second), Event::Tick);
        machine.step(at(second), Event::Replied(Err(unreachable())));
    }
    for (second, anchor, told) in [(4.0, 0.5, 0), (5.0, 1.9, 0), (6.0, 4.0, 2), (7.0, 5.0, 0)] {
        machine.step(at(second), Event::Tick);
        let commands = machine.step(at(second), leading(ZOOKEEPER, anchor));
        assert_eq!(recoveries(&commands).into_iter().sum::<u32>(), told, "{second}");
    }
}

#[test]
fn another_ttl_than_was_asked_for_is_told() {
    let grants = |commands: &[Command]| -> Vec<(Duration, Duration)> {
        let grant = |command: &Command| match command {
            Command::Tell(News::Granted { asked, granted }) => Some((*asked, *granted)),
            _ => None,
        };
        commands.iter().filter_map(grant).collect()
    };
    for (granted, told) in [(after(40.0), vec![(after(15.0), after(40.0))]), (after(15.0), vec![])]
    {
        let validity = Validity::Window { anchor: at(0.0), window: granted };
        let win =
            Event::Replied(Ok(Reply::Standing(Answer::Leading { token: Token::new(7), validity })));
        let mut machine = Transcript::joined(ETCD, rules()).machine;
        assert_eq!(grants(&machine.step(at(0.1), win)), told);
    }
}

#[test]
fn a_leader_whose_entry_seems_to_be_gone_proves_it_at_once() {
    Transcript::running(ETCD, rules()).tell(1.0, Event::Woken, &["refresh"]).tell(
        1.0,
        gone(),
        &["kill"],
    );
}

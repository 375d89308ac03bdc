//! Tests of commands that are started again.

use super::*;

fn restarting(after_success: bool) -> Rules {
    let restarts = Restarts { after_success, delay: after(1.0), longest_delay: after(4.0) };
    Rules { restarts: Some(restarts), ..rules() }
}

const FAILED: Event = Event::Ended(Ended::Exited(1));
const SUCCEEDED: Event = Event::Ended(Ended::Exited(0));

/// Returns a leader on a local store whose command failed at 1 s and rests until 2 s.
fn resting() -> Transcript {
    let mut transcript = Transcript::running(Lease::Unlimited, restarting(false));
    transcript.tell(1.0, FAILED, &[]).tell(1.0, Event::Empty, &[]);
    transcript
}

#[test]
fn a_command_that_fails_is_started_again_and_one_that_succeeds_is_not() {
    resting()
        .pass(2.0, &["start 7"])
        .tell(2.1, Event::Started, &[])
        .tell(3.0, SUCCEEDED, &[])
        .tell(3.0, Event::Empty, &["resign"])
        .tell(3.1, Event::Replied(Ok(Reply::Resigned)), &["finish: Exited(0)"]);
    Transcript::running(Lease::Unlimited, restarting(true))
        .tell(1.0, SUCCEEDED, &[])
        .tell(1.0, Event::Empty, &[])
        .pass(2.0, &["start 7"]);
    Transcript::running(Lease::Unlimited, restarting(false))
        .tell(1.0, Event::Ended(Ended::Signaled(9)), &[])
        .tell(1.0, Event::Empty, &[])
        .pass(2.0, &["start 7"]);
}

#[test]
fn nothing_is_started_again_before_the_tree_is_empty() {
    Transcript::running(Lease::Unlimited, restarting(false))
        .tell(1.0, FAILED, &[])
        .pass(5.0, &["refresh"])
        .tell(5.0, leading(Lease::Unlimited, 5.0), &[])
        .tell(9.0, Event::Empty, &[])
        .pass(9.9, &[])
        .pass(10.0, &["start 7", "refresh"]);
}

#[test]
fn pauses_double_up_to_the_longest_until_a_command_runs_well() {
    let mut transcript = Transcript::running(Lease::Unlimited, restarting(false));
    let mut now = 0.2;
    for (ran, pause) in [(0.1, 1.0), (0.1, 2.0), (3.9, 4.0), (0.1, 4.0), (4.0, 1.0), (0.1, 2.0)] {
        now += ran;
        let words = |transcript: &mut Transcript, second: f64, event| {
            let commands = transcript.machine.step(at(second), event);
            commands.iter().filter_map(word).filter(|word| word == "start 7").count()
        };
        assert_eq!(words(&mut transcript, now, FAILED), 0);
        assert_eq!(words(&mut transcript, now, Event::Empty), 0);
        let (mut second, mut started) = (now, 0);
        while started == 0 {
            // Renewals are due meanwhile, and each is answered.
            second = transcript.machine.next_tick().expect("a tick").since(at(0.0)).as_secs_f64();
            started += words(&mut transcript, second, Event::Tick);
            started += words(&mut transcript, second, leading(Lease::Unlimited, second));
        }
        assert!((second - now - pause).abs() < 0.01, "{pause} s, not {} s", second - now);
        now = second;
        assert_eq!(words(&mut transcript, now, Event::Started), 0);
    }
}

#[test]
fn every_end_of_leadership_ends_a_rest_at_once() {
    let finish = |transcript: &mut Transcript, verdict: &str| {
        transcript.tell(1.6, Event::Replied(Ok(Reply::Resigned)), &[verdict]).pass(60.0, &[]);
    };
    let mut transcript = resting();
    transcript.tell(1.5, Event::Signal(TERM), &["resign"]);
    finish(&mut transcript, "finish: interrupted 15");
    let mut transcript = resting();
    transcript.tell(1.5, Event::Signal(libc::SIGUSR1), &[]);
    transcript.tell(1.5, Event::Signal(libc::SIGHUP), &["resign"]);
    finish(&mut transcript, "finish: interrupted 1");
    let mut transcript = resting();
    transcript.tell(1.5, Event::StepDown("asked".into()), &["resign"]);
    finish(&mut transcript, "finish: stepped down");
    let mut transcript = resting();
    transcript.tell(1.5, Event::Woken, &["refresh"]).tell(1.5, gone(), &["resign"]);
    finish(&mut transcript, "finish: lost");
    let evicted = Event::Replied(Ok(Reply::Standing(Answer::Evicted("removed".into()))));
    let mut transcript = resting();
    transcript.tell(1.5, Event::Woken, &["refresh"]).tell(1.5, evicted, &["resign"]);
    finish(&mut transcript, "finish: lost");
    let mut transcript = resting();
    transcript.tell(1.5, Event::GuardianDied, &["resign"]).tell(1.5, Event::Empty, &[]);
    finish(&mut transcript, "finish: failed");
}

#[test]
fn a_signal_to_end_prevents_a_restart() {
    // Both while the command runs and while its left processes are killed.
    for when in [0.5, 1.5] {
        let mut transcript = Transcript::running(Lease::Unlimited, restarting(true));
        let stop = |transcript: &mut Transcript, second: f64| {
            if (second - when).abs() < 0.1 {
                transcript.tell(second, Event::Signal(TERM), &["signal 15"]);
            }
        };
        stop(&mut transcript, 0.5);
        transcript.tell(1.0, FAILED, &[]);
        stop(&mut transcript, 1.5);
        transcript.tell(2.0, Event::Empty, &["resign"]).tell(
            2.1,
            Event::Replied(Ok(Reply::Resigned)),
            &["finish: Exited(1)"],
        );
    }
    Transcript::running(Lease::Unlimited, restarting(true))
        .tell(0.5, Event::StepDown("asked".into()), &["signal 15"])
        .tell(1.0, FAILED, &[])
        .tell(2.0, Event::Empty, &["resign"])
        .tell(2.1, Event::Replied(Ok(Reply::Resigned)), &["finish: stepped down"]);
    Transcript::running(Lease::Unlimited, restarting(true))
        .tell(1.0, Event::EndedAfterKey(Ended::Signaled(2), 2), &[])
        .tell(1.0, Event::Empty, &["resign"]);
}

#[test]
fn a_command_that_dies_of_a_hang_up_that_came_to_us_is_not_started_again() {
    let hung_up = || {
        let mut transcript = Transcript::running(Lease::Unlimited, restarting(true));
        transcript.tell(0.5, Event::Signal(libc::SIGHUP), &["signal 1"]);
        transcript
    };
    hung_up()
        .tell(1.0, Event::Ended(Ended::Signaled(1)), &[])
        .tell(1.0, Event::Empty, &["resign"])
        .tell(1.1, Event::Replied(Ok(Reply::Resigned)), &["finish: Signaled(1)"]);
    hung_up().tell(1.0, FAILED, &[]).tell(1.0, Event::Empty, &[]).pass(2.0, &["start 7"]);
}

#[test]
fn a_loss_counts_for_more_than_the_end_of_a_command_that_would_be_started_again() {
    Transcript::running(Lease::Unlimited, restarting(false))
        .tell(1.0, FAILED, &[])
        .tell(1.1, Event::Woken, &["refresh"])
        .tell(1.1, gone(), &["kill"])
        .tell(1.2, Event::Empty, &["resign"])
        .tell(1.3, Event::Replied(Ok(Reply::Resigned)), &["finish: lost"]);
}

#[test]
fn a_command_that_cannot_be_executed_is_not_started_again() {
    resting()
        .pass(2.0, &["start 7"])
        .tell(2.1, Event::NotStarted(libc::ENOENT), &[])
        .tell(2.1, Event::Ended(Ended::Exited(127)), &[])
        .tell(2.1, Event::Empty, &["resign"])
        .tell(2.2, Event::Replied(Ok(Reply::Resigned)), &["finish: not started 2"]);
}

#[test]
fn a_key_that_is_done_is_not_run_again() {
    let mut transcript =
        Transcript::new(Lease::Unlimited, Rules { once: true, ..restarting(true) });
    transcript
        .tell(0.0, Event::Tick, &["open"])
        .tell(0.0, Event::Replied(Ok(Reply::Opened)), &["recall"])
        .tell(0.0, Event::Replied(Ok(Reply::Done(false))), &["refresh"])
        .tell(0.0, leading(Lease::Unlimited, 0.0), &["recall"])
        .tell(0.0, Event::Replied(Ok(Reply::Done(false))), &["refresh"])
        .tell(0.0, leading(Lease::Unlimited, 0.0), &["start 7"])
        .tell(0.1, Event::Started, &[])
        .tell(1.0, FAILED, &[])
        .tell(1.0, Event::Empty, &[])
        .pass(2.0, &["start 7"])
        .tell(2.1, Event::Started, &[])
        .tell(3.0, SUCCEEDED, &[])
        .tell(3.0, Event::Empty, &["record"]);
}

#[test]
fn a_rest_keeps_the_lease_and_ends_with_it() {
    let mut transcript = Transcript::running(ETCD, restarting(false));
    transcript.tell(1.0, FAILED, &[]).tell(1.0, Event::Empty, &[]).pass(2.0, &["start 7"]);
    transcript.tell(2.1, Event::Started, &[]).tell(2.2, FAILED, &[]).tell(2.2, Event::Empty, &[]);
    // A call is pending when the pause ends, so there is no start before its answer.
    transcript.pass(4.2, &["refresh"]).tell(4.3, leading(ETCD, 2.5), &["start 7"]);
    transcript.tell(4.4, Event::Started, &[]).tell(4.5, FAILED, &[]).tell(4.5, Event::Empty, &[]);
    // From V - K - G = 8.636 s after the anchor at 2.5 s, nothing may be started any more.
    transcript.pass(8.4, &["refresh", "abandon", "refresh"]);
    let mut words = Vec::new();
    while let Some(tick) = transcript.machine.next_tick().filter(|&tick| tick <= at(11.2)) {
        words.extend(transcript.machine.step(tick, Event::Tick).iter().filter_map(word));
    }
    assert!(words.iter().all(|word| !word.starts_with("start")), "{words:?}");
    assert_eq!(words.last().map(String::as_str), Some("resign"), "{words:?}");
    transcript.tell(11.3, Event::Replied(Ok(Reply::Resigned)), &["finish: lost"]);
}

#[test]
fn a_rest_whose_last_hook_has_ended_leaves_at_once() {
    outlived().tell(1.5, Event::Empty, &[]).tell(1.6, Event::Signal(TERM), &["resign"]).tell(
        1.7,
        Event::Replied(Ok(Reply::Resigned)),
        &["finish: interrupted 15"],
    );
}

/// Returns the same as `resting`, with a process beside the command that lives on.
fn outlived() -> Transcript {
    let mut transcript = Transcript::running(Lease::Unlimited, restarting(false));
    transcript.tell(1.0, FAILED, &[]).tell(1.0, Event::Outlived, &[]);
    transcript
}

#[test]
fn processes_that_outlive_a_restarted_command_live_on() {
    outlived()
        .pass(2.0, &["start 7"])
        .tell(2.1, Event::Started, &[])
        .tell(3.0, SUCCEEDED, &[])
        .tell(3.0, Event::Outlived, &[])
        .tell(3.5, Event::Signal(TERM), &["signal 15"])
        .tell(4.0, Event::Empty, &["resign"])
        .tell(4.1, Event::Replied(Ok(Reply::Resigned)), &["finish: Exited(0)"]);
}

#[test]
fn no_candidate_leads_before_processes_that_outlived_the_command_die() {
    let finish = |transcript: &mut Transcript, verdict: &str| {
        transcript.pass(1.9, &[]).tell(2.5, Event::Empty, &["resign"]).tell(
            2.6,
            Event::Replied(Ok(Reply::Resigned)),
            &[verdict],
        );
    };
    let mut transcript = outlived();
    transcript.tell(1.5, Event::Signal(TERM), &["stop, kill at 5.5"]);
    finish(&mut transcript, "finish: interrupted 15");
    let mut transcript = outlived();
    transcript.tell(1.5, Event::StepDown("asked".into()), &["stop, kill at 5.5"]);
    finish(&mut transcript, "finish: stepped down");
    let mut transcript = outlived();
    transcript.tell(1.5, Event::Woken, &["refresh"]).tell(1.5, gone(), &["kill"]);
    finish(&mut transcript, "finish: lost");
    let mut transcript = outlived();
    transcript.tell(1.5, Event::GuardianDied, &["stop, kill at 5.5"]);
    finish(&mut transcript, "finish: failed");
    let mut transcript = Transcript::running(ETCD, restarting(false));
    transcript.tell(1.0, FAILED, &[]).tell(1.0, Event::Outlived, &[]).pass(2.0, &["start 7"]);
    transcript.tell(2.1, Event::Started, &[]).tell(8.4, FAILED, &["refresh"]);
    transcript.tell(8.4, Event::Outlived, &[]);
    let mut words = Vec::new();
    while let Some(tick) = transcript.machine.next_tick().filter(|&tick| tick <= at(9.0)) {
        words.extend(transcript.machine.step(tick, Event::Tick).iter().filter_map(word));
    }
    assert!(words.contains(&"stop, kill at 12.6".to_owned()), "{words:?}");
    assert!(!words.contains(&"resign".to_owned()), "{words:?}");
    transcript.tell(9.1, Event::Empty, &["abandon", "resign"]);
}

/// A process that was asked to stop together with the command has as long as the command has.
#[test]
fn processes_that_outlive_a_stopped_command_get_no_more_time() {
    let rules = Rules { stop_timeout: Some(after(3.0)), ..restarting(true) };
    Transcript::running(Lease::Unlimited, rules)
        .tell(1.0, Event::Signal(TERM), &["signal 15, kill at 4.0"])
        .tell(2.0, SUCCEEDED, &[])
        .tell(2.0, Event::Outlived, &["stop, kill at 4.0"])
        .tell(2.5, Event::Empty, &["resign"]);
    Transcript::running(Lease::Unlimited, restarting(true))
        .tell(1.0, Event::StepDown("asked".into()), &["signal 15"])
        .tell(2.0, SUCCEEDED, &[])
        .tell(2.0, Event::Outlived, &["stop, kill at 5.0"]);
}

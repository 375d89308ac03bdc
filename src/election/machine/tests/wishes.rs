//! Tests of what people want of a candidacy: signals, requests, and the times to wait and to hold.

use super::*;

#[test]
fn a_command_that_is_not_well_gets_its_grace_and_no_more() {
    let sick = || Event::Sick("no answer".into());
    Transcript::running(Lease::Unlimited, rules())
        .tell(1.0, sick(), &["signal 15, kill at 5.0"])
        .tell(2.0, sick(), &[])
        .tell(3.0, Event::Ended(Ended::Exited(0)), &[])
        .tell(3.0, Event::Empty, &["resign"])
        .tell(3.1, Event::Replied(Ok(Reply::Resigned)), &["finish: stepped down"]);
    let limited = Rules { stop_timeout: Some(after(9.0)), ..rules() };
    Transcript::running(Lease::Unlimited, limited).tell(1.0, sick(), &["signal 15, kill at 10.0"]);
}

#[test]
fn a_command_that_was_told_to_end_need_not_be_well() {
    Transcript::running(Lease::Unlimited, rules())
        .tell(1.0, Event::Signal(TERM), &["signal 15"])
        .tell(2.0, Event::Sick("no answer".into()), &[])
        .tell(3.0, Event::Ended(Ended::Exited(7)), &[])
        .tell(3.0, Event::Empty, &["resign"])
        .tell(3.1, Event::Replied(Ok(Reply::Resigned)), &["finish: Exited(7)"]);
}

#[test]
fn signals_while_waiting_leave_the_queue() {
    for signal in [libc::SIGINT, TERM, libc::SIGHUP, libc::SIGQUIT] {
        Transcript::waiting(Lease::Unlimited, rules())
            .tell(1.0, Event::Signal(signal), &["resign"])
            .tell(
                1.1,
                Event::Replied(Ok(Reply::Resigned)),
                &[&format!("finish: interrupted {signal}")],
            );
    }
    Transcript::waiting(Lease::Unlimited, rules()).tell(1.0, Event::Signal(libc::SIGUSR1), &[]);
}

#[test]
fn a_signal_between_the_request_and_the_win_starts_nothing() {
    Transcript::joined(Lease::Unlimited, rules())
        .tell(0.1, Event::Signal(TERM), &["abandon", "resign"])
        .tell(0.2, Event::Replied(Ok(Reply::Resigned)), &["finish: interrupted 15"]);
}

#[test]
fn signals_while_leading_are_forwarded() {
    Transcript::running(Lease::Unlimited, rules())
        .tell(1.0, Event::Signal(libc::SIGUSR1), &["signal 10"])
        .tell(1.0, Event::Signal(TERM), &["signal 15"])
        .tell(2.0, Event::Signal(TERM), &["signal 15"])
        .tell(3.0, Event::Ended(Ended::Exited(0)), &[])
        .tell(3.0, Event::Empty, &["resign"])
        .tell(3.0, Event::Replied(Ok(Reply::Resigned)), &["finish: Exited(0)"]);
}

#[test]
fn stop_timeout_escalates_but_not_for_hup() {
    let rules = Rules { stop_timeout: Some(after(3.0)), ..rules() };
    Transcript::running(Lease::Unlimited, rules)
        .tell(1.0, Event::Signal(libc::SIGHUP), &["signal 1"])
        .tell(2.0, Event::Signal(TERM), &["signal 15, kill at 5.0"]);
}

#[test]
fn a_step_down_request_stops_the_command_in_good_order() {
    let rules = Rules { signal: libc::SIGINT, stop_timeout: Some(after(3.0)), ..rules() };
    Transcript::running(Lease::Unlimited, rules)
        .tell(2.0, Event::StepDown("deploy".into()), &["signal 2, kill at 5.0"])
        .tell(3.0, Event::Ended(Ended::Exited(0)), &[])
        .tell(3.0, Event::Empty, &["resign"])
        .tell(3.0, Event::Replied(Ok(Reply::Resigned)), &["finish: stepped down"]);
}

#[test]
fn hold_keeps_the_lease_until_a_signal_or_its_end() {
    let rules = || Rules { hold: Some(after(60.0)), ..rules() };
    let held = || {
        let mut transcript = Transcript::running(Lease::Unlimited, rules());
        transcript.tell(1.0, Event::Ended(Ended::Exited(3)), &[]).tell(1.0, Event::Empty, &[]);
        transcript
    };
    held()
        .pass(5.0, &["refresh"])
        .tell(5.0, leading(Lease::Unlimited, 5.0), &[])
        .tell(9.0, Event::Signal(TERM), &["resign"])
        .tell(9.0, Event::Replied(Ok(Reply::Resigned)), &["finish: Exited(3)"]);
    held().pass(5.0, &["refresh"]).tell(5.0, gone(), &["resign"]).tell(
        5.0,
        Event::Replied(Ok(Reply::Resigned)),
        &["finish: Exited(3)"],
    );
    let mut transcript = held();
    while transcript.machine.next_tick().is_some_and(|tick| tick < at(60.1)) {
        let tick = transcript.machine.next_tick().expect("a tick");
        let commands = transcript.machine.step(tick, Event::Tick);
        assert!(
            !commands.iter().any(|command| matches!(command, Command::Ask(Call::Resign(_)))),
            "too early"
        );
        transcript.machine.step(tick, leading(Lease::Unlimited, tick.since(at(0.0)).as_secs_f64()));
    }
    transcript.pass(60.1, &["resign"]);
}

#[test]
fn nothing_is_held_after_a_request_to_stop() {
    let rules = || Rules { hold: Some(after(60.0)), ..rules() };
    for request in [Event::Signal(TERM), Event::StepDown("deploy".into())] {
        Transcript::running(Lease::Unlimited, rules())
            .tell(1.0, request, &["signal 15"])
            .tell(1.1, Event::Ended(Ended::Exited(3)), &[])
            .tell(1.2, Event::Empty, &["resign"]);
    }
    Transcript::running(Lease::Unlimited, rules())
        .tell(1.0, Event::Signal(libc::SIGHUP), &["signal 1"])
        .tell(1.1, Event::Ended(Ended::Exited(3)), &[])
        .tell(1.2, Event::Empty, &[]);
}

/// Elect is told to end while leadership is being lost, or afterwards. No new candidacy begins then.
#[test]
fn a_leader_told_to_end_during_a_loss_ends() {
    let mut transcript = Transcript::running(ETCD, rules());
    transcript.pass(2.5, &["refresh"]);
    transcript.pass(8.7, &["abandon", "refresh", "abandon", "refresh", "stop, kill at 12.6"]);
    transcript.tell(9.0, Event::Signal(TERM), &["signal 15"]);
    transcript.tell(9.5, Event::Ended(Ended::Signaled(15)), &[]);
    transcript.tell(9.5, Event::Empty, &["abandon", "resign"]);
    transcript.tell(9.6, Event::Replied(Ok(Reply::Resigned)), &["finish: lost, for good"]);
    Transcript::running(Lease::Unlimited, rules())
        .pass(5.0, &["refresh"])
        .tell(5.0, gone(), &["kill"])
        .tell(5.1, Event::Empty, &["resign"])
        // A hook that runs at the end of a leadership gets the signal.
        .tell(5.2, Event::Signal(TERM), &["signal 15", "abandon", "finish: lost, for good"]);
}

fn withdraw() -> Event {
    Event::Withdraw("the application is not well".into())
}

/// Another candidate gets the leadership. A leader that gives it up for that has not failed.
#[test]
fn a_released_candidate_leaves_the_queue_or_steps_down() {
    let release = || Event::Release("the shard moves to b".into());
    Transcript::waiting(ETCD, rules()).tell(1.0, release(), &["resign"]).tell(
        1.1,
        Event::Replied(Ok(Reply::Resigned)),
        &["finish: withdrawn"],
    );
    Transcript::running(Lease::Unlimited, rules())
        .tell(1.0, release(), &["signal 15"])
        .tell(1.1, Event::Empty, &["resign"])
        .tell(1.2, Event::Replied(Ok(Reply::Resigned)), &["finish: stepped down"]);
}

#[test]
fn a_candidate_that_withdraws_leaves_the_queue_or_resigns() {
    Transcript::new(ETCD, rules()).tell(0.0, Event::Tick, &["open"]).tell(
        0.5,
        withdraw(),
        &["abandon", "finish: withdrawn"],
    );
    Transcript::waiting(ETCD, rules()).tell(1.0, withdraw(), &["resign"]).tell(
        1.1,
        Event::Replied(Ok(Reply::Resigned)),
        &["finish: withdrawn"],
    );
    Transcript::running(ETCD, rules())
        .tell(1.0, withdraw(), &["signal 15"])
        .tell(2.0, Event::Ended(Ended::Exited(0)), &[])
        .pass(2.5, &["refresh"])
        .tell(2.5, leading(ETCD, 2.5), &[])
        .tell(3.0, Event::Empty, &["resign"])
        .tell(3.1, Event::Replied(Ok(Reply::Resigned)), &["finish: withdrawn"]);
}

#[test]
fn a_candidate_told_to_end_while_it_withdraws_ends() {
    Transcript::running(ETCD, rules())
        .tell(1.0, withdraw(), &["signal 15"])
        .tell(1.5, Event::Signal(TERM), &["signal 15"])
        .tell(2.0, Event::Empty, &["resign"])
        .tell(2.1, Event::Replied(Ok(Reply::Resigned)), &["finish: lost, for good"]);
}

/// A service manager is told of these parts of a stop.
#[test]
fn a_stop_is_told_when_it_is_passed_on_and_when_nothing_runs_any_more() {
    let told = |commands: &[Command]| -> Vec<String> {
        let told = commands.iter().filter_map(|command| match command {
            Command::Tell(News::Stopping(signal)) => Some(format!("stopping {signal}")),
            Command::Tell(News::Leaving { for_good: true }) => Some("leaving".to_owned()),
            Command::Tell(News::Leaving { for_good: false }) => Some("leaving for now".to_owned()),
            _ => None,
        });
        told.collect()
    };
    let mut machine = Transcript::running(Lease::Unlimited, rules()).machine;
    assert_eq!(told(&machine.step(at(1.0), Event::Signal(libc::SIGHUP))), [""; 0]);
    assert_eq!(told(&machine.step(at(1.0), Event::Signal(libc::SIGTERM))), ["stopping 15"]);
    assert_eq!(told(&machine.step(at(1.1), Event::Ended(Ended::Signaled(15)))), [""; 0]);
    assert_eq!(told(&machine.step(at(1.2), Event::Empty)), ["leaving"]);

    let mut machine = Transcript::running(ETCD, rules()).machine;
    machine.step(at(2.5), Event::Tick);
    assert_eq!(told(&machine.step(at(2.5), gone())), [""; 0]);
    assert_eq!(told(&machine.step(at(2.6), Event::Empty)), ["leaving for now"]);
}

fn limited() -> Rules {
    Rules { max_run: Some(after(3.0)), ..rules() }
}

#[test]
fn a_command_is_stopped_when_it_has_run_for_the_most_that_it_may() {
    Transcript::running(Lease::Unlimited, limited())
        .pass(3.0, &[])
        .pass(3.2, &["signal 15, kill at 7.1"])
        .pass(4.0, &[])
        .tell(4.0, Event::Ended(Ended::Signaled(15)), &[])
        .tell(4.0, Event::Empty, &["resign"])
        .tell(4.1, Event::Replied(Ok(Reply::Resigned)), &["finish: max run, Signaled(15)"]);
    let given = Rules { signal: libc::SIGINT, stop_timeout: Some(after(9.0)), ..limited() };
    Transcript::running(Lease::Unlimited, given).pass(3.2, &["signal 2, kill at 12.1"]);
    // The lease is renewed meanwhile.
    Transcript::running(ETCD, limited())
        .pass(3.0, &["refresh"])
        .tell(3.0, leading(ETCD, 2.5), &[])
        .pass(3.2, &["signal 15, kill at 7.1"])
        .pass(5.0, &["refresh"]);
    // The lease is held as long as was asked for, as no one has asked for an end.
    Transcript::running(Lease::Unlimited, Rules { hold: Some(after(4.5)), ..limited() })
        .pass(3.2, &["signal 15, kill at 7.1"])
        .tell(4.0, Event::Ended(Ended::Signaled(15)), &[])
        .tell(4.0, Event::Empty, &[])
        .pass(4.7, &["resign"]);
    // A command that has ended before is not stopped.
    Transcript::running(Lease::Unlimited, Rules { hold: Some(after(9.0)), ..limited() })
        .tell(2.0, Event::Ended(Ended::Exited(0)), &[])
        .tell(2.0, Event::Empty, &[])
        .pass(4.9, &[]);
}

#[test]
fn leftovers_are_stopped_by_the_longest_run_from_the_commands_start() {
    let awaiting = Rules { leftover_grace: None, ..limited() };
    Transcript::running(Lease::Unlimited, awaiting)
        .tell(1.0, Event::Ended(Ended::Exited(5)), &[])
        .pass(3.2, &["signal 15, kill at 7.1"])
        .tell(4.0, Event::Empty, &["resign"])
        .tell(4.1, Event::Replied(Ok(Reply::Resigned)), &["finish: max run, Exited(5)"]);
}

#[test]
fn a_command_that_was_stopped_for_its_time_is_not_started_again() {
    let restarts = Restarts { after_success: true, delay: after(1.0), longest_delay: after(9.0) };
    let restarting = Rules { restarts: Some(restarts), ..limited() };
    for ended in [Ended::Exited(0), Ended::Exited(1), Ended::Signaled(9)] {
        Transcript::running(Lease::Unlimited, restarting.clone())
            .pass(3.2, &["signal 15, kill at 7.1"])
            .tell(4.0, Event::Ended(ended), &[])
            .tell(4.0, Event::Empty, &["resign"]);
    }
    // The processes that it left delay the next start for too long.
    let awaiting = Rules { leftover_grace: None, ..restarting.clone() };
    Transcript::running(Lease::Unlimited, awaiting)
        .tell(1.0, Event::Ended(Ended::Exited(1)), &[])
        .pass(3.2, &["signal 15, kill at 7.1"])
        .tell(4.0, Event::Empty, &["resign"])
        .tell(4.1, Event::Replied(Ok(Reply::Resigned)), &["finish: max run, Exited(1)"]);
    // Each start counts separately, from the time when the command runs.
    Transcript::running(Lease::Unlimited, restarting)
        .tell(2.9, Event::Ended(Ended::Exited(1)), &[])
        .tell(2.9, Event::Empty, &[])
        .pass(3.9, &["start 7"])
        .pass(4.2, &[])
        .tell(4.3, Event::Started, &[])
        .pass(7.2, &["refresh"])
        .tell(7.2, leading(Lease::Unlimited, 7.2), &[])
        .pass(7.4, &["signal 15, kill at 11.3"]);
}

#[test]
fn a_request_after_the_longest_run_does_not_change_its_verdict() {
    for event in [
        || Event::StepDown("asked".into()),
        || Event::Release("asked".into()),
        || Event::Signal(TERM),
        || Event::Sick("no answer".into()),
    ] {
        let mut transcript = Transcript::running(Lease::Unlimited, limited());
        transcript.pass(3.2, &["signal 15, kill at 7.1"]);
        transcript.machine.step(at(3.5), event());
        transcript
            .tell(4.0, Event::Ended(Ended::Exited(0)), &[])
            .tell(4.0, Event::Empty, &["resign"])
            .tell(4.1, Event::Replied(Ok(Reply::Resigned)), &["finish: max run, Exited(0)"]);
    }
    // A lost lease stays lost.
    Transcript::running(Lease::Unlimited, limited())
        .pass(3.2, &["signal 15, kill at 7.1"])
        .tell(3.5, Event::Woken, &["refresh"])
        .tell(3.5, gone(), &["kill"])
        .tell(4.0, Event::Ended(Ended::Signaled(9)), &[])
        .tell(4.0, Event::Empty, &["resign"])
        .tell(4.1, Event::Replied(Ok(Reply::Resigned)), &["finish: lost"]);
    // Without a stop timeout, a command that was asked to stop still has this limit.
    Transcript::running(Lease::Unlimited, limited())
        .tell(1.0, Event::StepDown("asked".into()), &["signal 15"])
        .pass(3.2, &["signal 15, kill at 7.1"])
        .tell(4.0, Event::Ended(Ended::Exited(0)), &[])
        .tell(4.0, Event::Empty, &["resign"])
        .tell(4.1, Event::Replied(Ok(Reply::Resigned)), &["finish: stepped down"]);
}

/// The processes that it left are stopped in any case.
#[test]
fn a_command_that_has_ended_in_time_has_not_overrun() {
    let rules = |leftover_grace| Rules { leftover_grace, ..limited() };
    let ended = || Event::Ended(Ended::Exited(0));
    Transcript::running(Lease::Unlimited, rules(Some(after(1.0))))
        .tell(3.0, ended(), &[])
        .pass(4.8, &[])
        .tell(4.9, Event::Empty, &["resign"])
        .tell(4.9, Event::Replied(Ok(Reply::Resigned)), &["finish: Exited(0)"]);
    Transcript::running(Lease::Unlimited, rules(None))
        .tell(3.0, ended(), &[])
        .pass(3.2, &["signal 15, kill at 7.1"]);
}

#[test]
fn a_run_of_the_longest_time_is_not_done() {
    let once = Rules { once: true, ..limited() };
    let joined = || {
        let mut transcript = Transcript::new(Lease::Unlimited, once.clone());
        transcript.tell(0.0, Event::Tick, &["open"]);
        transcript.machine.step(at(0.0), Event::Replied(Ok(Reply::Opened)));
        transcript.machine.step(at(0.0), Event::Replied(Ok(Reply::Done(false))));
        transcript.machine.step(at(0.0), leading(Lease::Unlimited, 0.0));
        transcript.machine.step(at(0.0), Event::Replied(Ok(Reply::Done(false))));
        transcript.tell(0.0, leading(Lease::Unlimited, 0.0), &["start 7"]);
        transcript.tell(0.1, Event::Started, &[]).pass(3.2, &["signal 15, kill at 7.1"]);
        transcript
    };
    joined().tell(4.0, Event::Ended(Ended::Exited(0)), &[]).tell(4.0, Event::Empty, &["resign"]);
    joined().tell(4.0, Event::Ended(Ended::Signaled(15)), &[]).tell(4.0, Event::Empty, &["resign"]);
}

#[test]
fn an_order_to_stop_says_whether_a_signal_or_elect_wants_it() {
    let running =
        |lease| Transcript::running(lease, Rules { max_run: Some(after(9.0)), ..rules() });
    let local = || running(Lease::Unlimited);
    let (elect, signal) = (Some(StoppedBy::Elect), Some(StoppedBy::Signal));
    for passed_on in [libc::SIGUSR1, libc::SIGHUP] {
        assert_eq!(local().stopped_by(1.0, Event::Signal(passed_on)), None);
    }
    for stops in [libc::SIGINT, libc::SIGQUIT, TERM] {
        assert_eq!(local().stopped_by(1.0, Event::Signal(stops)), signal);
    }
    for ours in [
        Event::StepDown("deploy".into()),
        Event::Sick("no answer".into()),
        Event::Withdraw("not ours".into()),
        Event::SoftPassed,
    ] {
        assert_eq!(local().stopped_by(1.0, ours.clone()), elect, "{ours:?}");
        // Nothing has asked for its end before.
        let mut reloaded = local();
        reloaded.tell(0.5, Event::Signal(libc::SIGHUP), &["signal 1"]);
        assert_eq!(reloaded.stopped_by(1.0, ours.clone()), elect, "{ours:?} after HUP");
    }
    // Elect stops the command when its time is over, and when the lease is lost, by TERM or by KILL.
    assert_eq!(local().stopped_by(9.1, Event::Tick), elect);
    let mut lost = running(ETCD);
    lost.pass(2.5, &["refresh"]);
    assert_eq!(lost.stopped_by(2.6, gone()), elect);
    // A signal that came before may have stopped it already. A lost lease stops it for sure.
    for (ours, stopped_by) in
        [(Event::StepDown("deploy".into()), signal), (Event::SoftPassed, elect)]
    {
        let mut told = local();
        told.tell(0.5, Event::Signal(TERM), &["signal 15"]);
        assert_eq!(told.stopped_by(1.0, ours.clone()), stopped_by, "{ours:?} after TERM");
    }
}

#[test]
fn stopping_outlived_processes_is_no_stop_of_the_command() {
    let mut transcript = Transcript::running(Lease::Unlimited, rules());
    transcript.tell(0.5, Event::Signal(TERM), &["signal 15"]);
    transcript.tell(1.0, Event::Ended(Ended::Exited(0)), &[]);
    assert_eq!(transcript.stopped_by(1.0, Event::Outlived), None);
}

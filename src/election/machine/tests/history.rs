use std::time::Duration;

use elect_api::{Error, ErrorKind, Lease, Written};

use super::{ETCD, TERM, Transcript, at, gone, leading, rules, unreachable};
use crate::election::machine::{Event, Rules};
use crate::election::{Answer, Reply};
use crate::guard::Ended;

const LOCAL: Lease = Lease::Unlimited;
const READ: fn() -> Event = || Event::Replied(Ok(Reply::EndedWell(true)));
const WRITTEN: fn() -> Event = || Event::Replied(Ok(Reply::Written(Written::Yes(1))));

fn chronicled() -> Rules {
    Rules { keeps_history: true, ..rules() }
}

/// Returns a leader whose command runs since 0.0.
fn started(lease: Lease) -> Transcript {
    let mut transcript = Transcript::joined(lease, chronicled());
    transcript.tell(0.0, leading(lease, 0.0), &["start 7"]).tell(
        0.0,
        Event::Started,
        &["read history"],
    );
    transcript
}

#[test]
fn nothing_is_asked_before_the_command_runs_and_its_end_is_told_with_the_resign() {
    started(LOCAL)
        .tell(0.01, READ(), &[])
        .pass(0.1, &["write history"])
        .tell(0.11, WRITTEN(), &[])
        .tell(1.0, Event::Ended(Ended::Exited(7)), &[])
        .tell(1.0, Event::Empty, &["resign: the command exited with code 7"]);
}

#[test]
fn the_longest_run_is_told_with_how_its_command_ended() {
    let rules = Rules { max_run: Some(Duration::from_secs(90)), ..chronicled() };
    let mut transcript = Transcript::joined(LOCAL, rules);
    transcript.tell(0.0, leading(LOCAL, 0.0), &["start 7"]);
    transcript.tell(0.0, Event::Started, &["read history"]).tell(0.01, READ(), &[]);
    transcript.machine.step(at(90.0), Event::Tick);
    transcript.machine.step(at(91.0), WRITTEN());
    transcript.machine.step(at(91.0), leading(LOCAL, 91.0));
    let end = "resign: stopped after 1m 30s (--max-run): SIGTERM ended the command";
    transcript.tell(92.0, Event::Ended(Ended::Signaled(15)), &[]).tell(92.0, Event::Empty, &[end]);
}

#[test]
fn a_short_command_is_told_of_once() {
    started(ETCD).tell(0.01, READ(), &[]).tell(0.05, Event::Ended(Ended::Signaled(9)), &[]).tell(
        0.05,
        Event::Empty,
        &["resign abruptly: SIGKILL ended the command"],
    );
}

#[test]
fn an_answer_under_way_is_waited_for_but_not_for_long() {
    started(ETCD)
        .tell(0.01, Event::Ended(Ended::Exited(0)), &[])
        .tell(0.01, Event::Empty, &[])
        .tell(0.02, READ(), &["resign: the command exited with code 0"]);
    started(ETCD)
        .tell(0.01, Event::Ended(Ended::Exited(0)), &[])
        .tell(0.01, Event::Empty, &[])
        .pass(0.50, &[])
        .pass(0.52, &["abandon", "resign"]);
    started(ETCD)
        .tell(0.01, READ(), &[])
        .pass(0.1, &["write history"])
        .tell(0.2, Event::Ended(Ended::Exited(0)), &[])
        .tell(0.2, Event::Empty, &[])
        .pass(0.71, &["abandon", "resign: the command exited with code 0"]);
}

#[test]
fn a_command_that_ends_before_a_renewal_left_room_is_told_of() {
    let brief = || {
        let mut transcript = Transcript::joined(ETCD, chronicled());
        transcript.tell(0.0, leading(ETCD, 0.0), &["start 7"]);
        transcript.tell(2.0, Event::Started, &[]);
        transcript.tell(2.1, Event::Ended(Ended::Exited(7)), &[]);
        transcript.tell(2.1, Event::Empty, &["read history"]);
        transcript
    };
    brief().tell(2.2, READ(), &["resign: the command exited with code 7"]);
    brief().tell(2.2, Event::Replied(Err(unreachable())), &["resign"]);
    brief().pass(2.59, &[]).pass(2.6, &["abandon", "resign"]);
}

#[test]
fn a_resign_that_failed_is_repeated_without_a_word() {
    started(ETCD)
        .tell(0.01, READ(), &[])
        .tell(0.02, Event::Ended(Ended::Exited(0)), &[])
        .tell(0.02, Event::Empty, &["resign: the command exited with code 0"])
        .tell(0.03, Event::Replied(Err(unreachable())), &[])
        .pass(0.3, &["resign"])
        .tell(0.3, Event::Replied(Ok(Reply::Resigned)), &["finish: Exited(0)"]);
}

#[test]
fn it_keeps_no_renewal_waiting() {
    started(ETCD)
        .pass(2.49, &[])
        .pass(2.5, &["abandon", "refresh"])
        .tell(2.6, leading(ETCD, 2.5), &[])
        .pass(4.99, &[])
        .pass(5.0, &["refresh"])
        .tell(5.0, leading(ETCD, 5.0), &["read history"])
        .tell(5.1, Event::Replied(Err(unreachable())), &[])
        .pass(7.5, &["refresh"])
        .tell(7.6, leading(ETCD, 7.5), &["read history"])
        .tell(7.7, READ(), &["write history"])
        .tell(7.8, Event::Woken, &[])
        .tell(7.9, WRITTEN(), &["refresh"]);
}

#[test]
fn a_leader_that_has_lost_writes_no_history() {
    for lost in [gone(), Event::Replied(Ok(Reply::Standing(Answer::Evicted("removed".into()))))] {
        let mut transcript = started(ETCD);
        transcript.tell(0.01, READ(), &[]).pass(0.1, &["write history"]).tell(0.11, WRITTEN(), &[]);
        transcript.pass(2.5, &["refresh"]);
        transcript.machine.step(at(2.6), lost);
        transcript.tell(2.7, Event::Ended(Ended::Signaled(9)), &[]);
        transcript.tell(2.7, Event::Empty, &["resign"]);
    }
}

#[test]
fn a_write_that_finds_us_gone_is_followed_by_a_proof() {
    started(ETCD).tell(0.01, READ(), &[]).pass(0.1, &["write history"]).tell(
        0.2,
        Event::Replied(Ok(Reply::Written(Written::Gone("removed".into())))),
        &["refresh"],
    );
}

#[test]
fn a_store_that_refuses_is_not_asked_again() {
    let denied = || Error::new(ErrorKind::Denied, "no");
    started(ETCD)
        .tell(0.01, Event::Replied(Err(denied())), &[])
        .pass(2.5, &["refresh"])
        .tell(2.5, leading(ETCD, 2.5), &[])
        .tell(3.0, Event::Ended(Ended::Exited(0)), &[])
        .tell(3.0, Event::Empty, &["resign"]);
}

#[test]
fn the_history_names_the_cause_of_the_end() {
    let mut transcript = started(LOCAL);
    transcript
        .tell(0.0, READ(), &[])
        .tell(0.05, Event::Signal(TERM), &["signal 15"])
        .tell(0.06, Event::Ended(Ended::Exited(3)), &[])
        .tell(
            0.06,
            Event::Empty,
            &["resign: told to end by SIGTERM: the command exited with code 3"],
        );
    let mut transcript = started(LOCAL);
    transcript
        .tell(0.0, READ(), &[])
        .tell(0.05, Event::StepDown("asked by me".into()), &["signal 15"])
        .tell(0.06, Event::Ended(Ended::Signaled(15)), &[])
        .tell(0.06, Event::Empty, &["resign: stepped down: asked by me"]);
}

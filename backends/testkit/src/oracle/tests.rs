use std::process::{Command, Stdio};

use super::*;
use crate::program::{Running, is_alive};

fn start(stamper: &Stamper) -> Running {
    let words = stamper.command();
    let mut command = Command::new(&words[0]);
    Running::new(command.args(&words[1..]).stdin(Stdio::null()).spawn().expect("a stamper"))
}

#[test]
fn two_at_a_time_are_seen() {
    let oracle = Oracle::new();
    let _one = start(&oracle.stamper("A").token(1).children(2));
    oracle.wait_for_run("A");
    let _two = start(&oracle.stamper("B").token(2));
    let late = oracle.wait_for_run("B");
    oracle.wait_for_stamps("A", Duration::from_millis(3));
    let faults = oracle.verdict().faults;
    assert!(
        faults.iter().any(|fault| matches!(fault, Fault::Overlap(one, two, span)
            if one.tag == "A" && two.tag == "B" && *span >= Duration::from_millis(3))),
        "{faults:?}"
    );
    assert!(
        faults.iter().any(|fault| matches!(fault, Fault::Beside(one, pid, two, _)
            if one.tag == "B" && *pid == late.main().pid && two.tag == "A")),
        "{faults:?}"
    );
}

#[test]
fn a_stopped_process_beside_another_run_is_seen_without_a_stamp() {
    let oracle = Oracle::new();
    let _one = start(&oracle.stamper("A").token(1).stopped());
    Oracle::wait_for_stop(&oracle.wait_for_run("A").processes);
    start(&oracle.stamper("B").token(2).lasting(Duration::ZERO)).wait().exits(0);
    let faults = oracle.verdict().faults;
    assert!(matches!(&faults[..], [Fault::Beside(..)]), "{faults:?}");
}

#[test]
fn runs_one_after_the_other_are_sound_however_they_ended() {
    let oracle = Oracle::new();
    let tree = |tag, token| oracle.stamper(tag).token(token).children(2).depth(2);
    start(&tree("A", 1).lasting(Duration::from_millis(5)).code(7)).wait().exits(7);
    let flag = oracle.flag("end");
    let two = start(&tree("B", 2).groups(1).until(&flag));
    let run = oracle.wait_for_run("B");
    assert_eq!((run.processes.len(), run.others().len()), (6, 5));
    for process in run.others() {
        kill(Pid::from_raw(process.pid), Signal::SIGKILL).expect("it lives");
    }
    two.ended_by(Signal::SIGKILL).exits(128 + 9);
    oracle.wait_for_end("B");
    let runs = oracle.assert_sound();
    assert_eq!(runs.iter().map(|run| run.tag.as_str()).collect::<Vec<_>>(), ["A", "B"]);
    assert!(runs[0].last.since(runs[0].first) >= Duration::from_millis(5));
}

#[test]
fn tokens_that_fall_or_come_twice_are_seen() {
    let oracle = Oracle::new();
    for (tag, token) in [("A", 2), ("B", 1), ("C", 1)] {
        start(&oracle.stamper(tag).token(token).lasting(Duration::ZERO)).wait().exits(0);
    }
    let faults = oracle.verdict().faults;
    assert!(matches!(&faults[..], [Fault::TokenTwice(_), Fault::TokenFell(..)]), "{faults:?}");
}

#[test]
fn daemons_outlive_their_parent_and_not_the_oracle() {
    let oracle = Oracle::new();
    let stamper = oracle.stamper("A").token(1).daemons(2).leaving().deaf().closing_descriptors();
    start(&stamper.lasting(Duration::from_millis(2))).wait().exits(0);
    oracle.wait_for_run("A");
    let living = oracle.living();
    assert_eq!(living.len(), 2);
    let run = oracle.wait_for_stamps("A", Duration::from_millis(3));
    assert!(!run.main().is_alive);
    for process in run.others() {
        let pid = Pid::from_raw(process.pid);
        assert_ne!(nix::unistd::getsid(Some(pid)), nix::unistd::getsid(None));
        kill(pid, Signal::SIGTERM).expect("it lives");
    }
    oracle.wait_for_stamps("A", Duration::from_millis(3));
    assert_eq!(oracle.living(), living);
    drop(oracle);
    eventually("their end", || living.iter().all(|&pid| !is_alive(pid)).then_some(()));
}

#[test]
fn parts_of_an_election_are_elections_of_their_own() {
    let oracle = Oracle::new();
    let start = |tag, token, shard: &str| {
        let words = oracle.stamper(tag).token(token).calm().command();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).env("ELECT_SHARD", shard).stdin(Stdio::null());
        Running::new(command.spawn().expect("a stamper"))
    };
    let one = start("A", 7, "0");
    let two = start("B", 7, "1");
    oracle.wait_for_run("A");
    oracle.wait_for_run("B");
    assert_eq!(oracle.assert_sound().len(), 2);
    let before = now();
    one.ended_by(Signal::SIGTERM).exits(143);
    assert!(oracle.wait_for_end("A").last >= before, "no last stamp");
    let _three = start("C", 8, "1");
    oracle.wait_for_run("C");
    let faults = oracle.verdict().faults;
    assert!(
        faults.iter().any(|fault| matches!(fault, Fault::Beside(one, _, two, _)
            if one.part == Some(1) && two.tag == "B")),
        "{faults:?}"
    );
    drop(two);
}

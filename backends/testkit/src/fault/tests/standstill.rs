//! Tests that a process that stands still makes no stamps. They need root.

use std::time::Duration;

use nix::sys::signal::Signal;

use crate::fault::{Cgroup, Traced};
use crate::oracle::{Oracle, Stamper};
use crate::program::{Elect, Running, eventually, is_alive, state};

fn start(stamper: &Stamper, under: &[String]) -> Running {
    let words = stamper.command();
    Elect::new(&words[0]).args(&words[1..]).under(under).spawn()
}

const WHILE: Duration = Duration::from_millis(20);

/// Asserts that A makes no stamp while B, which runs freely, makes many.
fn assert_stands_still(oracle: &Oracle) {
    let stamps = || {
        let run = oracle.newest("A").expect("A runs");
        run.processes.iter().map(|process| process.last).collect::<Vec<_>>()
    };
    let before = stamps();
    oracle.wait_for_stamps("B", WHILE);
    assert_eq!(stamps(), before);
}

fn freezes(cgroup: &Cgroup) {
    let oracle = Oracle::new();
    let _free = start(&oracle.stamper("B").token(2), &[]);
    let _cold = start(&oracle.stamper("A").token(1).children(2).deaf(), &cgroup.enter());
    oracle.wait_for_run("B");
    let run = oracle.wait_for_run("A");
    let mut pids: Vec<i32> = run.processes.iter().map(|process| process.pid).collect();
    pids.sort_unstable();
    let mut members = cgroup.processes();
    members.sort_unstable();
    assert_eq!(members, pids);
    for _ in 0..3 {
        oracle.wait_for_stamps("A", Duration::from_millis(3));
        assert!(!cgroup.is_frozen());
        cgroup.freeze(true);
        assert_stands_still(&oracle);
        cgroup.freeze(false);
    }
    oracle.wait_for_stamps("A", Duration::from_millis(3));
}

#[test]
fn the_freezer_of_cgroup_v2_stops_a_tree() {
    freezes(&Cgroup::v2());
}

#[test]
fn the_freezer_of_cgroup_v1_stops_a_tree() {
    freezes(&Cgroup::v1());
}

#[test]
fn frozen_processes_end_with_their_cgroup() {
    for cgroup in [Cgroup::v1(), Cgroup::v2()] {
        let oracle = Oracle::new();
        let child = start(&oracle.stamper("A").token(1).children(2).deaf(), &cgroup.enter());
        let run = oracle.wait_for_run("A");
        cgroup.freeze(true);
        let folder = cgroup.folder().to_owned();
        let fails = std::panic::catch_unwind(move || {
            let _dropped = cgroup;
            std::panic::resume_unwind(Box::new("a test that fails"));
        });
        assert!(fails.is_err());
        child.wait().exits(128 + 9);
        assert!(!folder.exists(), "{} is left", folder.display());
        assert!(run.processes.iter().all(|process| !is_alive(process.pid)));
    }
}

#[test]
fn a_debugger_stops_a_process_until_it_lets_it_go() {
    let oracle = Oracle::new();
    let _free = start(&oracle.stamper("B").token(2), &[]);
    let mut held = start(&oracle.stamper("A").token(1), &[]);
    oracle.wait_for_run("B");
    oracle.wait_for_run("A");
    let traced = Traced::hold(held.pid());
    assert_eq!(traced.pid(), held.pid());
    assert_eq!(state(held.pid()), Some('t'));
    assert_stands_still(&oracle);
    // `SIGCONT` ends a stop by a signal, but not this stop.
    held.signal(Signal::SIGCONT);
    assert_stands_still(&oracle);
    assert!(held.is_running());
    drop(traced);
    oracle.wait_for_stamps("A", Duration::from_millis(3));
}

#[test]
fn a_stopped_process_may_be_held_too() {
    let oracle = Oracle::new();
    let mut held = start(&oracle.stamper("A").token(1), &[]);
    let run = oracle.wait_for_run("A");
    held.signal(Signal::SIGSTOP);
    Oracle::wait_for_stop(&run.processes);
    let traced = Traced::hold(held.pid());
    assert_eq!(state(held.pid()), Some('t'));
    drop(traced);
    held.signal(Signal::SIGCONT);
    oracle.wait_for_stamps("A", Duration::from_millis(3));
}

#[test]
fn a_process_killed_under_a_debugger_is_its_parents_at_once() {
    let oracle = Oracle::new();
    let mut held = start(&oracle.stamper("A").token(1), &[]);
    oracle.wait_for_run("A");
    let traced = Traced::hold(held.pid());
    held.ended_by(Signal::SIGKILL).exits(128 + 9);
    drop(traced);
    // The same holds for a parent that is not the tracer.
    let sh = Elect::new("sh").args(["-c", "\"$@\" & wait $!; echo $?", "sh"]);
    let parent = sh.args(oracle.stamper("C").token(3).command()).spawn();
    let pid = oracle.wait_for_run("C").main().pid;
    let _traced = Traced::hold(pid);
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), Signal::SIGKILL).expect("it lives");
    let ended = parent.wait().exits(0);
    assert_eq!(ended.stdout, "137\n");
}

#[test]
fn a_process_that_is_gone_cannot_be_held() {
    let mut child = Elect::new("true").spawn();
    let pid = child.pid();
    eventually("its end", || (!child.is_running()).then_some(()));
    let panic = std::panic::catch_unwind(|| Traced::hold(pid)).expect_err("no such process");
    assert!(panic.downcast_ref::<String>().is_some_and(|said| said.contains("ESRCH")));
}

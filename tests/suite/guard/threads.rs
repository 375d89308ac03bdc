//! Commands with threads. The kernel has the reaper of a process wait in a busy loop for a thread that is about to go.
//! A reaper at a real-time priority would keep that thread from the processor for a second.

use elect_testkit::fault::Traced;
use elect_testkit::program::{children, name};
use nix::sys::prctl::set_child_subreaper;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::wait::waitpid;

use crate::prelude::*;
use crate::stage::send;

/// Prints its number once all of its threads run.
const THREADS: &str = "import os, threading\n\
    for _ in range(16):\n    threading.Thread(target=threading.Event().wait).start()\n\
    with open(os.environ['D'] + '/started', 'w') as file:\n    print(os.getpid(), file=file)";
/// The kernel lets others run after twice that time.
const MUCH: Duration = Duration::from_millis(475);

/// Returns the time that the kernel worked for this process's children, and for theirs.
fn system_time() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("the kernel tells").system_time();
    let seconds = u64::try_from(usage.tv_sec()).expect("a time");
    Duration::from_secs(seconds) + Duration::from_micros(usage.tv_usec().unsigned_abs())
}

/// Reads files of all threads, as `htop` does. They stay in the kernel's cache until their thread is gone.
fn look_at_threads(process: &str) {
    for thread in fs::read_dir(format!("/proc/{process}/task")).unwrap() {
        fs::read(thread.unwrap().path().join("stat")).unwrap();
    }
}

/// Asserts that neither the wrapper nor the guardian is busy for long when `strike` ends the run.
#[track_caller]
fn ends_at_once(strike: impl Fn(&mut Running, &str)) {
    // So a guardian without its wrapper belongs to this process.
    set_child_subreaper(true).unwrap();
    for _ in 0..3 {
        let before = system_time();
        let ground = Ground::new();
        let mut elect =
            ground.job().args(["python3", "-c", THREADS]).under(["taskset", "-c", "0"]).spawn();
        let command = ground.said("started");
        let guardian = elect.guardian();
        strike(&mut elect, &command);
        elect.wait();
        let _ = waitpid(Pid::from_raw(guardian), None);
        let took = system_time().checked_sub(before).unwrap();
        assert!(took < MUCH, "{took:?} of system time");
    }
}

#[test]
fn a_guardian_that_looked_for_children_of_threads_reaps_them_at_once() {
    ends_at_once(|elect, _| elect.signal(Signal::SIGKILL));
}

#[test]
fn a_guardian_reaps_threads_at_once_that_others_look_at() {
    ends_at_once(|elect, command| {
        look_at_threads(command);
        elect.signal(Signal::SIGTERM);
    });
}

#[test]
fn a_wrapper_reaps_threads_at_once_that_others_look_at() {
    ends_at_once(|elect, command| {
        look_at_threads(command);
        send(elect.guardian(), Signal::SIGKILL);
    });
}

/// A process beside the one with threads.
const BESIDE: &str = r#"sleep 1000 & python3 -c "$THREADS" & wait"#;

/// Asserts that the process that reaps after `strike` is not busy for long with threads that end while another process
/// lives on, which a tracer does not let end.
#[track_caller]
fn reaps_at_once_while_another_lives_on(strike: impl Fn(&mut Running)) {
    set_child_subreaper(true).unwrap();
    for _ in 0..3 {
        let before = system_time();
        let ground = Ground::new();
        let elect = ground.job().args(["sh", "-c", BESIDE]).env("THREADS", THREADS);
        let mut elect = elect.under(["taskset", "-c", "0"]).spawn();
        let python = ground.said("started");
        let guardian = elect.guardian();
        let shell = *children(guardian).first().expect("the command");
        let is_beside = |pid: &i32| name(*pid).as_deref() == Some("sleep");
        let beside = children(shell).into_iter().find(is_beside).expect("a process");
        let beside = Traced::keep(beside);
        let threads = fs::read_dir(format!("/proc/{python}/task")).unwrap();
        let threads = threads.map(|it| it.unwrap().file_name().into_string().unwrap());
        let last = threads.filter(|it| *it != python).last().expect("a thread");
        let last = Traced::keep(last.parse().expect("a number"));
        look_at_threads(&python);
        strike(&mut elect);
        let is_there = |pid: &str| Path::new("/proc").join(pid).exists();
        let shell = shell.to_string();
        eventually("the dead to be reaped", || (!is_there(&shell)).then_some(()));
        drop(last);
        eventually("the other process to be reaped", || (!is_there(&python)).then_some(()));
        drop(beside);
        elect.wait();
        let _ = waitpid(Pid::from_raw(guardian), None);
        let took = system_time().checked_sub(before).unwrap();
        assert!(took < MUCH, "{took:?} of system time");
    }
}

#[test]
fn a_guardian_that_waits_for_the_end_reaps_threads_at_once() {
    reaps_at_once_while_another_lives_on(|elect| elect.signal(Signal::SIGTERM));
}

#[test]
fn a_guardian_that_kills_reaps_threads_at_once() {
    reaps_at_once_while_another_lives_on(|elect| elect.signal(Signal::SIGKILL));
}

#[test]
fn a_wrapper_that_kills_reaps_threads_at_once() {
    reaps_at_once_while_another_lives_on(|elect| send(elect.guardian(), Signal::SIGKILL));
}

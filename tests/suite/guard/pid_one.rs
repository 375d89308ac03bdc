//! elect as the first process of a container.

use std::fs;

use elect_testkit::program::{Elect, Running, children, eventually, name, state};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{Ground, unstartable};

fn contained(elect: Elect) -> Elect {
    elect.under(["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"])
}

/// The process id, as seen from outside, of the elect that `unshare` has forked.
#[track_caller]
fn first(unshare: &mut Running) -> i32 {
    let parent = unshare.pid();
    eventually("elect in its namespace", || {
        children(parent).into_iter().find(|&child| name(child).as_deref() == Some("elect"))
    })
}

#[test]
fn the_exit_code_is_kept() {
    let ground = Ground::new();
    contained(ground.job().arg("-n").sh("exit 7")).run().exits(7).is_silent();
    contained(ground.job().arg("-n").sh("kill -TERM $$")).run().exits(143).is_silent();
    let script = unstartable(ground.path(), "/no/such");
    contained(ground.job().arg(script)).run().exits(127);
    ground.is_left_empty();
}

/// Of a pod people see nothing but its log: who stands by says there once that it waits, and that it leads.
#[test]
fn a_standby_says_once_that_it_waits_and_that_it_leads() {
    let ground = Ground::new();
    let leader = ground.leader();
    let mut waiting = contained(ground.job().sh("echo ran")).spawn();
    first(&mut waiting);
    ground.awaits(1);
    drop(leader);
    let said = waiting.wait().exits(0).prints("ran\n").stderr;
    let lines: Vec<&str> = said.lines().collect();
    let is_turn = |line: &str, turn: &str| line.starts_with(&format!("elect: {turn}"));
    assert!(
        matches!(lines[..], [waits, leads] if is_turn(waits, "waiting, 1 ahead")
        && is_turn(leads, "leading, token ")),
        "{said}"
    );
    // No standby remains for a job that must run now or never, or once. A user who wants no messages gets none.
    for flags in [&["-n"][..], &["-w", "1h"], &["--once", "x"], &["-q"]] {
        contained(ground.job().args(flags).sh("echo ran")).run().exits(0).is_quiet();
    }
    let sidecar = ground.elect("sidecar").args(["-e", "job"]);
    let mut sidecar = contained(sidecar).spawn();
    let elect = first(&mut sidecar);
    eventually("the sidecar to lead", || {
        (ground.status()["leader"]["token"].is_u64()).then_some(())
    });
    kill(Pid::from_raw(elect), Signal::SIGTERM).unwrap();
    sidecar.wait().exits(0).says("elect: leading, token ");
}

#[test]
fn signals_are_obeyed() {
    for (script, code) in [
        ("trap 'exit 5' TERM; echo >\"$D/started\"; while :; do sleep 3600 & wait; done", 5),
        ("echo >\"$D/started\"; exec sleep 3600", 143),
    ] {
        let ground = Ground::new();
        let mut unshare = contained(ground.job().sh(script)).spawn();
        let elect = first(&mut unshare);
        ground.said("started");
        kill(Pid::from_raw(elect), Signal::SIGTERM).unwrap();
        unshare.wait().exits(code);
    }
    // And in the queue, where nothing but the handler stands for the default action.
    let ground = Ground::new();
    let _leader = ground.leader();
    for (signal, code) in [(Signal::SIGTERM, 143), (Signal::SIGINT, 130), (Signal::SIGHUP, 129)] {
        let waiter = ground.job().sh("echo ran").under(["env", "--default-signal"]);
        let mut unshare = contained(waiter).spawn();
        let elect = first(&mut unshare);
        ground.awaits(1);
        kill(Pid::from_raw(elect), signal).unwrap();
        unshare.wait().exits(code).prints("");
        ground.awaits(0);
    }
}

/// As `docker exec` does: processes that come into the container from outside, and leave orphans.
#[track_caller]
fn come_and_leave_orphans(ground: &Ground, elect: i32) {
    let target = elect.to_string();
    let script = "for i in 1 2 3 4 5 6 7 8 9 10; do (echo >>\"$D/orphans\"; sleep 0.02; \
                  echo >>\"$D/ended\") & done";
    let enter = Elect::new("nsenter").args(["--target", &target, "--pid", "--"]);
    enter.env("D", ground.path()).sh(script).command().status().unwrap();
    let lines = |file: &str| {
        fs::read_to_string(ground.path().join(file)).unwrap_or_default().lines().count()
    };
    eventually("ten orphans", || (lines("orphans") == 10).then_some(()));
    eventually("the end of ten orphans", || (lines("ended") == 10).then_some(()));
}

#[test]
fn orphans_of_other_processes_are_reaped() {
    let ground = Ground::new();
    let mut unshare = contained(ground.job().sh(crate::usage::STAY)).spawn();
    let elect = first(&mut unshare);
    ground.said("started");
    come_and_leave_orphans(&ground, elect);
    let guardian = eventually("a guardian alone", || match children(elect)[..] {
        [only] => Some(only),
        _ => None,
    });
    assert_eq!(name(guardian).as_deref(), Some("elect-guardian"));
    assert!(children(guardian).iter().all(|&child| state(child) != Some('Z')));
    kill(Pid::from_raw(elect), Signal::SIGTERM).unwrap();
    unshare.wait().exits(143);
}

#[test]
fn orphans_of_the_command_are_reaped_while_it_runs() {
    let ground = Ground::new();
    let script = "i=0; while [ $i -lt 10 ]; do (setsid true & ) ; i=$((i+1)); done; \
                  echo >\"$D/started\"; exec sleep 3600";
    let mut unshare = contained(ground.job().sh(script)).spawn();
    let elect = first(&mut unshare);
    ground.said("started");
    let guardian = eventually("a guardian", || {
        children(elect).into_iter().find(|&child| name(child).as_deref() == Some("elect-guardian"))
    });
    eventually("the end of all orphans", || (children(guardian).len() == 1).then_some(()));
    kill(Pid::from_raw(elect), Signal::SIGTERM).unwrap();
    unshare.wait().exits(143);
}

#[test]
fn leaders_in_containers_exclude_each_other() {
    let ground = Ground::new();
    let leader = contained(ground.job().sh(crate::usage::STAY)).spawn();
    ground.said("started");
    contained(ground.job().args(["-n", "true"])).run().exits(75);
    // In another namespace another number has no meaning as a parent: this run simply waits.
    let waiter = contained(ground.job().sh("echo ran")).spawn();
    ground.awaits(1);
    drop(leader);
    waiter.wait().exits(0).prints("ran\n");
}

#[test]
fn orphans_are_reaped_while_it_waits_and_term_ends_the_wait() {
    let ground = Ground::new();
    let _leader = ground.leader();
    let mut unshare = contained(ground.job().sh("echo ran")).spawn();
    let elect = first(&mut unshare);
    ground.awaits(1);
    come_and_leave_orphans(&ground, elect);
    eventually("no child but the guardian", || (children(elect).len() == 1).then_some(()));
    kill(Pid::from_raw(elect), Signal::SIGTERM).unwrap();
    unshare.wait().exits(143).prints("");
    ground.awaits(0);
}

#[test]
fn term_from_outside_ends_orphans_that_do_not_listen() {
    let ground = Ground::new();
    let orphans = "for i in 1 2 3; do (setsid sh -c 'trap \"\" TERM HUP; echo >>\"$D/orphans\"; \
                   while :; do sleep 0.01; done' & ); done; until [ -e \"$D/orphans\" ] && \
                   [ $(wc -l <\"$D/orphans\") = 3 ]; do sleep 0.01; done";
    let script = format!(
        "{orphans}; trap 'exit 5' TERM; echo >\"$D/started\"; while :; do sleep 0.01; done"
    );
    let run = ground.job().args(["--stop-timeout", "500ms"]);
    let mut unshare = contained(run.sh(&script)).spawn();
    let elect = first(&mut unshare);
    ground.said("started");
    let guardian = children(elect)[0];
    eventually("the orphans at the guardian", || (children(guardian).len() == 4).then_some(()));
    kill(Pid::from_raw(elect), Signal::SIGTERM).unwrap();
    unshare.wait().exits(5);
    ground.is_left_empty();
}

/// The first process of a container cannot end by a signal of its own.
#[test]
fn an_interrupt_that_ended_the_command_is_an_exit_code() {
    let ground = Ground::new();
    let heeding = ["env", "--default-signal=INT"];
    let ended = contained(ground.job().sh("kill -INT $$").under(heeding)).run();
    assert_eq!(ended.status.code(), Some(130), "{ended:?}");
}

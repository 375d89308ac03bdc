//! `elect check`: whether the leadership that a command runs under still holds.

use nix::sys::signal::kill;

use crate::prelude::*;

#[test]
fn a_command_and_its_descendants_see_their_leadership() {
    let ground = Ground::new();
    for (flags, nested) in [
        ("", ""),
        ("--remaining 5s", ""),
        ("--remaining 9y", "sh -c 'exec \"$@\"' sh"),
        ("", "setsid -w"),
    ] {
        let script = format!("{nested} {ELECT} check {flags}");
        ground.job().sh(&script).run().exits(0).prints("leading, no time limit\n").is_quiet();
    }
    ground.job().sh(&format!("ELECT_REMAINING=5 {ELECT} check")).run().exits(0);
}

#[test]
fn outside_of_any_leadership_there_is_nothing_to_check() {
    let check = || Elect::new(ELECT).arg("check");
    check().run().exits(125).prints("").says("ELECT_LEASE is not set").says("inside a command");
    check().env("ELECT_LEASE", "").run().exits(125).says("ELECT_LEASE is not set");
    for lease in ["/nonexistent", "/dev/null", "/etc/passwd", "/proc/self/mem", "/"] {
        check().env("ELECT_LEASE", lease).run().exits(125).prints("").says(lease);
    }
    check().args(["--remaining", "soon"]).run().exits(125).says("500ms, 15s");
    check().arg("job").run().exits(125);
}

/// A command whose grandchild leaves its session, and tells where its lease is.
const ESCAPING: &str = "setsid sh -c 'echo $ELECT_LEASE >\"$D/lease\"; exec sleep 3600' & \
                        until [ -s \"$D/lease\" ]; do sleep 0.01; done; \
                        echo $$ >\"$D/started\"; wait";

#[test]
fn nothing_is_left_to_check_once_elect_was_killed() {
    let ground = Ground::new();
    let elect = ground.job().sh(ESCAPING).spawn();
    ground.said("started");
    let check = Elect::new(ELECT).arg("check").env("ELECT_LEASE", ground.said("lease"));
    check.run().exits(0);
    elect.ended_by(Signal::SIGKILL);
    check.run().exits(125).prints("");
}

#[test]
fn leadership_is_over_as_soon_as_the_command_is_killed() {
    let ground = Ground::new();
    let mut elect = ground.job().args(["--hold", "1h"]).sh(ESCAPING).spawn();
    let command: i32 = ground.said("started").parse().unwrap();
    let check = Elect::new(ELECT).arg("check").env("ELECT_LEASE", ground.said("lease"));
    check.run().exits(0);
    // elect goes on and keeps the lease in the store, but no command of it runs any more.
    kill(Pid::from_raw(command), Signal::SIGKILL).unwrap();
    eventually("the end of the leadership", || (check.run().code() == 1).then_some(()));
    check.run().exits(1).prints("leadership has ended\n").is_quiet();
    assert!(elect.is_running());
    elect.ended_by(Signal::SIGTERM).exits(137);
}

#[test]
fn a_stop_timeout_limits_the_remaining_time() {
    let ground = Ground::new();
    let script = "trap 'echo told >\"$D/told\"' TERM; echo $ELECT_LEASE >\"$D/lease\"; \
                  while :; do sleep 3600 & wait; done";
    let mut elect = ground.job().args(["--stop-timeout", "1h"]).sh(script).spawn();
    let check = Elect::new(ELECT).arg("check").env("ELECT_LEASE", ground.said("lease"));
    elect.signal(Signal::SIGTERM);
    ground.said("told");
    let left = |flags: &[&str]| check.clone().args(flags).run();
    eventually("a limit", || left(&[]).stdout.ends_with("s left\n").then_some(()));
    left(&["--remaining", "30m"]).exits(0);
    left(&["--remaining", "2h"]).exits(1);
    drop(elect);
}

/// Its clock is shifted, and would say that much is left.
#[test]
fn a_clock_of_another_time_namespace_says_nothing() {
    let ground = Ground::new();
    let script =
        "trap : TERM; echo $ELECT_LEASE >\"$D/lease\"; while :; do sleep 3600 & wait; done";
    let mut elect = ground.job().args(["--stop-timeout", "1h"]).sh(script).spawn();
    let check = Elect::new(ELECT).arg("check").env("ELECT_LEASE", ground.said("lease"));
    let elsewhere = check.clone().under(["unshare", "-T", "--boottime", "6000", "-f", "--"]);
    elsewhere.run().exits(0).prints("leading, no time limit\n");
    elect.signal(Signal::SIGTERM);
    eventually("a limit", || check.run().stdout.ends_with("s left\n").then_some(()));
    elsewhere.run().exits(125).prints("").says("time namespace");
    let behind = check.clone().under(["unshare", "-T", "--boottime", "-1", "-f", "--"]);
    behind.run().exits(125).prints("").says("time namespace");
    drop(elect);
}

#[test]
fn check_asks_no_store() {
    let ground = Ground::new();
    let script = "echo $ELECT_LEASE >\"$D/lease\"; until [ -e \"$D/go\" ]; do sleep 0.01; done";
    let mut elect = ground.job().sh(script).spawn();
    let check = Elect::new(ELECT).arg("check").env("ELECT_LEASE", ground.said("lease"));
    let away = ground.path().join("away");
    // A leader checks its lock, and would notice.
    elect.signal(Signal::SIGSTOP);
    fs::rename(ground.state(), &away).unwrap();
    check.run().exits(0).prints("leading, no time limit\n");
    fs::rename(&away, ground.state()).unwrap();
    elect.signal(Signal::SIGCONT);
    fs::write(ground.path().join("go"), "").unwrap();
    elect.wait().exits(0);
}

//! A look that is not over when the command is.

use elect_testkit::program::{Running, children, eventually, is_alive, line_of, name};
use nix::sys::signal::Signal;

use crate::stage::send;
use crate::support::Ground;

/// Ignores TERM, leaves a process in another session, and hangs.
const HANGING: &str = "sh -c 'trap \"\" TERM; \
                       setsid sh -c \"trap \\\"\\\" TERM; echo \\$\\$ >$D/escaped; exec sleep 3600\" & \
                       echo $$ >$D/hanging; sleep 3600; sleep 3600'";
const UNTIL_END: &str = "while ! [ -e \"$D/end\" ]; do sleep 0.01; done; exit 5";

/// A leader whose check hangs, and the processes of the check.
fn hanging(ground: &Ground) -> (Running, [i32; 2]) {
    let elect = ground.looking(HANGING).args(["--health-timeout", "1h"]).sh(UNTIL_END).spawn();
    let number = |file: &str| line_of(&ground.path().join(file)).trim_end().parse().unwrap();
    let checks = [number("hanging"), number("escaped")];
    (elect, checks)
}

#[test]
fn a_check_ends_with_the_command_before_another_leads() {
    let ground = Ground::new();
    let (elect, checks) = hanging(&ground);
    let script = format!(
        "for pid in {} {}; do kill -0 $pid && echo lives; done; true",
        checks[0], checks[1]
    );
    let next = ground.job().sh(&script).spawn();
    ground.awaits(1);
    std::fs::write(ground.path().join("end"), "").unwrap();
    elect.wait().exits(5);
    next.wait().exits(0).prints("");
}

#[test]
fn it_ends_with_elect() {
    let ground = Ground::new();
    let (mut elect, checks) = hanging(&ground);
    elect.signal(Signal::SIGKILL);
    for pid in checks {
        eventually("its end", || (!is_alive(pid)).then_some(()));
    }
}

#[test]
fn it_ends_with_a_guardian_that_is_killed() {
    let ground = Ground::new();
    let (mut elect, checks) = hanging(&ground);
    let pid = elect.pid();
    // The other guardian belongs to the check.
    let guardians =
        children(pid).into_iter().filter(|&it| name(it).as_deref() == Some("elect-guardian"));
    let command = guardians.min().expect("the first one");
    send(command, Signal::SIGKILL);
    elect.wait().exits(125);
    assert!(checks.into_iter().all(|pid| !is_alive(pid)));
}

/// A service that is told to end answers no more.
#[test]
fn a_command_that_is_told_to_end_need_not_be_well() {
    let ground = Ground::new();
    let script = "trap 'echo >\"$D/ill\"; sleep 0.5; exit 7' TERM; echo >\"$D/started\"; \
                  while :; do sleep 0.01; done";
    let elect = ground.looking(&ground.unless("ill")).sh(script).spawn();
    ground.said("started");
    elect.ended_by(Signal::SIGTERM).exits(7);
}

//! The ways to stop a unit, one for each `KillMode`.

use std::time::Duration;

use super::LONG;
use super::manager::{KillMode, Manager};
use crate::support::Ground;

const MODES: [KillMode; 3] = [KillMode::ControlGroup, KillMode::Mixed, KillMode::Process];

/// A tree of two that takes its time to end in good order, and says how often it was told to.
const ORDERLY: &str = "trap 'echo term >>\"$D/terms\"; wait $!; echo >\"$D/orderly\"; exit 0' TERM; \
                       (trap '' TERM; until [ -e \"$D/terms\" ]; do sleep 0.01; done) & \
                       echo $$ >\"$D/started\"; wait $!; exit 9";

#[test]
fn a_leader_ends_in_good_order_in_every_kill_mode() {
    for mode in MODES {
        let ground = Ground::new();
        let mut unit = Manager::new().starts(ground.job().sh(ORDERLY));
        unit.hears("READY=1");
        ground.said("started");
        let mut standby = Manager::new().starts(ground.job().args(["--id", "next", "true"]));
        standby.hears("STATUS=waiting for job, place 1");
        let (ended, killed, heard) = unit.stop(mode, LONG);
        ended.exits(0).is_silent();
        assert!(!killed && ground.has("orderly"), "{mode:?}");
        assert!(heard.iter().any(|line| line == "STOPPING=1"), "{heard:?}");
        // The lease was given up: the next leads at once.
        standby.ends().0.exits(0);
        let terms = std::fs::read_to_string(ground.path().join("terms")).unwrap().lines().count();
        match mode {
            KillMode::ControlGroup => assert!((1..=2).contains(&terms), "{terms}"),
            KillMode::Mixed | KillMode::Process => assert_eq!(terms, 1, "{mode:?}"),
        }
    }
}

#[test]
fn a_command_without_traps_ends_as_success_exit_status_has_it() {
    for mode in MODES {
        let ground = Ground::new();
        let mut unit = Manager::new().starts(ground.job().sh(crate::usage::STAY));
        unit.hears("READY=1");
        ground.said("started");
        let (ended, killed, _) = unit.stop(mode, LONG);
        // An exit code, and no signal: `SuccessExitStatus=143` is about the former.
        assert_eq!((ended.status.code(), killed), (Some(143), false), "{mode:?}");
        ground.is_left_empty();
    }
}

#[test]
fn a_standby_leaves_the_queue() {
    for mode in MODES {
        let ground = Ground::new();
        let _leader = ground.leader();
        let mut unit = Manager::new().starts(ground.job().sh("echo ran"));
        unit.hears("STATUS=waiting");
        let (ended, killed, heard) = unit.stop(mode, LONG);
        assert_eq!((ended.status.code(), killed), (Some(143), false), "{mode:?}");
        ended.prints("");
        assert!(heard.iter().any(|line| line == "STOPPING=1"), "{heard:?}");
        ground.awaits(0);
    }
}

/// When `TimeoutStopSec` is over everything is killed, and whatever the mode spares elect kills.
#[test]
fn a_command_that_does_not_listen_is_killed_in_the_end() {
    for mode in MODES {
        let ground = Ground::new();
        let deaf = "trap '' TERM; (setsid sh -c 'echo >\"$D/started\"; exec sleep 3600') & wait";
        let mut unit = Manager::new().starts(ground.job().sh(deaf));
        unit.hears("READY=1");
        ground.said("started");
        let mut standby = Manager::new().starts(ground.job().args(["--id", "next", "true"]));
        standby.hears("STATUS=waiting for job, place 1");
        let (ended, killed, _) = unit.stop(mode, Duration::from_millis(100));
        ended.exits(137);
        assert!(killed, "{mode:?}");
        standby.ends().0.exits(0);
    }
}

#[test]
fn elects_own_limit_is_not_cut_short() {
    let ground = Ground::new();
    let deaf = "trap '' TERM; echo >\"$D/started\"; while :; do sleep 0.01; done";
    let mut unit = Manager::new().starts(ground.job().args(["--stop-timeout", "300ms"]).sh(deaf));
    unit.hears("READY=1");
    ground.said("started");
    let (ended, killed, heard) = unit.stop(KillMode::Mixed, LONG);
    ended.exits(137);
    assert!(!killed);
    assert!(heard.iter().any(|line| line == "EXTEND_TIMEOUT_USEC=15300000"), "{heard:?}");
}

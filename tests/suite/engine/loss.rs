//! Leadership that is lost while the command runs. The cause is an act that the manual forbids: files of a living
//! election removed by hand. The leader notices at its next renewal.

use elect_testkit::program::{is_alive, name};

use crate::prelude::*;

const OBEYING: &str = "trap 'echo obeyed; exit 0' TERM; trap 'echo usr1; exit 0' USR1; \
                       echo $$ >\"$D/started\"; while :; do sleep 3600 & wait; done";
const STUBBORN: &str = "trap '' TERM; echo $$ >\"$D/started\"; \
                        while :; do echo >\"$D/alive\"; sleep 0.01; done";

#[track_caller]
fn start(ground: &Ground, flags: &[&str], script: &str) -> (Running, i32) {
    let record = ground.path().join("outcome");
    let elect = ground.job().args(flags).arg("--outcome").arg(record).sh(script).spawn();
    (elect, ground.said("started").parse().unwrap())
}

pub(crate) fn evict(ground: &Ground) {
    for entry in ground.queue() {
        fs::remove_file(entry).unwrap();
    }
}

#[track_caller]
fn is_lost(ended: Ended, ground: &Ground) -> Ended {
    let record: Value =
        serde_json::from_str(&fs::read_to_string(ground.path().join("outcome")).unwrap()).unwrap();
    assert_eq!((&record["outcome"], &record["exit_code"]), (&"lost".into(), &124.into()));
    ended.exits(124).says("leadership is lost")
}

#[test]
fn an_evicted_command_is_asked_then_killed() {
    // Side by side, as each takes until the next renewal.
    let (plain, other, hard) = (Ground::new(), Ground::new(), Ground::new());
    let (obeys, _) = start(&plain, &[], OBEYING);
    let (usr1, _) = start(&other, &["-s", "USR1"], OBEYING);
    let (stubborn, command) = start(&hard, &["-k", "100ms"], STUBBORN);
    for ground in [&plain, &other, &hard] {
        evict(ground);
        // No candidate leads before the evicted command is gone.
        ground.job().args(["-n"]).sh("echo ran").run().exits(75).prints("");
    }
    is_lost(obeys.wait(), &plain).prints("obeyed\n");
    is_lost(usr1.wait(), &other).prints("usr1\n");
    is_lost(stubborn.wait(), &hard);
    assert!(!is_alive(command));
    for ground in [&plain, &other, &hard] {
        ground.job().args(["-n"]).sh("echo ran").run().exits(0).prints("ran\n");
    }
}

#[test]
fn a_command_whose_election_is_removed_is_killed_at_once() {
    let ground = Ground::new();
    let (elect, command) = start(&ground, &["-k", "1h"], OBEYING);
    fs::remove_dir_all(ground.state().join("job")).unwrap();
    is_lost(elect.wait(), &ground).prints("");
    assert!(!is_alive(command));
}

#[test]
fn a_candidate_that_campaigns_after_a_loss_runs_again_with_a_greater_token() {
    let ground = Ground::new();
    let script = "echo $ELECT_TOKEN >>\"$D/tokens\"; grep Sig[BI] /proc/self/status; \
                  cat; exec sleep 3600";
    let mut command = ground.job().args(["--after-loss", "campaign"]).sh(script).command();
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut elect = Running::new(command.spawn().unwrap());
    let pid = elect.pid();
    let tokens = |count| {
        eventually(&format!("{count} runs"), || {
            let text = fs::read_to_string(ground.path().join("tokens")).unwrap_or_default();
            (text.lines().count() == count).then_some(text)
        })
    };
    tokens(1);
    evict(&ground);
    let text = tokens(2);
    let both: Vec<u64> = text.lines().map(|token| token.parse().unwrap()).collect();
    assert!(both[0] < both[1], "{both:?}");
    assert_eq!(ground.status()["leader"]["token"], both[1]);
    assert_eq!(ground.status()["leader"]["pid"], pid, "the same process");
    assert_eq!(name(pid).as_deref(), Some("elect"), "people look for it by its name");
    let ended = elect.ended_by(Signal::SIGTERM).exits(143);
    let masks: Vec<u64> = ended.stdout.lines().map(mask).collect();
    assert_eq!(masks[..2], masks[2..], "the same signals in both runs: {}", ended.stdout);
}

/// The signals in a line of a process's status, but for the two that the C library keeps to itself: no program can
/// ask for these, and they change when it makes a thread.
fn mask(line: &str) -> u64 {
    let (_, digits) = line.split_once('\t').expect("a mask");
    u64::from_str_radix(digits, 16).expect("hexadecimal") & !(0b11 << 31)
}

/// A service manager says it once.
#[test]
fn a_leader_told_to_end_during_a_loss_does_not_campaign_again() {
    let ground = Ground::new();
    let script = "trap 'echo asked >>\"$D/asked\"' TERM; echo $ELECT_TOKEN >>\"$D/tokens\"; \
                  while :; do sleep 0.02; done";
    let elect = ground.job().args(["--after-loss", "campaign", "-k", "3s"]).sh(script).spawn();
    let lines = |name: &str| {
        let text = fs::read_to_string(ground.path().join(name)).unwrap_or_default();
        text.lines().count()
    };
    eventually("the command", || (lines("tokens") == 1).then_some(()));
    evict(&ground);
    eventually("the command to be asked to stop", || (lines("asked") == 1).then_some(()));
    elect.ended_by(Signal::SIGTERM).exits(124);
    assert_eq!(lines("tokens"), 1, "it was started again");
}

#[test]
fn a_waiter_whose_entry_is_removed_joins_again() {
    let ground = Ground::new();
    let leader = ground.leader();
    let waiter = ground.job().sh("echo ran").spawn();
    ground.awaits(1);
    fs::remove_file(&ground.queue()[1]).unwrap();
    ground.awaits(0);
    drop(leader);
    waiter.wait().exits(0).prints("ran\n");
}

#[test]
fn a_lost_leadership_is_an_error_however_quiet_elect_is() {
    let grounds = [Ground::new(), Ground::new()];
    let started = grounds.each_ref().map(|ground| start(ground, &["-q"], OBEYING).0);
    evict(&grounds[0]);
    fs::remove_dir_all(grounds[1].state()).unwrap();
    for (running, ground) in started.into_iter().zip(&grounds) {
        let ended = is_lost(running.wait(), ground)
            .says("elect: error: leadership is lost, stopping the command");
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
    }
}

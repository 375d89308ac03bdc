//! elect as the main process of a service that notifies its manager.

mod manager;
mod sidecar;
mod sockets;
mod stopping;
mod unit_file;
mod units;

use elect_testkit::program::is_alive;

use self::manager::{KillMode, Manager};
use crate::prelude::*;
use crate::stage::{send, stop};
use crate::usage::STAY;

/// More than any stop takes that needs no KILL.
const LONG: Duration = Duration::from_secs(60);

#[test]
fn a_leader_says_that_it_is_ready_leads_and_stops() {
    for manager in [Manager::new(), Manager::hidden()] {
        let ground = Ground::new();
        let mut unit = manager.starts(ground.job().sh(STAY));
        assert_eq!(unit.hears("STATUS="), "STATUS=joining job");
        unit.hears("READY=1");
        let status = unit.hears("STATUS=leading job since 20");
        let token = ground.status()["leader"]["token"].to_string();
        assert!(status.ends_with(&format!("Z, token {token}")), "{status}");
        ground.said("started");
        let (ended, killed, heard) = unit.stop(KillMode::Mixed, LONG);
        ended.exits(143).is_silent();
        assert!(!killed);
        let told = "STATUS=stopping: SIGTERM was passed on to the command";
        let end: Vec<_> = heard.iter().skip_while(|line| *line != told).skip(1).collect();
        assert_eq!(end, ["STOPPING=1", "STATUS=leaving job"], "{heard:?}");
        ground.is_left_empty();
    }
}

#[test]
fn a_leader_in_a_slot_names_the_slot() {
    let ground = Ground::new();
    let mut unit = Manager::new().starts(ground.job().args(["--slots", "2"]).sh("echo ran"));
    unit.hears("STATUS=leading job:0 since 20");
    unit.ends().0.exits(0).prints("ran\n");
}

#[test]
fn a_standby_is_ready_and_names_the_leader() {
    let ground = Ground::new();
    let leader = ground.job().args(["--id", "first"]).sh(STAY).spawn();
    ground.said("started");
    let mut unit = Manager::new().starts(ground.job().sh("echo ran"));
    unit.hears("READY=1");
    let status = unit.hears("STATUS=waiting for job, place 1 of 1, led by first-");
    assert!(status.contains(" since 20"), "{status}");
    drop(leader);
    unit.hears("STATUS=leading job");
    let (ended, heard) = unit.ends();
    ended.exits(0).prints("ran\n");
    assert_eq!(heard.iter().filter(|line| *line == "READY=1").count(), 1, "{heard:?}");
    assert!(heard.iter().any(|line| line == "STOPPING=1"));
}

#[test]
fn a_paused_standby_says_that_the_election_is_paused_and_why() {
    let ground = Ground::new();
    let leader = ground.job().args(["--id", "first"]).sh(STAY).spawn();
    ground.said("started");
    let standby = |label: &str| {
        let mut unit = Manager::new().starts(ground.job().args(["--id", label]).sh(STAY));
        unit.hears("STATUS=waiting for job");
        unit
    };
    let (mut next, mut last) = (standby("next"), standby("last"));
    last.hears("STATUS=waiting for job, place 2 of 2, led by first-");
    ground.elect("pause").args(["job", "--reason", "deploy"]).run().exits(0);
    leader.wait().exits(124);
    for (unit, place) in [(&mut next, 1), (&mut last, 2)] {
        let status = unit.hears(&format!("STATUS=waiting for job, place {place} of 2, paused by "));
        assert!(status.ends_with(": deploy"), "{status}");
    }
    ground.elect("resume").arg("job").run().exits(0);
    next.hears("STATUS=leading job");
    last.hears("STATUS=waiting for job, place 1 of 1, led by next-");
}

/// A user who can write the control cell can write a reason that, once escaped, is longer than any message may be.
#[test]
fn a_standby_is_ready_however_long_a_reason_is() {
    let ground = Ground::new();
    ground.elect("pause").args(["job", "--create", "--reason", "deploy"]).run().exits(0);
    let control = ground.state().join("job/orders");
    let text = fs::read_to_string(&control).expect("a file");
    fs::write(&control, text.replace("deploy", &"deploy".repeat(7_000))).expect("a file");
    let mut unit = Manager::new().starts(ground.job().sh(STAY));
    unit.hears("READY=1");
    let status = unit.hears("STATUS=waiting for job, place 1 of 1, paused by ");
    assert!(status.ends_with("..."), "{status}");
}

#[test]
fn a_lease_kept_after_the_command_is_reported() {
    let ground = Ground::new();
    let mut unit = Manager::new().starts(ground.job().args(["--hold", "1h", "true"]));
    unit.hears("STATUS=the command has ended; keeping the lease of job until 20");
    assert_eq!(unit.has_heard("STOPPING=1"), 0);
    let (ended, killed, _) = unit.stop(KillMode::Mixed, LONG);
    ended.exits(0);
    assert!(!killed);
}

#[cfg(feature = "sim")]
#[test]
fn troubles_with_the_store_are_told_until_they_are_over() {
    use elect_testkit::program::Elect;
    use elect_testkit::sim::{Effect, Kind, Op, Options, Rule, SimServer};
    let server = SimServer::start(&Options::new(Kind::Queue));
    let run = ["run", "-b", &server.url(), "-e", "job", "sleep", "1000"];
    let mut unit = Manager::new().starts(Elect::new(ELECT).args(run));
    let calm = unit.hears("STATUS=leading job");
    server.controls().add(Rule::new(Effect::Refuse).op(Op::Renew).times(2));
    let trouble = unit.hears(&format!("{calm}; "));
    assert!(trouble.len() > calm.len() + 5, "{trouble}");
    assert_eq!(unit.hears("STATUS="), calm);
    unit.stop(KillMode::Mixed, LONG).0.exits(143);
}

#[test]
fn a_service_that_campaigns_again_stays_the_same() {
    let ground = Ground::new();
    let elect = ground.job().args(["--after-loss", "campaign"]).sh(STAY);
    let mut unit = Manager::new().starts(elect.env("WATCHDOG_USEC", "2000000"));
    unit.hears("READY=1");
    let main = unit.main.pid();
    ground.said("started");
    ground.queue().into_iter().for_each(|entry| fs::remove_file(entry).unwrap());
    unit.hears("STATUS=leadership of job is lost, stopping: ");
    // It executes itself anew, as the same process, and says it again, which does no harm.
    unit.hears("STATUS=joining job");
    unit.hears("READY=1");
    unit.hears("STATUS=leading job");
    assert_eq!((unit.main.pid(), unit.has_heard("STOPPING=1")), (main, 0));
    unit.hears("WATCHDOG=1");
    unit.stop(KillMode::Mixed, LONG).0.exits(143);
}

#[test]
fn signs_of_life_come_while_the_guardian_can_act() {
    let ground = Ground::new();
    let elect = ground.job().sh(STAY).env("WATCHDOG_USEC", "400000");
    let mut unit = Manager::new().starts(elect);
    unit.hears("READY=1");
    for _ in 0..5 {
        unit.hears("WATCHDOG=1");
    }
    let guardian = unit.main.guardian();
    stop(guardian);
    unit.is_silent_for(Duration::from_secs(1));
    send(guardian, Signal::SIGCONT);
    unit.hears("WATCHDOG=1");
    // And while there is nothing to guard yet.
    let mut standby =
        Manager::new().starts(ground.job().arg("true").env("WATCHDOG_USEC", "400000"));
    standby.hears("READY=1");
    for _ in 0..5 {
        standby.hears("WATCHDOG=1");
    }
}

/// A manager that has missed them sends ABRT.
#[test]
fn a_unit_that_hangs_is_ended_by_its_manager_and_leaves_nothing() {
    let ground = Ground::new();
    let elect = ground.job().sh(STAY).env("WATCHDOG_USEC", "400000");
    let mut unit = Manager::new().starts(elect);
    unit.hears("WATCHDOG=1");
    let command: i32 = ground.said("started").parse().unwrap();
    let main = unit.main.pid();
    stop(main);
    unit.is_silent_for(Duration::from_secs(1));
    nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_CORE, 0, 0).unwrap();
    unit.processes().into_iter().for_each(|pid| send(pid, Signal::SIGABRT));
    send(main, Signal::SIGCONT);
    assert_eq!(unit.ends().0.code(), 134);
    ground.job().arg("true").run().exits(0);
    assert!(!is_alive(command));
}

#[test]
fn signs_of_life_that_are_wanted_of_another_process_are_not_given() {
    let ground = Ground::new();
    let elect = ground.job().sh("until [ -e \"$D/go\" ]; do sleep 0.01; done");
    let elect = elect.env("WATCHDOG_USEC", "1000").env("WATCHDOG_PID", "1");
    let mut unit = Manager::new().starts(elect);
    unit.hears("STATUS=leading");
    fs::write(ground.path().join("go"), "").unwrap();
    let (ended, heard) = unit.ends();
    ended.exits(0);
    assert!(!heard.iter().any(|line| line == "WATCHDOG=1"), "{heard:?}");
}

#[test]
fn a_manager_that_does_not_read_delays_nothing() {
    let ground = Ground::new();
    let manager = Manager::new();
    manager.fill();
    let elect = ground.job().sh("echo ran").env("WATCHDOG_USEC", "1000");
    let mut unit = manager.starts(elect);
    // Nothing is read before it has ended.
    eventually("its end", || (!unit.main.is_running()).then_some(()));
    unit.main.wait().exits(0).prints("ran\n").is_quiet();

    let manager = Manager::new();
    manager.fill();
    let mut unit = manager.starts(ground.job().sh(STAY));
    ground.said("started");
    // Messages that had to arrive do so as soon as the manager reads.
    unit.hears("READY=1");
    unit.hears("STATUS=leading job");
    unit.stop(KillMode::Mixed, LONG).0.exits(143);
}

#[test]
fn a_manager_that_is_not_there_does_no_harm() {
    let ground = Ground::new();
    let gone = ground.path().join("gone").display().to_string();
    for name in ["", &gone] {
        ground.job().arg("true").env("NOTIFY_SOCKET", name).run().exits(0).is_silent();
    }
    let odd = ground.job().arg("true").env("NOTIFY_SOCKET", "vsock:2:9999");
    odd.run().exits(0).says("NOTIFY_SOCKET");
}

//! A server that is behind does not show a former leader as leading. People are told when a server does not answer for
//! a while.

use std::fs::File;

use elect_testkit::servers::ZooKeeperSetup;

use super::{Arena, Ground, on_each_cluster};
use crate::prelude::*;

on_each_cluster! {
    alone: a_user_that_waits_for_an_answer_is_told
}

fn a_user_that_waits_for_an_answer_is_told(arena: &Arena) {
    let _one = arena.leader("one", 60);
    let silence = arena.silence();
    let asked: [(&[&str], i32); 4] = [
        (&["status", "job"], 0),
        (&["history", "job"], 0),
        (&["resume", "job"], 0),
        (&["get", "-e", "job", "key"], 1),
    ];
    let logs = asked.map(|(words, code)| {
        let log = arena.path(words[0]);
        let mut command = arena.elect(words[0]).args(&words[1..]).command();
        command.stderr(File::create(&log).unwrap());
        (log, code, Running::new(command.spawn().unwrap()))
    });
    let said = |log: &Path| fs::read_to_string(log).unwrap();
    for (log, ..) in &logs {
        eventually("a word", || said(log).contains("still asking").then_some(()));
    }
    drop(silence);
    for (log, code, asking) in logs {
        asking.wait().exits(code);
        assert!(said(&log).contains("no answer from "), "{}", said(&log));
    }
}

fn elect(subcommand: &str, url: &str) -> Elect {
    Elect::new(ELECT).args([subcommand, "-b", url])
}

fn candidate(url: &str, label: &str) -> Running {
    elect("run", url).args(["-e", "job", "--id", label]).sh("exec sleep 3600").spawn()
}

/// Returns the leader's label, as this way to the store shows it, or `None` if it shows no leader.
fn leader(url: &str) -> Option<String> {
    let ended = elect("status", url).args(["-o", "json", "job"]).run();
    let report: Value = serde_json::from_str(&ended.stdout).ok()?;
    let id = report["elections"][0]["leader"]["id"].as_str()?.to_owned();
    Some(id.rsplit_once('-')?.0.to_owned())
}

#[track_caller]
fn wait_for_leader(url: &str, label: &str) {
    eventually(&format!("{label} to lead"), || {
        (leader(url).as_deref() == Some(label)).then_some(())
    });
}

#[track_caller]
fn wait_for_waiter(url: &str, label: &str) {
    eventually(&format!("{label} to wait"), || {
        let ended = elect("status", url).args(["-o", "json", "job"]).run();
        let report: Value = serde_json::from_str(&ended.stdout).ok()?;
        let waiting = report["elections"][0]["waiting"].to_string();
        waiting.contains(&format!("\"{label}-")).then_some(())
    });
}

/// One that sleeps while leaders change knows the old one when it wakes.
#[test]
fn a_member_of_etcd_that_was_stopped_shows_no_old_leader() {
    let etcd = Etcd::start(3);
    let endpoints = etcd.endpoints();
    let (near, far) = (etcd.url_through(&endpoints[..1]), etcd.url_through(&endpoints[1..]));
    let mut leads = candidate(&far, "l0");
    wait_for_leader(&far, "l0");
    for round in 1..=3 {
        let label = format!("l{round}");
        let next = candidate(&far, &label);
        wait_for_waiter(&far, &label);
        let stopped = etcd.stop_member(0);
        leads.signal(Signal::SIGKILL);
        std::mem::replace(&mut leads, next).wait();
        wait_for_leader(&far, &label);
        drop(stopped);
        eventually("an answer", || leader(&near).map(|shown| assert_eq!(shown, label)));
    }
}

/// One that its leader has lost goes on answering reads for five ticks; it is asked for more than that.
#[test]
fn a_server_of_zookeeper_that_is_cut_off_shows_no_old_leader() {
    let setup = ZooKeeperSetup {
        members: 3,
        tick: Duration::from_secs(2),
        proxied: true,
        ..ZooKeeperSetup::default()
    };
    let servers = ZooKeeper::start(&setup);
    eventually("the first member to follow", || {
        (servers.mode(0).as_deref() == Some("follower")).then_some(())
    });
    let [near, one, other] = [0, 1, 2].map(|index| servers.address(index));
    let (near, far) = (format!("zk://{near}"), format!("zk://{one},{other}"));
    let first = candidate(&far, "first");
    wait_for_leader(&near, "first");
    let _second = candidate(&far, "second");
    wait_for_waiter(&far, "second");
    servers.cut_off();
    first.ended_by(Signal::SIGKILL);
    wait_for_leader(&far, "second");
    elect("status", &near).args(["-o", "json", "job"]).run().exits(125).prints("");
    servers.rejoin();
    wait_for_leader(&near, "second");
}

//! A follower of ZooKeeper that is cut off from its leader goes on answering pings and reads. A follower that dies
//! takes with it what it has not told its leader. No candidate leads by either.

use elect_testkit::fault::Outcome;
use elect_testkit::servers::ZooKeeperSetup;

use super::duel::{elect, wait_in_line};
use super::witness::Witness;
use super::{ZOOKEEPER, report};
use crate::prelude::*;
use crate::stage::{send, stop};

/// A talks to the first member, which follows another one; everybody else talks to the others.
struct Ensemble {
    servers: ZooKeeper,
    near: String,
    far: String,
}

impl Ensemble {
    fn start(tick: Duration) -> Self {
        let setup = ZooKeeperSetup { members: 3, tick, proxied: true, ..ZooKeeperSetup::default() };
        let servers = ZooKeeper::start(&setup);
        eventually("the first member to follow", || {
            (servers.mode(0).as_deref() == Some("follower")).then_some(())
        });
        let [near, one, other] = [0, 1, 2].map(|index| servers.address(index));
        Self { near: format!("zk://{near}"), far: format!("zk://{one},{other}"), servers }
    }

    fn witness(&self) -> Witness {
        let witness = Witness::of(&self.far, "A-", |watch| watch());
        witness.wait_for_entry();
        witness
    }
}

/// B leads after A, which is dead before its node goes.
#[track_caller]
fn hand_over(oracle: &Oracle, a: Running, b: Running, witness: &Witness) -> Outcome {
    b.wait().exits(0);
    oracle.assert_sound();
    let run = oracle.newest("A").expect("A ran");
    assert!(!run.is_alive(), "{run} lives on");
    let alive = witness.wait_for_end().prove_dead_in_time(&run);
    a.wait().exits(124);
    let next = oracle.newest("B").map(|run| run.first);
    Outcome { last: run.last, lease_end: Some(alive), next, kept: None }
}

/// A leads through a follower that is cut off: tick 2 s, syncLimit 5, so it answers for 10 s.
fn lead_through_a_cut_off_follower() -> Outcome {
    const S: Duration = Duration::from_secs(6);
    let ensemble = Ensemble::start(Duration::from_secs(2));
    let oracle = Oracle::new();
    let tree = oracle.stamper("A").children(2).depth(2).deaf();
    let a = elect(&ensemble.near, "A", S, None).arg("--").args(tree.command()).spawn();
    oracle.wait_for_run("A");
    let next = oracle.stamper("B").children(1).lasting(Duration::from_millis(50));
    let b = elect(&ensemble.far, "B", S, None).arg("--").args(next.command()).spawn();
    wait_in_line(&ensemble.far, "B-", None);
    let witness = ensemble.witness();
    ensemble.servers.cut_off();
    hand_over(&oracle, a, b, &witness)
}

/// A stands still as a waiter for this share of its session, wins, and its follower dies.
fn stall_win_and_lose_the_follower(share: f64) -> Outcome {
    const S: Duration = Duration::from_secs(6);
    let mut ensemble = Ensemble::start(Duration::from_secs(1));
    let oracle = Oracle::new();
    let end = oracle.flag("end");
    let first = oracle.stamper("X").until(&end);
    let x = elect(&ensemble.far, "X", S, None).arg("--").args(first.command()).spawn();
    oracle.wait_for_run("X");
    let tree = oracle.stamper("A").children(2).depth(2).deaf();
    let mut a = elect(&ensemble.near, "A", S, None).arg("--").args(tree.command()).spawn();
    wait_in_line(&ensemble.far, "A-", None);
    let next = oracle.stamper("B").children(1).lasting(Duration::from_millis(50));
    let b = elect(&ensemble.far, "B", S, None).arg("--").args(next.command()).spawn();
    wait_in_line(&ensemble.far, "B-", None);
    let stopped = [a.pid(), a.guardian()];
    stopped.into_iter().for_each(stop);
    let since = now();
    end.raise();
    x.wait().exits(0);
    eventually("the stall to last", || (now().since(since) >= S.mul_f64(share)).then_some(()));
    let witness = ensemble.witness();
    stopped.into_iter().rev().for_each(|pid| send(pid, Signal::SIGCONT));
    oracle.wait_for_run("A");
    ensemble.servers.member(0).kill();
    hand_over(&oracle, a, b, &witness)
}

#[test]
fn a_leader_through_a_follower_that_is_cut_off_is_dead_in_time() {
    let outcome = lead_through_a_cut_off_follower();
    report("a follower cut off from its leader", ZOOKEEPER, &outcome);
}

#[test]
fn a_winner_after_a_short_stall_that_loses_its_follower_dies_in_time() {
    let outcome = stall_win_and_lose_the_follower(0.25);
    report("waiter stalled for S/4, won, lost its follower", ZOOKEEPER, &outcome);
}

#[test]
fn a_winner_after_a_long_stall_that_loses_its_follower_dies_in_time() {
    let outcome = stall_win_and_lose_the_follower(0.5);
    report("waiter stalled for S/2, won, lost its follower", ZOOKEEPER, &outcome);
}

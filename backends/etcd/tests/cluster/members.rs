//! Tests of members that are dead, stopped, or cut off from the others.

use std::sync::Arc;
use std::time::Duration;

use elect_api::{Standing, Validity};
use elect_testkit::fault::Network;
use elect_testkit::servers::{Etcd, free_port};
use elect_testkit::{oracle, run};

use crate::support::{Runner, in_words};

fn expect_leading(standing: &Standing) {
    assert!(matches!(standing, Standing::Leading { .. }), "it {}", in_words(standing));
}

#[test]
fn a_first_member_that_is_dead_is_passed_over() {
    run("members", async {
        let etcd = Etcd::start(1);
        let dead = format!("127.0.0.1:{}", free_port()).parse().expect("an address");
        let url = etcd.url_through(&[dead, etcd.endpoints()[0]]);
        let mut ours = Runner::new(&url, "ours").await;
        expect_leading(&ours.within(2).await);
        assert_eq!(ours.line_up().await, ["ours"]);
    });
}

#[test]
fn a_first_member_that_is_stopped_is_passed_over() {
    run("members", async {
        let etcd = Etcd::start(3);
        let follower = (etcd.leader() + 1) % 3;
        let mut ways = etcd.endpoints();
        ways.rotate_left(follower);
        let stopped = etcd.stop_member(follower);
        let mut ours = Runner::new(&etcd.url_through(&ways), "ours").await;
        expect_leading(&ours.within(2).await);
        drop(stopped);
        expect_leading(&ours.within(1).await);
    });
}

#[test]
fn the_death_of_etcds_leader_ends_no_leadership() {
    run("members", async {
        let mut etcd = Etcd::start(3);
        let first = etcd.leader();
        let mut ways = etcd.endpoints();
        ways.rotate_left(first);
        let url = etcd.url_through(&ways);
        let mut leader = Runner::new(&url, "leader").await;
        let token = leader.lead().await;
        let mut waiter = Runner::new(&url, "waiter").await;
        drop(waiter.wait_behind(1).await);
        etcd.member(first).kill();
        match leader.within(6).await {
            Standing::Leading { token: same, .. } => assert_eq!(same, token),
            other => panic!("it {}", in_words(&other)),
        }
        let wake = match waiter.within(6).await {
            Standing::Waiting { ahead: 1, wake, .. } => wake,
            other => panic!("it {}", in_words(&other)),
        };
        leader.seat.resign(None).await.expect("a resign");
        wake.await;
        waiter.lead().await;
    });
}

#[test]
fn a_leader_leaves_a_member_that_is_stopped() {
    run("members", async {
        let etcd = Etcd::start(3);
        let mut ours = Runner::new(&etcd.url(), "ours").await;
        let token = ours.lead().await;
        let stopped = etcd.stop_member(0);
        match ours.within(6).await {
            Standing::Leading { token: same, .. } => assert_eq!(same, token),
            other => panic!("it {}", in_words(&other)),
        }
        drop(stopped);
    });
}

/// A stopped leader of etcd may still believe that it leads when it goes on. Then it acknowledges keep-alives, although
/// only the new leader can keep a lease alive.
#[test]
fn a_stopped_leader_of_etcd_that_goes_on_keeps_no_lease_alive() {
    const CROWD: usize = 40;
    run("members", async {
        let etcd = Etcd::start(3);
        let first = etcd.leader();
        let url = etcd.url_through(&[etcd.endpoints()[first]]);
        let mut crowd = Vec::new();
        for number in 0..CROWD {
            let election = format!("job{number}").parse().expect("a name");
            let mut runner = Runner::in_election(&url, &election, "ours").await;
            runner.lead().await;
            crowd.push((election, runner));
        }
        let other = elect_etcd::connect(&etcd.url_through(&[etcd.endpoints()[(first + 1) % 3]]));
        let other = other.expect("a good URL");
        let stopped = etcd.stop_member(first);
        let began = oracle::now();
        // Long enough for the others to choose a leader, and shorter than the leases.
        while oracle::now().since(began) < Duration::from_secs(8) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let asked = oracle::now();
        tokio::spawn(async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            drop(stopped);
        });
        let mut set = tokio::task::JoinSet::new();
        for (election, mut runner) in crowd {
            set.spawn(async move { (runner.seat.refresh(asked).await, election, runner) });
        }
        let mut claims = Vec::new();
        while let Some(claim) = set.join_next().await {
            let (standing, election, runner) = claim.expect("no panic");
            if let Ok(Standing::Leading { validity: Validity::Window { anchor, window }, .. }) =
                standing.map(|refreshed| refreshed.standing)
            {
                claims.push((election, anchor + window, runner));
            }
        }
        println!("{} of {CROWD} claim to lead", claims.len());
        while let Some((_, end, _)) = claims.iter().max_by_key(|(_, end, _)| *end)
            && oracle::now() < *end
        {
            for (election, end, _) in &claims {
                let is_led = other.survey(election).await.expect("a survey").leader.is_some();
                let now = oracle::now();
                assert!(is_led || now >= *end, "over {:?} early", end.since(now));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
}

#[test]
fn a_member_without_quorum_says_so_and_proves_nothing() {
    run("members", async {
        let etcd = Etcd::start(3);
        let mut leader = Runner::new(&etcd.url(), "leader").await;
        let token = leader.lead().await;
        let stopped = [etcd.stop_member(1), etcd.stop_member(2)];
        for _ in 0..3 {
            match leader.attempt().await {
                None => {}
                Some(Err(error)) => assert!(!error.is_permanent(), "{error}"),
                Some(Ok(standing)) => panic!("without a quorum it {}", in_words(&standing)),
            }
        }
        drop(stopped);
        match leader.within(6).await {
            Standing::Leading { token: same, .. } => assert_eq!(same, token),
            other => panic!("it {}", in_words(&other)),
        }
    });
}

/// The machine of the candidates; the other machines run etcd.
const OURS: usize = 3;

#[test]
fn a_leader_of_etcd_that_is_cut_off_from_the_others_is_left_in_time() {
    let network = Arc::new(Network::new(4));
    let etcd = Etcd::start_on(&network, 3);
    let first = network.inside(0, || etcd.leader());
    let mut ways = etcd.endpoints();
    ways.rotate_left(first);
    let url = etcd.url_through(&ways);
    let part = || {
        for other in (0..3).filter(|other| *other != first) {
            network.part(first, other);
            network.part(other, first);
        }
    };
    network.inside(OURS, || {
        run("members", async {
            let mut leader = Runner::new(&url, "leader").await;
            let token = leader.lead().await;
            let mut waiter = Runner::new(&url, "waiter").await;
            let wake = waiter.wait_behind(1).await;
            // With this second refresh the watch surely stands before the cut.
            drop(waiter.wait_behind(1).await);
            part();
            match leader.within(3).await {
                Standing::Leading { token: same, .. } => assert_eq!(same, token),
                other => panic!("it {}", in_words(&other)),
            }
            // The member itself reports that it cannot serve.
            wake.await;
            let wake = match waiter.within(3).await {
                Standing::Waiting { ahead: 1, wake, .. } => wake,
                other => panic!("it {}", in_words(&other)),
            };
            leader.seat.resign(None).await.expect("a resign");
            wake.await;
            waiter.lead().await;
        });
    });
}

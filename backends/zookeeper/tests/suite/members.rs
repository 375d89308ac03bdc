//! Tests of servers that die and come back: sessions outlive them.

use std::time::Duration;

use elect_api::Standing;
use elect_testkit::servers::{ZooKeeper, ZooKeeperSetup};
use elect_testkit::{election, run};

use crate::common::{TTL, nodes, now, raw};
use crate::support::{Claim, attempt, lead_for, lead_in_time, seat};

/// Refreshes both as the engine does, until both had an answer.
async fn renew_both(leader: &mut dyn elect_api::Seat, waiter: &mut dyn elect_api::Seat) -> Claim {
    loop {
        let claim = match attempt(leader, TTL).await {
            Some(Ok(standing)) => {
                assert!(!matches!(standing, Standing::Gone(_)), "the leader has lost");
                Claim::of(&standing)
            }
            _ => None,
        };
        let is_heard = match attempt(waiter, TTL).await {
            Some(Ok(standing)) => {
                let is_behind = matches!(standing, Standing::Waiting { ahead: 1, .. });
                assert!(is_behind, "the waiter has lost its place, or leads");
                true
            }
            _ => false,
        };
        match claim {
            Some(claim) if is_heard => return claim,
            _ => tokio::time::sleep(TTL / 32).await,
        }
    }
}

#[test]
fn leader_and_waiter_keep_their_places_as_members_die_in_turn() {
    run("members die", async {
        let mut servers = ZooKeeper::three();
        let mut leader = seat(&servers.url(), "a", TTL).await;
        let token = lead_in_time(leader.as_mut(), TTL).await.token;
        let mut waiter = seat(&servers.url(), "b", TTL).await;
        renew_both(leader.as_mut(), waiter.as_mut()).await;
        let before = nodes(&raw(&[servers.address(1)]).await, &election()).await;
        for member in [0, 1, 2] {
            servers.member(member).kill();
            let killed = now();
            let claim = renew_both(leader.as_mut(), waiter.as_mut()).await;
            eprintln!("member {member} killed: heard again after {:?}", now().since(killed));
            assert_eq!(claim.token, token);
            servers.member(member).restart();
            while servers.mode(member).is_none() {
                renew_both(leader.as_mut(), waiter.as_mut()).await;
            }
            renew_both(leader.as_mut(), waiter.as_mut()).await;
        }
        let after = nodes(&raw(&[servers.address(1)]).await, &election()).await;
        assert_eq!(sorted(before), sorted(after), "an entry was made anew");
    });
}

fn sorted(nodes: Vec<(String, Vec<u8>)>) -> Vec<String> {
    let mut paths: Vec<String> = nodes.into_iter().map(|(path, _)| path).collect();
    paths.sort();
    paths
}

/// The server is silent, not dead. The leader finds another server before its command must be stopped.
#[test]
fn a_leader_leaves_a_silent_server_while_its_proof_holds() {
    const S: Duration = Duration::from_secs(15);
    run("a silent server", async {
        let servers = ZooKeeper::start(&ZooKeeperSetup {
            members: 3,
            tick: Duration::from_secs(1),
            ..ZooKeeperSetup::default()
        });
        let followers: Vec<usize> =
            (0..3).filter(|&index| servers.mode(index).as_deref() == Some("follower")).collect();
        let url =
            format!("zk://{},{}", servers.address(followers[0]), servers.address(followers[1]));
        let mut leader = seat(&url, "a", S).await;
        lead_in_time(leader.as_mut(), S).await;
        let steady = lead_for(leader.as_mut(), S, S / 2).await;
        let has_it = |index: &usize| {
            let sessions = servers.ask(*index, "cons").unwrap_or_default();
            sessions.contains(&format!("to={}", S.as_millis()))
        };
        let home = followers.into_iter().find(has_it).expect("one has the session");
        servers.stop(home);
        let silent = now();
        let mut claim = steady;
        while claim.anchor <= silent - S / 8 {
            if let Some(Ok(standing)) = attempt(leader.as_mut(), S).await {
                claim = Claim::of(&standing).expect("it leads");
            }
            // By now the engine would have begun to stop the command.
            assert!(now() < claim.anchor + S.mul_f64(0.57), "too late: {claim:?}");
            tokio::time::sleep(S / 64).await;
        }
        eprintln!("a silent server: proven anew after {:?}", now().since(silent));
    });
}

/// The client library does not tell when a server grants less on a reconnect.
#[test]
fn a_session_that_has_become_shorter_is_lost() {
    const S: Duration = Duration::from_secs(8);
    run("shortened", async {
        let mut servers = ZooKeeper::start(&ZooKeeperSetup {
            members: 3,
            last_lines: vec!["maxSessionTimeout=5000".into()],
            ..ZooKeeperSetup::default()
        });
        servers.member(2).kill();
        servers.wait_until_serving(0);
        let url = format!("zk://{},{}", servers.address(0), servers.address(2));
        let mut leader = seat(&url, "a", S).await;
        let first = lead_in_time(leader.as_mut(), S).await;
        assert_eq!(first.window, S);
        servers.member(2).restart();
        servers.wait_until_serving(2);
        lead_for(leader.as_mut(), S, S / 16).await;
        servers.member(0).kill();
        let why = loop {
            match attempt(leader.as_mut(), S).await {
                Some(Ok(Standing::Gone(why))) => break why,
                Some(Ok(standing)) => assert_eq!(Claim::of(&standing).expect("it leads").window, S),
                _ => {}
            }
            tokio::time::sleep(S / 32).await;
        };
        assert!(why.contains("maxSessionTimeout"), "{why}");
        leader.resign(None).await.expect("a resign");
        assert_eq!(lead_in_time(leader.as_mut(), S).await.window, Duration::from_secs(5));
    });
}

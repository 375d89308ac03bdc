//! Tests that one process has one session, however many seats and observers it has.

use std::collections::BTreeSet;
use std::time::Duration;

use elect_api::{Candidate, Cell, ElectionName, If, Removal, Scope, Seat, Standing, Store, trips};
use elect_testkit::fault::TcpProxy;
use elect_testkit::run;
use elect_testkit::servers::ZooKeeper;

use crate::common::{TTL, nodes, now, raw};
use crate::support::{Claim, attempt, lead, lead_in_time, plant};

/// The sessions that a server reports.
fn sessions(servers: &ZooKeeper) -> BTreeSet<String> {
    let dump = servers.ask(0, "dump").expect("an answer");
    let (sessions, _) = dump.split_once("ephemeral nodes dump").expect("two dumps");
    let words = sessions.split_whitespace().filter(|word| word.starts_with("0x"));
    words.map(str::to_owned).collect()
}

/// Sessions that were left take a moment to end.
async fn expect_sessions(servers: &ZooKeeper, expected: usize) {
    let settled = async {
        while sessions(servers).len() != expected {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let settled = tokio::time::timeout(Duration::from_secs(20), settled).await;
    assert!(settled.is_ok(), "{expected} were to be left of {:?}", sessions(servers));
}

fn election(number: usize) -> ElectionName {
    format!("job:{number}").parse().expect("a good name")
}

async fn seats(store: &dyn Store, count: usize) -> Vec<Box<dyn Seat>> {
    let mut seats = Vec::new();
    for number in 0..count {
        let candidate = Candidate::foreign("one of many");
        seats.push(store.open(&election(number), &candidate, TTL).await.expect("a seat"));
    }
    seats
}

#[test]
fn a_process_with_many_seats_that_looks_has_one_session() {
    run("many seats", async {
        const SEATS: usize = 16;
        let servers = ZooKeeper::one();
        let store = elect_zookeeper::connect(&servers.url()).expect("a good URL");
        store.survey(&election(0)).await.expect("a survey");
        assert_eq!(sessions(&servers).len(), 1, "one that looks");
        let mut seats = seats(store.as_ref(), SEATS).await;
        for seat in &mut seats {
            lead(seat.as_mut()).await;
        }
        expect_sessions(&servers, 1).await;
        let session = sessions(&servers);
        let look_out = store.changed(&election(1)).await.expect("a look-out");
        for number in 0..SEATS {
            let survey = store.survey(&election(number)).await.expect("a survey");
            assert!(survey.leader.is_some());
            store.read(&election(number), Cell::Control).await.expect("an answer");
        }
        let first = If::Version(0);
        store.write(&election(0), Cell::Control, b"{}", first).await.expect("an answer");
        assert_eq!(store.list(Scope::Entered).await.expect("a list").len(), SEATS);
        let ticket = seats[1].ticket().expect("a ticket");
        store.remove(&election(1), Removal::Crashed(&ticket)).await.expect("redeemed");
        look_out.await;
        assert_eq!(sessions(&servers), session);
        for seat in &mut seats[1..] {
            seat.resign(None).await.expect("a resign");
        }
        lead(seats[0].as_mut()).await;
        assert_eq!(sessions(&servers), session);
        // An observer does not keep the session, and its end does not wait for observers.
        let look_out = store.changed(&election(0)).await.expect("a look-out");
        seats[0].resign(None).await.expect("a resign");
        expect_sessions(&servers, 0).await;
        look_out.await;
        store.survey(&election(0)).await.expect("a survey");
        lead(seats[5].as_mut()).await;
        expect_sessions(&servers, 1).await;
    });
}

/// A slot that becomes free opens such a seat, for a candidate that waited before.
#[test]
fn a_seat_that_comes_late_is_no_further_behind_than_those_before_it() {
    const S: Duration = Duration::from_secs(4);
    run("late", async {
        let servers = ZooKeeper::one();
        let client = raw(&[servers.address(0)]).await;
        plant(&client, "_c_00000000-0000-4000-8000-000000000000-latch--000000001", b"first").await;
        let store = elect_zookeeper::connect(&servers.url()).expect("a good URL");
        let candidate = Candidate::foreign("one of two");
        let open = async |name| store.open(&name, &candidate, S).await.expect("a seat");
        let mut waiter = open(elect_testkit::election()).await;
        let long = now() + S;
        while now() < long {
            let standing = waiter.refresh(now()).await.expect("a standing").standing;
            assert!(matches!(standing, Standing::Waiting { ahead: 1, .. }));
            tokio::time::sleep(S / 16).await;
        }
        let called = now();
        drop(waiter.refresh(called).await.expect("a standing"));
        let claim = lead(open(election(0)).await.as_mut()).await;
        assert!(claim.anchor + S / 2 >= called, "{:?} behind", called.since(claim.anchor));
    });
}

/// A command or the next leader waits for each quorum write.
#[test]
fn a_lone_candidate_wins_and_leaves_cleanly_with_one_write_each() {
    run("alone", async {
        let servers = ZooKeeper::one();
        let store = elect_zookeeper::connect(&servers.url()).expect("a good URL");
        let mut seat = seats(store.as_ref(), 1).await.remove(0);
        let asked = |name| trips().into_iter().find(|(trip, _)| *trip == name).map_or(0, |it| it.1);
        lead(seat.as_mut()).await;
        assert_eq!(asked("multi"), 0, "{:?}", trips());
        lead(seat.as_mut()).await;
        assert_eq!(asked("multi"), 1, "a renewal proves the entry");
        // The first cell of a store also makes the nodes above it.
        seat.resign(Some((Cell::History, b"a word"))).await.expect("a resign");
        lead(seat.as_mut()).await;
        let before = asked("multi");
        seat.resign(Some((Cell::History, b"another"))).await.expect("a resign");
        assert_eq!((asked("multi"), asked("delete")), (before + 1, 0));
        expect_sessions(&servers, 0).await;
    });
}

/// The first seat in the new session proves nothing about the entries in the old one.
#[test]
fn each_seat_finds_out_by_itself_that_the_session_has_ended() {
    run("ended", async {
        let servers = ZooKeeper::one();
        let proxy = TcpProxy::start(servers.address(0));
        let store = elect_zookeeper::connect(&format!("zk://{}", proxy.address()));
        let store = store.expect("a good URL");
        let mut seats = seats(store.as_ref(), 3).await;
        let mut old = Vec::new();
        for seat in &mut seats {
            old.push(lead(seat.as_mut()).await);
        }
        let onlooker = raw(&[servers.address(0)]).await;
        proxy.refuse(true);
        proxy.cut();
        for number in 0..3 {
            while !nodes(&onlooker, &election(number)).await.is_empty() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        proxy.refuse(false);
        for (seat, old) in seats.iter_mut().zip(old) {
            loop {
                match attempt(seat.as_mut(), TTL).await {
                    Some(Ok(Standing::Gone(_))) => break,
                    Some(Ok(standing)) => {
                        let claim = Claim::of(&standing).expect("a leader does not wait");
                        assert!(claim.end() <= now(), "it claims what it has lost: {claim:?}");
                    }
                    Some(Err(error)) => assert!(!error.is_permanent(), "{error}"),
                    None => {}
                }
                tokio::time::sleep(TTL / 64).await;
            }
            while seat.resign(None).await.is_err() {}
            assert!(lead_in_time(seat.as_mut(), TTL).await.token > old.token);
        }
        drop(onlooker);
        expect_sessions(&servers, 1).await;
    });
}

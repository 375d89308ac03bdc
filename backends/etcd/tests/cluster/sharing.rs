//! Tests that one process has one lease, however many seats it has.

use std::collections::BTreeMap;
use std::time::Duration;

use elect_api::{Candidate, Cell, ElectionName, Seat, Standing, Store, Token, trips};
use elect_testkit::servers::Etcd;
use elect_testkit::{oracle, run};
use etcd_client::Client;
use tokio::task::JoinSet;

use crate::support::{TTL, in_words};

async fn client(etcd: &Etcd) -> Client {
    Client::connect([etcd.endpoints()[0].to_string()], None).await.expect("a client")
}

async fn leases(etcd: &Etcd) -> Vec<i64> {
    let reply = client(etcd).await.leases().await.expect("a list");
    reply.leases().iter().map(etcd_client::LeaseStatus::id).collect()
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

/// Starts an etcd with one seat.
async fn alone() -> (Etcd, Box<dyn Seat>) {
    let etcd = Etcd::start(1);
    let store = elect_etcd::connect(&etcd.url()).expect("a good URL");
    let seat = seats(store.as_ref(), 1).await.remove(0);
    (etcd, seat)
}

async fn refresh(seat: &mut dyn Seat) -> Standing {
    let refreshed = seat.refresh(oracle::now()).await;
    refreshed.unwrap_or_else(|error| panic!("{error}: {error:?}")).standing
}

async fn lead(seat: &mut dyn Seat) -> Token {
    match refresh(seat).await {
        Standing::Leading { token, .. } => token,
        other => panic!("it was to lead but {}", in_words(&other)),
    }
}

#[test]
fn a_process_with_many_seats_has_one_lease_until_the_last_resigns() {
    run("many seats", async {
        const SEATS: usize = 16;
        let etcd = Etcd::start(1);
        let store = elect_etcd::connect(&etcd.url()).expect("a good URL");
        let mut seats = seats(store.as_ref(), SEATS).await;
        for seat in &mut seats {
            lead(seat.as_mut()).await;
        }
        let one = leases(&etcd).await;
        assert_eq!(one.len(), 1);
        for seat in &mut seats[1..] {
            seat.resign(None).await.expect("a resign");
        }
        lead(seats[0].as_mut()).await;
        lead(seats[1].as_mut()).await;
        assert_eq!(leases(&etcd).await, one);
        for seat in &mut seats {
            lead(seat.as_mut()).await;
        }
        let mut resigns = JoinSet::new();
        for mut seat in seats {
            resigns.spawn(async move { seat.resign(None).await });
        }
        for resigned in resigns.join_all().await {
            resigned.expect("a resign");
        }
        assert!(leases(&etcd).await.is_empty());
        // The id of the store stays.
        let left = etcd.ctl(&["get", "--prefix", "--keys-only", "elect/"]);
        assert_eq!(left.trim(), "elect/.store");
    });
}

/// The first seat that comes back gets a new lease. That lease proves nothing about the entries under the old one.
#[test]
fn each_seat_finds_out_by_itself_that_the_lease_has_ended() {
    run("ended", async {
        let etcd = Etcd::start(1);
        let store = elect_etcd::connect(&etcd.url()).expect("a good URL");
        let mut seats = seats(store.as_ref(), 3).await;
        let mut old = Vec::new();
        for seat in &mut seats {
            old.push(lead(seat.as_mut()).await);
        }
        let lease = leases(&etcd).await[0];
        client(&etcd).await.lease_client().revoke(lease).await.expect("a revoked lease");
        for (seat, old) in seats.iter_mut().zip(old) {
            match refresh(seat.as_mut()).await {
                Standing::Gone(_) => {}
                other => panic!("it {}", in_words(&other)),
            }
            seat.resign(None).await.expect("a resign");
            // The seat may learn only now that the lease has ended.
            let token = loop {
                match seat.refresh(oracle::now()).await.map(|refreshed| refreshed.standing) {
                    Ok(Standing::Leading { token, .. }) => break token,
                    Ok(other) => panic!("it {}", in_words(&other)),
                    Err(error) => assert!(!error.is_permanent(), "{error}"),
                }
            };
            assert!(token > old);
        }
        assert_eq!(leases(&etcd).await.len(), 1);
    });
}

/// The leader of a short command sends no request for a watch.
#[test]
fn a_leader_looks_out_once_nothing_has_happened_for_a_while() {
    run("calm", async {
        let (_etcd, mut seat) = alone().await;
        let watches = || {
            let asked = trips().into_iter().find(|(name, _)| *name == "watch");
            asked.map_or(0, |(_, count)| count)
        };
        let before = watches();
        lead(seat.as_mut()).await;
        tokio::time::pause();
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert_eq!(watches(), before);
        tokio::time::advance(Duration::from_secs(1)).await;
        tokio::time::resume();
        while watches() == before {
            tokio::task::yield_now().await;
        }
    });
}

/// The code for shared leases costs a single seat no request.
#[test]
fn a_seat_alone_asks_for_no_more_than_it_ever_did() {
    run("alone", async {
        let (_etcd, mut seat) = alone().await;
        let mut before = BTreeMap::new();
        let mut asked = || {
            let now: BTreeMap<_, _> = trips().into_iter().collect();
            let since = |(name, count): (&&'static str, &u64)| {
                (*name, count - before.get(name).copied().unwrap_or(0))
            };
            let asked: Vec<_> = now.iter().map(since).filter(|(_, count)| *count > 0).collect();
            before = now;
            asked
        };
        asked();
        lead(seat.as_mut()).await;
        let without_watches = |asked: Vec<(&'static str, u64)>| -> Vec<_> {
            asked.into_iter().filter(|(name, _)| *name != "watch").collect()
        };
        assert_eq!(without_watches(asked()), [("lease_grant", 1), ("txn", 1)]);
        lead(seat.as_mut()).await;
        // For each connection, one request asks the member for its version, and one asks for the members of the
        // cluster.
        let renewal = [("lease_keep_alive", 1), ("other", 2), ("txn", 1)];
        assert_eq!(without_watches(asked()), renewal);
        lead(seat.as_mut()).await;
        assert_eq!(without_watches(asked()), [("lease_keep_alive", 1), ("txn", 1)]);
        seat.resign(None).await.expect("a resign");
        assert_eq!(without_watches(asked()), [("lease_revoke", 1)]);
        lead(seat.as_mut()).await;
        asked();
        seat.resign(Some((Cell::History, b"a word"))).await.expect("a resign");
        assert_eq!(without_watches(asked()), [("txn", 1)], "the next one waits for more");
        lead(seat.as_mut()).await;
        let expected = [("lease_grant", 1), ("lease_revoke", 1), ("txn", 1)];
        assert_eq!(without_watches(asked()), expected, "the old lease is left to itself");
    });
}

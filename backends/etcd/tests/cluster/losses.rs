//! Tests of requests that arrive while their replies are lost: the next refresh finds the truth.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use elect_api::{Candidate, Cell, ElectionName, Standing};
use elect_testkit::fault::{Mode, TcpProxy};
use elect_testkit::servers::Etcd;
use elect_testkit::{oracle, run};

use etcd_client::Client;

use crate::support::{Runner, TTL, in_words};

/// More chunks than the replies to any call have.
const REPLIES: u64 = 12;

/// Polls a call, and swallows all replies after the first `replies` chunks. Once a reply was swallowed, drops the call
/// and returns `None`.
async fn lose_after<T>(proxy: &TcpProxy, replies: u64, call: impl Future<Output = T>) -> Option<T> {
    let start = proxy.traffic().replies.chunks;
    let mut call = pin!(call);
    let outcome = poll_fn(|context| {
        let seen = proxy.traffic().replies;
        if seen.chunks >= start + replies {
            proxy.replies(Mode::Swallow);
        }
        // The proxy runs on another thread, and wakes no task here.
        context.waker().wake_by_ref();
        match call.as_mut().poll(context) {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            Poll::Pending if seen.bytes > seen.passed && seen.chunks > start + replies => {
                Poll::Ready(None)
            }
            Poll::Pending => Poll::Pending,
        }
    })
    .await;
    // The swallowed bytes are missing for good, so every user of the connection loses it.
    proxy.replies(Mode::Pass);
    proxy.cut();
    outcome
}

#[test]
fn a_newcomer_has_one_entry_whichever_reply_is_lost() {
    run("losses", async {
        let etcd = Etcd::start(1);
        for replies in 0..REPLIES {
            let proxy = TcpProxy::start(etcd.endpoints()[0]);
            let url = etcd.url_through(&[proxy.address()]);
            let mut leader = Runner::new(&url, "leader").await;
            let ticket = leader.seat.ticket();
            let now = oracle::now();
            drop(lose_after(&proxy, replies, leader.seat.refresh(now)).await);
            match leader.within(2).await {
                Standing::Leading { .. } => assert_eq!(leader.seat.ticket(), ticket),
                other => panic!("it {}", in_words(&other)),
            }
            let mut waiter = Runner::new(&url, "waiter").await;
            drop(lose_after(&proxy, replies, waiter.seat.refresh(now)).await);
            match waiter.within(2).await {
                Standing::Waiting { ahead: 1, .. } => {}
                other => panic!("it {}", in_words(&other)),
            }
            assert_eq!(waiter.line_up().await, ["leader", "waiter"]);
            // The client may not have noticed the cut yet.
            if leader.seat.resign(None).await.is_err() {
                leader.seat.resign(None).await.expect("a resign");
            }
            waiter.lead().await;
            waiter.seat.resign(None).await.expect("a resign");
        }
    });
}

#[test]
fn a_renewal_loses_nothing_whichever_reply_is_lost() {
    run("losses", async {
        let etcd = Etcd::start(1);
        let proxy = TcpProxy::start(etcd.endpoints()[0]);
        let url = etcd.url_through(&[proxy.address()]);
        let mut leader = Runner::new(&url, "leader").await;
        let token = leader.lead().await;
        let mut waiter = Runner::new(&etcd.url(), "waiter").await;
        drop(waiter.wait_behind(1).await);
        for replies in 0..REPLIES {
            let now = oracle::now();
            drop(lose_after(&proxy, replies, leader.seat.refresh(now)).await);
            match leader.within(2).await {
                Standing::Leading { token: same, .. } => assert_eq!(same, token),
                other => panic!("it {}", in_words(&other)),
            }
            drop(waiter.wait_behind(1).await);
        }
    });
}

#[test]
fn a_resign_whose_reply_is_lost_has_happened_and_may_be_repeated() {
    run("losses", async {
        let etcd = Etcd::start(1);
        for replies in 0..3 {
            let proxy = TcpProxy::start(etcd.endpoints()[0]);
            let mut leader = Runner::new(&etcd.url_through(&[proxy.address()]), "leader").await;
            leader.lead().await;
            let mut next = Runner::new(&etcd.url(), "next").await;
            let wake = next.wait_behind(1).await;
            drop(lose_after(&proxy, replies, leader.seat.resign(None)).await);
            wake.await;
            let token = next.lead().await;
            if leader.seat.resign(None).await.is_err() {
                leader.seat.resign(None).await.expect("a resign");
            }
            assert_eq!(next.lead().await, token);
            next.seat.resign(None).await.expect("a resign");
        }
    });
}

/// The lease goes on. Even so, a request that is still under way has no effect.
#[test]
fn a_seat_in_a_shared_lease_leaves_nothing_whichever_reply_is_lost() {
    run("losses", async {
        let etcd = Etcd::start(1);
        let proxy = TcpProxy::start(etcd.endpoints()[0]);
        let mut other = Runner::new(&etcd.url_through(&[proxy.address()]), "other").await;
        let token = other.lead().await;
        let election: ElectionName = "shared".parse().expect("a good name");
        for replies in 0..REPLIES {
            let candidate = Candidate::foreign("lost");
            let seat = other.store.open(&election, &candidate, TTL).await;
            let mut seat = seat.expect("a seat");
            drop(lose_after(&proxy, replies, seat.refresh(oracle::now())).await);
            if seat.resign(None).await.is_err() {
                seat.resign(None).await.expect("a resign");
            }
            let mut next = Runner::in_election(&etcd.url(), &election, "next").await;
            next.lead().await;
            next.seat.resign(None).await.expect("a resign");
            match other.within(2).await {
                Standing::Leading { token: same, .. } => assert_eq!(same, token),
                standing => panic!("it {}", in_words(&standing)),
            }
        }
        let leases = Client::connect([etcd.endpoints()[0].to_string()], None).await;
        let leases = leases.expect("a client").leases().await.expect("a list");
        assert_eq!(leases.leases().len(), 1);
        other.seat.resign(None).await.expect("a resign");
        // The id of the store stays.
        let left = etcd.ctl(&["get", "--prefix", "--keys-only", "elect/"]);
        assert_eq!(left.trim(), "elect/.store");
    });
}

/// No refresh reads a cell. So a waiter for its change has to be woken, however often the watch breaks off.
#[test]
fn a_cell_is_looked_out_for_after_every_break() {
    run("cells", async {
        let etcd = Etcd::start(1);
        let proxy = TcpProxy::start(etcd.endpoints()[0]);
        let _leader = {
            let mut leader = Runner::new(&etcd.url(), "leader").await;
            leader.lead().await;
            leader
        };
        let mut waiter = Runner::new(&etcd.url_through(&[proxy.address()]), "waiter").await;
        waiter.within(2).await;
        for _ in 0..4 {
            let cell = waiter.seat.read(oracle::now(), Cell::Once).await.expect("a cell");
            let mut wake = pin!(cell.wake);
            proxy.cut();
            // Reads the cell again after each wake, as the engine does.
            let woken = async {
                loop {
                    tokio::select! {
                        () = &mut wake => break,
                        () = tokio::time::sleep(Duration::from_millis(50)) => {}
                    }
                    let _ = waiter.attempt().await;
                }
            };
            tokio::time::timeout(Duration::from_secs(60), woken).await.expect("a wake");
            waiter.within(2).await;
        }
    });
}

//! Tests of long queues, and of the requests that a change in the queue causes.

use std::collections::BTreeSet;
use std::time::Duration;

use elect_api::{Standing, Wake};
use elect_testkit::fault::TcpProxy;
use elect_testkit::run;
use elect_testkit::servers::Etcd;
use etcd_client::Client;

use crate::support::{Runner, in_words};

async fn client(etcd: &Etcd) -> Client {
    Client::connect([etcd.endpoints()[0].to_string()], None).await.expect("a client")
}

/// Makes `count` candidates as other programs make them.
async fn others(client: &mut Client, count: usize) -> Vec<String> {
    let keys: Vec<String> =
        (0..count).map(|number| format!("elect/job/{:x}", 0x100 + number)).collect();
    for key in &keys {
        client.put(key.as_str(), "", None).await.expect("a key");
    }
    keys
}

/// Starts an etcd with `count` candidates of other programs, and a candidate of elect after them.
async fn behind(count: usize) -> (Etcd, Client, Vec<String>, Runner) {
    // The manual's smallest permitted value.
    let etcd = Etcd::start_with(1, &["--max-txn-ops=33"]);
    let mut client = client(&etcd).await;
    let keys = others(&mut client, count).await;
    let mut ours = Runner::new(&etcd.url(), "ours").await;
    drop(ours.wait_behind(count).await);
    (etcd, client, keys, ours)
}

#[test]
fn up_to_a_hundred_are_counted_and_more_are_never_too_few() {
    run("crowds", async {
        let etcd = Etcd::start(1);
        let mut client = client(&etcd).await;
        let keys = others(&mut client, 130).await;
        let proxy = TcpProxy::start(etcd.endpoints()[0]);
        let mut ours = Runner::new(&etcd.url_through(&[proxy.address()]), "ours").await;
        drop(ours.wait_behind(130).await);
        let wake = ours.wait_behind(130).await;
        let before = proxy.traffic().replies.bytes;
        for _ in 0..10 {
            drop(ours.wait_behind(130).await);
        }
        let each = (proxy.traffic().replies.bytes - before) / 10;
        assert!(each < 1000, "a renewal of one of many costs {each} bytes");
        for key in &keys[..40] {
            client.delete(key.as_str(), None).await.expect("a deletion");
        }
        match ours.refresh().await {
            Ok(Standing::Waiting { ahead, .. }) => assert!((90..=130).contains(&ahead), "{ahead}"),
            other => panic!("{:?}", other.map(|standing| in_words(&standing))),
        }
        client.delete(keys[129].as_str(), None).await.expect("a deletion");
        wake.await;
        drop(ours.wait_behind(89).await);
        client.delete(keys[50].as_str(), None).await.expect("a deletion");
        drop(ours.wait_behind(88).await);
    });
}

#[test]
fn one_hundred_are_counted_exactly() {
    run("crowds", async {
        let (_etcd, mut client, keys, mut ours) = behind(100).await;
        client.delete(keys[0].as_str(), None).await.expect("a deletion");
        drop(ours.wait_behind(99).await);
    });
}

#[test]
fn the_last_few_are_counted_as_they_leave() {
    run("crowds", async {
        // Two more than the number that is asked for by name.
        let (_etcd, mut client, keys, mut ours) = behind(34).await;
        let mut left: BTreeSet<usize> = (0..keys.len()).collect();
        let mut wake = ours.wait_behind(left.len()).await;
        // Another order than that of arrival.
        for gone in (0..keys.len()).map(|number| (number * 13 + 5) % keys.len()) {
            client.delete(keys[gone].as_str(), None).await.expect("a deletion");
            // A new key comes after this candidate's, also under a name that was used before.
            client.put(keys[gone].as_str(), "", None).await.expect("a key");
            if left.last() == Some(&gone) {
                wake.await;
            }
            left.remove(&gone);
            if left.is_empty() {
                break;
            }
            wake = ours.wait_behind(left.len()).await;
        }
        ours.lead().await;
    });
}

/// A listing takes a smaller request, but keeps etcd busy for far longer.
#[test]
fn few_before_us_are_asked_for_by_name() {
    run("crowds", async {
        let mut sent = Vec::new();
        for count in [32, 33] {
            let etcd = Etcd::start(1);
            others(&mut client(&etcd).await, count).await;
            let proxy = TcpProxy::start(etcd.endpoints()[0]);
            let mut ours = Runner::new(&etcd.url_through(&[proxy.address()]), "ours").await;
            drop(ours.wait_behind(count).await);
            drop(ours.wait_behind(count).await);
            let before = proxy.traffic().requests.bytes;
            drop(ours.wait_behind(count).await);
            sent.push(proxy.traffic().requests.bytes - before);
        }
        let names = 32 * "elect/job/100".len() as u64;
        assert!(sent[0] > sent[1] + names, "{sent:?}");
    });
}

#[test]
fn a_change_of_leader_makes_one_waiter_ask() {
    run("crowds", async {
        let etcd = Etcd::start(1);
        let mut leader = Runner::new(&etcd.url(), "leader").await;
        leader.lead().await;
        let mut waiters = Vec::new();
        for ahead in 1..=4 {
            let proxy = TcpProxy::start(etcd.endpoints()[0]);
            let url = etcd.url_through(&[proxy.address()]);
            let mut waiter = Runner::new(&url, &format!("w{ahead}")).await;
            drop(waiter.wait_behind(ahead).await);
            let wake = waiter.wait_behind(ahead).await;
            waiters.push((waiter, wake, proxy));
        }
        let sent = |waiters: &[(Runner, Wake, TcpProxy)]| -> Vec<u64> {
            waiters.iter().map(|(_, _, proxy)| proxy.traffic().requests.bytes).collect()
        };
        let before = sent(&waiters);
        leader.seat.resign(None).await.expect("a resign");
        let (first, wake, _) = &mut waiters[0];
        wake.await;
        first.lead().await;
        first.lead().await;
        let each: Vec<_> =
            sent(&waiters).into_iter().zip(before).map(|(now, then)| now - then).collect();
        // Acknowledgements of earlier traffic may be late, and are small.
        assert!(each[1..].iter().all(|bytes| bytes * 4 < each[0]), "others talked: {each:?}");
    });
}

#[test]
fn times_are_told_from_the_first_renewal_on() {
    run("crowds", async {
        let etcd = Etcd::start(1);
        let mut ours = Runner::new(&etcd.url(), "ours").await;
        let token = ours.lead().await;
        let leader = ours.survey().await.leader.expect("a leader");
        assert!(leader.since.is_none() && leader.entry.joined.is_some());
        assert!(leader.remaining.is_some_and(|left| left <= Duration::from_secs(12)));
        assert_eq!(ours.lead().await, token);
        let leader = ours.survey().await.leader.expect("a leader");
        assert!(leader.since >= leader.entry.joined);
        assert_eq!(leader.token, token);
        // From here on a leader writes nothing more.
        let revision = |text: String| text.lines().next().expect("a line").to_owned();
        let before = revision(etcd.ctl(&["get", "-w", "json", "elect/", "--prefix"]));
        for _ in 0..3 {
            ours.lead().await;
        }
        assert_eq!(revision(etcd.ctl(&["get", "-w", "json", "elect/", "--prefix"])), before);
    });
}

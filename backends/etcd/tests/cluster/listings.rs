//! Tests of a survey where other programs write keys.

use std::fs;

use elect_api::{Cell, ElectionName, Entry, Scope, Store, Survey};
use elect_testkit::program::peak_memory;
use elect_testkit::servers::Etcd;
use elect_testkit::{oracle, run};
use etcd_client::{Client, DeleteOptions, Txn, TxnOp};

use crate::support::Runner;

/// The most memory that a survey may take, in KiB: twice the longest answer, and the part of all answers that is kept.
const MEMORY: u64 = 12 << 10;

async fn client(etcd: &Etcd) -> Client {
    Client::connect([etcd.endpoints()[0].to_string()], None).await.expect("a client")
}

fn election() -> ElectionName {
    "job".parse().expect("a name")
}

fn key(number: usize) -> String {
    format!("elect/job/{:x}", 0x10000 + number)
}

fn store(etcd: &Etcd) -> Box<dyn Store> {
    elect_etcd::connect(&etcd.url()).expect("a good URL")
}

fn ids(survey: &Survey) -> Vec<&str> {
    survey.entries().map(|entry: &Entry| entry.candidate.id.as_str()).collect()
}

#[test]
fn more_than_fit_into_an_answer_are_shown_as_they_came() {
    run("listings", async {
        let etcd = Etcd::start(1);
        let mut client = client(&etcd).await;
        let names: Vec<String> = (0..2500).map(|number| format!("name-{number}")).collect();
        // The order of the keys differs from the order of arrival.
        for (number, name) in names.iter().enumerate() {
            client.put(key(9999 - number), name.as_str(), None).await.expect("a key");
        }
        let survey = store(&etcd).survey(&election()).await.expect("a survey");
        assert_eq!(ids(&survey), names);
    });
}

#[test]
fn large_values_do_not_fill_the_memory() {
    run("listings", async {
        let etcd = Etcd::start(1);
        let mut client = client(&etcd).await;
        let store = store(&etcd);
        store.survey(&election()).await.expect("a survey");
        for number in 0..40 {
            client.put(key(number), vec![b'x'; 1_400_000], None).await.expect("a key");
        }
        fs::write("/proc/self/clear_refs", "5").expect("a new peak");
        let pid = std::process::id().cast_signed();
        let before = peak_memory(pid).expect("we live");
        let survey = store.survey(&election()).await.expect("a survey");
        let after = peak_memory(pid).expect("we live");
        assert_eq!(survey.entries().count(), 40);
        assert!(after - before < MEMORY, "from {before} to {after} KiB");
    });
}

#[test]
fn a_value_that_fits_into_no_answer_is_left_out() {
    run("listings", async {
        let etcd = Etcd::start_with(1, &["--max-request-bytes=8000000"]);
        let mut client = client(&etcd).await;
        client.put(key(1), "first", None).await.expect("a key");
        client.put(key(2), vec![b'x'; 6_000_000], None).await.expect("a key");
        client.put(key(3), "third", None).await.expect("a key");
        let survey = store(&etcd).survey(&election()).await.expect("a survey");
        assert_eq!(ids(&survey), ["first", "10002", "third"]);
    });
}

/// Each of the keys could be a candidate's.
#[test]
fn more_bytes_than_any_election_has_are_refused() {
    run("listings", async {
        let etcd = Etcd::start(1);
        let mut client = client(&etcd).await;
        let value = "x".repeat(8 << 10);
        for numbers in (0..1024).collect::<Vec<_>>().chunks(64) {
            let puts: Vec<TxnOp> = numbers
                .iter()
                .map(|&number| TxnOp::put(key(number), value.as_str(), None))
                .collect();
            client.txn(Txn::new().and_then(puts)).await.expect("keys");
        }
        let refused = store(&etcd).survey(&election()).await.expect_err("too much");
        assert!(refused.to_string().contains("more than 8388608 bytes"), "{refused}");
        client.delete(key(7), None).await.expect("one fewer");
        client.delete(key(8), None).await.expect("two fewer");
        let survey = store(&etcd).survey(&election()).await.expect("a survey");
        assert_eq!(survey.entries().count(), 1022);
    });
}

#[test]
fn more_keys_than_any_election_has_are_refused() {
    let etcd = Etcd::start(1);
    let keys: Vec<String> = (0..=100_000).map(key).collect();
    // All of them take a busy machine longer than a test may wait.
    for part in keys.chunks(16_384) {
        run("keys", async {
            let mut client = client(&etcd).await;
            for some in part.chunks(128) {
                let puts: Vec<TxnOp> =
                    some.iter().map(|key| TxnOp::put(key.as_str(), "x", None)).collect();
                client.txn(Txn::new().and_then(puts)).await.expect("keys");
            }
        });
    }
    run("listings", async {
        let mut client = client(&etcd).await;
        let store = store(&etcd);
        let refused = store.list(Scope::Entered).await.expect_err("too many");
        assert!(refused.to_string().contains("more than 100000 keys"), "{refused}");
        let refused = store.survey(&election()).await.expect_err("too many");
        assert!(refused.to_string().contains("more than 32768 keys"), "{refused}");
        client.delete(keys[7].as_str(), None).await.expect("one fewer");
        assert_eq!(store.list(Scope::Entered).await.expect("names"), [election()]);
        let rest = DeleteOptions::new().with_range(key(100_001));
        client.delete(keys[32_769].as_str(), Some(rest)).await.expect("fewer");
        assert_eq!(store.survey(&election()).await.expect("a survey").entries().count(), 32_768);
    });
}

#[test]
fn of_a_cell_that_is_too_long_only_one_byte_more_is_kept() {
    run("listings", async {
        let etcd = Etcd::start(1);
        let mut client = client(&etcd).await;
        client.put("elect/.notes/job/orders", vec![b'x'; 1_400_000], None).await.expect("a key");
        let mut leader = Runner::new(&etcd.url(), "leader").await;
        let led = leader.seat.refresh(oracle::now()).await.expect("an answer");
        assert_eq!(led.control.bytes.expect("something").len(), Cell::LONGEST + 1);
        let read = leader.store.read(&election(), Cell::Control).await.expect("an answer");
        assert_eq!(read.bytes.expect("something").len(), Cell::LONGEST + 1);
    });
}

//! Tests of the keys and values in etcd, byte for byte: releases of elect share elections with each other.

use elect_api::{Cell, Durability, If, Written, fence};
use elect_testkit::servers::Etcd;
use elect_testkit::{oracle, run};

use crate::support::{Runner, job};

#[test]
fn cells_are_the_keys_that_they_always_were() {
    run("golden", async {
        let etcd = Etcd::start(1);
        let mut leader = Runner::new(&etcd.url(), "leader").await;
        let token = leader.lead().await;
        let name = "x".parse().expect("a key");
        for (cell, bytes) in
            [(Cell::Once, &b"done"[..]), (Cell::Runs, b"ran"), (Cell::History, b"led")]
        {
            let (now, usual) = (oracle::now(), Durability::Usual);
            let written = leader.seat.write(now, cell, bytes, usual).await.expect("an answer");
            assert_eq!(written.why_not(), None);
        }
        let store = leader.store.as_ref();
        for (cell, bytes, condition) in [
            (Cell::Control, &b"asked"[..], If::Version(0)),
            (Cell::Value(&name), b"kept", If::Leads(token)),
        ] {
            let written = store.write(&job(), cell, bytes, condition).await.expect("an answer");
            assert!(matches!(written, Written::Yes(_)), "{written:?}");
        }
        fence(store, &job(), &name, token).await.expect("an answer");
        for (key, text) in [
            ("elect/.notes/job/once", "done"),
            ("elect/.notes/job/runs", "ran"),
            ("elect/.notes/job/history", "led"),
            ("elect/.notes/job/orders", "asked"),
            ("elect/.data/job/value/x", "kept"),
            ("elect/.data/job/fence/x", &token.to_string()),
        ] {
            assert_eq!(etcd.ctl(&["get", "--print-value-only", key]).trim_end(), text, "{key}");
        }
        // There are no other keys.
        let all = etcd.ctl(&["get", "--prefix", "--keys-only", "elect/."]);
        assert_eq!(all.split_whitespace().count(), 7, "{all}");
    });
}

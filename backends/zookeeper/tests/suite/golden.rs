//! Tests of the nodes in ZooKeeper, byte for byte: releases of elect share elections with each other.

use elect_api::{Cell, Durability, If, Written, fence};
use elect_testkit::servers::ZooKeeper;
use elect_testkit::{election, run};
use zookeeper_client::Client;

use crate::common::{TTL, now};
use crate::support::{lead, seat};

#[test]
fn cells_are_the_nodes_that_they_always_were() {
    run("golden", async {
        let servers = ZooKeeper::one();
        let mut leader = seat(&servers.url(), "leader", TTL).await;
        let token = lead(leader.as_mut()).await.token;
        let name = "x".parse().expect("a key");
        for (cell, bytes) in
            [(Cell::Once, &b"done"[..]), (Cell::Runs, b"ran"), (Cell::History, b"led")]
        {
            let usual = Durability::Usual;
            let written = leader.write(now(), cell, bytes, usual).await.expect("an answer");
            assert_eq!(written.why_not(), None);
        }
        let store = elect_zookeeper::connect(&servers.url()).expect("a good URL");
        for (cell, bytes, condition) in [
            (Cell::Control, &b"asked"[..], If::Version(0)),
            (Cell::Value(&name), b"kept", If::Leads(token)),
        ] {
            let written = store.write(&election(), cell, bytes, condition).await;
            assert!(matches!(written, Ok(Written::Yes(_))), "{written:?}");
        }
        fence(store.as_ref(), &election(), &name, token).await.expect("an answer");
        let onlooker = Client::connect(&servers.address(0).to_string()).await.expect("a session");
        for (node, text) in [
            ("/elect/.notes/E/once", "done"),
            ("/elect/.notes/E/runs", "ran"),
            ("/elect/.notes/E/history", "led"),
            ("/elect/.notes/E/orders", "asked"),
            ("/elect/.data/E/value/x", "kept"),
            ("/elect/.data/E/fence/x", &token.to_string()),
        ] {
            let path = node.replace('E', election().as_str());
            let (found, _) = onlooker.get_data(&path).await.expect("a node");
            assert_eq!(String::from_utf8(found).expect("text"), text, "{path}");
        }
    });
}

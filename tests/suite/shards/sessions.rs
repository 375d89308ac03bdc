//! However many shards a member holds, it is one client of the store.

use std::io::{Read, Write};
use std::net::TcpStream;

use etcd_client::Client;

use super::{Arena, Ground, Troop};

const ALL: [&str; 3] = ["a", "b", "c"];

fn troop(arena: &Arena) -> Troop<'_> {
    let mut troop = Troop::new(arena, 8);
    for label in ALL {
        troop.join(label);
    }
    troop.wait_for_even(&ALL);
    troop
}

#[test]
fn one_session_of_zookeeper_for_each_member() {
    let arena = Arena::slow(Ground::ZooKeeper);
    let _troop = troop(&arena);
    let mut stream = TcpStream::connect(arena.address()).expect("a server");
    stream.write_all(b"dump").expect("a word");
    let mut dump = String::new();
    stream.read_to_string(&mut dump).expect("an answer");
    assert!(dump.contains("Sessions with Ephemerals (3)"), "{dump}");
}

#[test]
fn one_lease_of_etcd_for_each_member() {
    let arena = Arena::slow(Ground::Etcd);
    let _troop = troop(&arena);
    elect_testkit::run("leases", async {
        let endpoint = arena.address().to_string();
        let client = Client::connect([endpoint], None).await.expect("a server");
        let leases = client.lease_client().leases().await.expect("an answer");
        assert_eq!(leases.leases().len(), ALL.len(), "{leases:?}");
    });
}

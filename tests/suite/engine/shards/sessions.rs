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
    // A number for each session, and below it the nodes that it has. Others may use the server, too.
    let (_, sessions) = dump.split_once("Sessions with Ephemerals").expect("a list");
    let url = arena.url();
    let directory = url.rsplit('/').next().filter(|name| !name.contains(':')).unwrap_or("elect");
    let node = format!("\t/{directory}/");
    let ours = sessions.split("\n0x").filter(|session| session.contains(&node));
    assert_eq!(ours.count(), ALL.len(), "{dump}");
}

#[test]
fn one_lease_of_etcd_for_each_member() {
    let arena = Arena::alone(Ground::Etcd);
    let _troop = troop(&arena);
    elect_testkit::run("leases", async {
        let endpoint = arena.address().to_string();
        let client = Client::connect([endpoint], None).await.expect("a server");
        let leases = client.lease_client().leases().await.expect("an answer");
        assert_eq!(leases.leases().len(), ALL.len(), "{leases:?}");
    });
}

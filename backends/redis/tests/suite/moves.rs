//! A primary that is another one by now, and keys that move to another node.

use std::net::SocketAddr;
use std::process::Command;

use elect_api::ErrorKind;
use elect_record::table::{Body, Epoch, Found, Key, Put, Table, Tag};
use elect_testkit::program::eventually;
use elect_testkit::servers::{DatabaseServer as _, Redis, Sentinel};

use crate::table;

const ROW: Key<'static> = Key { election: "a", document: Key::LEADER };
const SLOT: u16 = 15514;

fn body() -> Body {
    Body { head: "{}".into(), cells: "{\"a\":1}".into(), ..Body::default() }
}

/// Reads the row. A request that meets a server that is no primary any more is sent again.
async fn read(table: &impl Table) -> Found {
    for _ in 0..100 {
        match table.get(ROW).await {
            Ok(found) => return found,
            Err(error) => assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}"),
        }
    }
    panic!("no answer")
}

/// Writes the row, and expects that it is done.
async fn write(table: &impl Table, Epoch { name, .. }: &Epoch, tag: Option<&Tag>) -> Tag {
    match table.put(ROW, name, tag, &body()).await.expect("an answer") {
        Put::Done(tag) => tag,
        Put::Conflict => panic!("another tag, or another epoch"),
    }
}

#[test]
fn the_primary_that_a_sentinel_names_is_followed() {
    elect_testkit::run("a fail-over", async {
        let primary = Redis::start();
        let replica = primary.replica();
        let sentinel = Sentinel::start(primary.address(), 1);
        let table = table(&format!("redis://elect@{}?sentinel=jobs", sentinel.address()));
        let before = read(&table).await.epoch;
        let tag = write(&table, &before, None).await;
        sentinel.fail_over();
        eventually("the old primary to be a replica", || {
            primary.ask("INFO replication").contains("role:slave").then_some(())
        });
        let Found { epoch, row } = read(&table).await;
        assert_ne!(epoch.name, before.name);
        assert_eq!(row.expect("it was replicated").tag, tag);
        let late = table.put(ROW, &before.name, Some(&tag), &body()).await;
        assert_eq!(late.expect("an answer"), Put::Conflict);
        write(&table, &epoch, Some(&tag)).await;
        assert!(replica.ask("INFO replication").contains("role:master"));
    });
}

struct Cluster(Vec<Redis>);

impl Cluster {
    fn start() -> Self {
        let nodes: Vec<_> = (0..3).map(|_| Redis::start_with(&["--cluster-enabled yes"])).collect();
        let mut create = Command::new(Redis::program());
        create.args(["--cluster", "create"]);
        create.args(nodes.iter().map(|node| node.address().to_string()));
        let made = create.arg("--cluster-yes").output().expect("redis-cli");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stdout));
        let cluster = Self(nodes);
        eventually("the cluster to serve", || {
            let serves = |node: &Redis| node.ask("CLUSTER INFO").contains("cluster_state:ok");
            cluster.0.iter().all(serves).then_some(())
        });
        cluster
    }

    fn id(node: &Redis) -> String {
        node.ask("CLUSTER MYID")
    }

    /// The node that has the slot, and another one.
    fn ends(&self) -> (&Redis, &Redis) {
        // The last third of the slots is the last node's.
        (&self.0[2], &self.0[0])
    }
}

#[test]
fn the_slot_of_the_rows_may_move_to_another_node() {
    elect_testkit::run("a slot that moves", async {
        let cluster = Cluster::start();
        let (from, to) = cluster.ends();
        assert_eq!(from.ask("CLUSTER KEYSLOT {elect}"), SLOT.to_string());
        // The URL names a node that has other slots.
        let table = table(&format!("redis://elect@{}", to.address()));
        table.prepare().await.expect("it may write");
        let before = read(&table).await.epoch;
        let tag = write(&table, &before, None).await;
        to.ask(&format!("CLUSTER SETSLOT {SLOT} IMPORTING {}", Cluster::id(from)));
        from.ask(&format!("CLUSTER SETSLOT {SLOT} MIGRATING {}", Cluster::id(to)));
        let tag = write(&table, &before, Some(&tag)).await;
        let there: SocketAddr = to.address();
        let moved = format!("MIGRATE {} {} {{elect}} 0 5000", there.ip(), there.port());
        assert_eq!(from.ask(&moved), "OK");
        // The node without the key names the other one, whose history is another.
        let late = table.put(ROW, &before.name, Some(&tag), &body()).await;
        assert_eq!(late.expect("an answer"), Put::Conflict);
        let Found { epoch, row } = read(&table).await;
        assert_ne!(epoch.name, before.name);
        assert_eq!(row.expect("it was moved").tag, tag);
        let tag = write(&table, &epoch, Some(&tag)).await;
        for node in [to, from, &cluster.0[1]] {
            node.ask(&format!("CLUSTER SETSLOT {SLOT} NODE {}", Cluster::id(to)));
        }
        let found = read(&table).await;
        assert_eq!(
            (found.epoch.name, found.row.expect("a row").tag),
            (epoch.name.clone(), tag.clone())
        );
        write(&table, &epoch, Some(&tag)).await;
    });
}

#[test]
fn a_flush_is_noticed() {
    elect_testkit::run("a flush", async {
        let server = Redis::start();
        let table = table(&format!("redis://elect@{}", server.address()));
        table.prepare().await.expect("it may write");
        let before = read(&table).await.epoch;
        let tag = write(&table, &before, None).await;
        for loss in ["FLUSHALL", "FLUSHDB", "DEL {elect}"] {
            server.ask(loss);
            let late = table.put(ROW, &before.name, Some(&tag), &body()).await;
            assert_eq!(late.expect("an answer"), Put::Conflict, "{loss}");
            let missing = read(&table).await;
            assert!(missing.row.is_none() && missing.epoch.age.is_zero(), "{loss}: {missing:?}");
            // The id that is made now is another one.
            table.prepare().await.expect("it may write");
            let after = read(&table).await.epoch;
            assert_ne!(after.name, before.name, "{loss}");
        }
        // The candidates that were there before may enter anew.
        for _ in 0..2 {
            let Found { epoch, .. } = read(&table).await;
            if let Put::Done(_) = table.put(ROW, &epoch.name, None, &body()).await.expect("made") {
                return;
            }
        }
        panic!("the store gets no new id");
    });
}

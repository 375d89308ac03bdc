//! A primary that is another one by now, and keys that move to another node.

use elect_api::ErrorKind;
use elect_record::table::{Body, Epoch, Found, Key, Put, Table, Tag};
use elect_testkit::program::eventually;
use elect_testkit::servers::redis_nodes::{RedisNodes, give_rows, move_rows, offer_rows};
use elect_testkit::servers::{DatabaseServer as _, Redis, Sentinel};

use crate::table;

const ROW: Key<'static> = Key { election: "a", document: Key::LEADER };

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
            primary.try_ask_here("INFO replication")?.contains("role:slave").then_some(())
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

#[test]
fn the_slot_of_the_rows_may_move_to_another_node() {
    elect_testkit::run("a slot that moves", async {
        let RedisNodes { home: from, others } = RedisNodes::start();
        let [to, other] = [&others[0], &others[1]];
        // The URL names a node that has other slots.
        let table = table(&format!("redis://elect@{}", to.address()));
        table.prepare().await.expect("it may write");
        let before = read(&table).await.epoch;
        let tag = write(&table, &before, None).await;
        offer_rows(&from, to);
        let tag = write(&table, &before, Some(&tag)).await;
        move_rows(&from, to);
        // The node without the key names the other one, whose history is another.
        let late = table.put(ROW, &before.name, Some(&tag), &body()).await;
        assert_eq!(late.expect("an answer"), Put::Conflict);
        let Found { epoch, row } = read(&table).await;
        assert_ne!(epoch.name, before.name);
        assert_eq!(row.expect("it was moved").tag, tag);
        let tag = write(&table, &epoch, Some(&tag)).await;
        give_rows(to, &[to, &from, other]);
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

//! A replica that takes over.

use elect_api::ErrorKind;
use elect_record::table::{Body, Key, Put, Table};
use elect_testkit::program::eventually;
use elect_testkit::run;
use elect_testkit::servers::{DatabaseServer as _, Postgres};

const ROW: Key<'static> = Key { election: "a", document: Key::LEADER };

fn body(text: &str) -> Body {
    Body { head: format!("{{\"text\":\"{text}\"}}"), ..Body::default() }
}

async fn put(
    table: &impl Table,
    epoch: &str,
    expected: Option<&elect_record::table::Tag>,
    text: &str,
) -> elect_record::table::Tag {
    match table.put(ROW, epoch, expected, &body(text)).await.expect("an answer") {
        Put::Done(tag) => tag,
        Put::Conflict => panic!("the row has not the tag {expected:?}"),
    }
}

/// The replica has not received the newest write. A client turns to it by itself, and learns of another epoch.
#[test]
fn a_replica_that_takes_over_without_the_newest_write_is_another_epoch() {
    run("a fail-over", async {
        let primary = Postgres::start();
        let first = format!("postgresql://elect@{}/postgres", primary.address());
        let ours = elect_postgresql::table(&first).expect("a good URL");
        ours.prepare().await.expect("the right to make it");
        let epoch = ours.get(ROW).await.expect("an answer").epoch.name;
        let tag = put(&ours, &epoch, None, "old").await;
        let replica = primary.replica();
        let both =
            format!("postgresql://elect@{},{}/postgres", replica.address(), primary.address());
        let both = elect_postgresql::table(&both).expect("a good URL");
        assert_eq!(both.get(ROW).await.expect("the primary's").epoch.name, epoch);
        let alone = format!("postgresql://elect@{}/postgres", replica.address());
        let error = elect_postgresql::table(&alone).expect("a good URL").get(ROW).await;
        let error = error.expect_err("it only reads");
        assert_eq!(error.kind(), ErrorKind::Unreachable);
        assert!(error.to_string().contains("name the primary"), "{error}");
        eventually("the replica to have the row", || {
            (replica.ask("SELECT count(*) FROM elect.document WHERE election = 'a'") == "1")
                .then_some(())
        });
        replica.fall_behind();
        put(&ours, &epoch, Some(&tag), "new").await;
        drop((ours, primary));
        replica.promote();
        let found = eventually_found(&both).await;
        assert_ne!(found.epoch.name, epoch);
        let late = both.put(ROW, &epoch, Some(&tag), &body("late")).await;
        assert_eq!(late.expect("an answer"), Put::Conflict);
        let row = found.row.expect("the old row");
        assert_eq!((&row.tag, &row.body), (&tag, &body("old")), "nothing was lost");
        put(&both, &found.epoch.name, Some(&row.tag), "next").await;
    });
}

/// A backup may have been put back while the server was down.
#[test]
fn each_start_of_the_server_is_another_epoch() {
    run("a restart", async {
        let mut server = Postgres::start();
        let url = format!("postgresql://elect@{}/postgres", server.address());
        let table = elect_postgresql::table(&url).expect("a good URL");
        table.prepare().await.expect("the right to make it");
        let epoch = table.get(ROW).await.expect("an answer").epoch.name;
        let tag = put(&table, &epoch, None, "old").await;
        server.kill();
        server.revive();
        let found = eventually_found(&table).await;
        assert_ne!(found.epoch.name, epoch);
        assert_eq!(found.row.expect("a row that was acknowledged").tag, tag);
        let late = table.put(ROW, &epoch, Some(&tag), &body("late")).await;
        assert_eq!(late.expect("an answer"), Put::Conflict);
    });
}

/// In each of them rows may be missing that were acknowledged.
#[test]
fn a_table_whose_rows_were_replaced_is_another_epoch() {
    run("another table", async {
        let server = Postgres::start();
        let url = format!("postgresql://elect@{}/postgres", server.address());
        let table = elect_postgresql::table(&url).expect("a good URL");
        table.prepare().await.expect("the right to make it");
        for (change, is_there) in [
            ("VACUUM FULL elect.document", true),
            (
                "CREATE TABLE dump AS SELECT * FROM elect.document; TRUNCATE elect.document; \
                 INSERT INTO elect.document SELECT * FROM dump; DROP TABLE dump",
                true,
            ),
            (
                "CREATE TABLE elect.dump (LIKE elect.document INCLUDING ALL); \
                 INSERT INTO elect.dump SELECT * FROM elect.document; DROP TABLE elect.document; \
                 ALTER TABLE elect.dump RENAME TO document",
                true,
            ),
            ("TRUNCATE elect.document", false),
        ] {
            let found = table.get(ROW).await.expect("an answer");
            let (epoch, tag) = (found.epoch.name, found.row.map(|row| row.tag));
            let tag = put(&table, &epoch, tag.as_ref(), "old").await;
            server.ask(change);
            let late = table.put(ROW, &epoch, Some(&tag), &body("late")).await;
            assert_eq!(late.expect("an answer"), Put::Conflict, "{change}");
            let found = table.get(ROW).await.expect("an answer");
            assert_ne!(found.epoch.name, epoch, "{change}");
            assert_eq!(found.row.is_some(), is_there, "{change}");
        }
    });
}

/// The session lives on, and would hide the other servers of the URL.
#[test]
fn a_server_that_takes_no_writes_any_more_is_left() {
    run("a fenced primary", async {
        let (old, new) = (Postgres::start(), Postgres::start());
        let url = format!("postgresql://elect@{},{}/postgres", old.address(), new.address());
        let table = elect_postgresql::table(&url).expect("a good URL");
        table.prepare().await.expect("the right to make it");
        let epoch = table.get(ROW).await.expect("an answer").epoch.name;
        let tag = put(&table, &epoch, None, "old").await;
        old.ask("ALTER SYSTEM SET default_transaction_read_only = on");
        old.ask("SELECT pg_reload_conf()");
        let mut tag = Some(tag);
        let error = loop {
            // The session learns of the setting a moment later.
            match table.put(ROW, &epoch, tag.as_ref(), &body("late")).await {
                Ok(Put::Done(newest)) => tag = Some(newest),
                Ok(Put::Conflict) => panic!("no other client writes"),
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
        // The other server of this URL is another cluster, which a process that knows the first refuses.
        let error = table.get(ROW).await.expect_err("no server of this cluster takes writes");
        assert_eq!(error.kind(), ErrorKind::Unfit, "{error}");
        assert!(error.to_string().contains("another store"), "{error}");
    });
}

async fn eventually_found(table: &impl Table) -> elect_record::table::Found {
    loop {
        match table.get(ROW).await {
            Ok(found) => return found,
            Err(error) => assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}"),
        }
        tokio::task::yield_now().await;
    }
}

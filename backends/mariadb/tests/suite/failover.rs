//! A server that loses writes, or is another one.

use elect_api::ErrorKind;
use elect_record::table::{Body, Found, Key, Put, Table, Tag};
use elect_testkit::run;
use elect_testkit::servers::Database as _;
use elect_testkit::servers::{DatabaseServer as _, DatabaseSetup, MariaDb};

use crate::table;

const ROW: Key<'static> = Key { election: "a", document: Key::LEADER };

fn url(server: &MariaDb) -> String {
    MariaDb::url(server.address(), "elect", "elect")
}

async fn put(table: &impl Table, epoch: &str, expected: Option<&Tag>, text: &str) -> Put {
    let body = Body { head: format!("{{\"text\":\"{text}\"}}"), ..Body::default() };
    table.put(ROW, epoch, expected, &body).await.expect("an answer")
}

/// A table with one row. Returns the row's epoch and tag, too.
async fn begun(server: &MariaDb) -> (impl Table + use<>, String, Tag) {
    let table = table(&url(server));
    table.prepare().await.expect("the right to make it");
    let epoch = table.get(ROW).await.expect("an answer").epoch.name;
    let Put::Done(tag) = put(&table, &epoch, None, "old").await else { panic!("it was there") };
    (table, epoch, tag)
}

async fn eventually_found(table: &impl Table) -> Found {
    loop {
        match table.get(ROW).await {
            Ok(found) => return found,
            Err(error) => assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}"),
        }
        tokio::task::yield_now().await;
    }
}

/// The row is there in another epoch, and no write of the epoch before is done.
async fn is_another_epoch(table: &impl Table, epoch: &str, tag: &Tag) {
    let found = eventually_found(table).await;
    assert_ne!(found.epoch.name, epoch);
    assert_eq!(&found.row.expect("a row that was acknowledged").tag, tag);
    assert_eq!(put(table, epoch, Some(tag), "late").await, Put::Conflict);
    assert!(matches!(put(table, &found.epoch.name, Some(tag), "next").await, Put::Done(_)));
}

/// A backup may have been put back while the server was down.
#[test]
fn each_start_of_the_server_is_another_epoch() {
    run("a restart", async {
        let mut server = MariaDb::start();
        let (table, epoch, tag) = begun(&server).await;
        server.kill();
        server.revive();
        is_another_epoch(&table, &epoch, &tag).await;
    });
}

/// The table has the same id, and another birth.
#[test]
fn a_dump_that_was_put_back_is_another_epoch() {
    run("a dump", async {
        let server = MariaDb::start();
        let (table, epoch, tag) = begun(&server).await;
        crate::let_a_second_pass(&server);
        server.ask(
            "CREATE TABLE dump LIKE elect; INSERT INTO dump SELECT * FROM elect; DROP TABLE elect; \
             CREATE TABLE elect LIKE dump; INSERT INTO elect SELECT * FROM dump",
        );
        is_another_epoch(&table, &epoch, &tag).await;
    });
}

/// It could be any store: a candidate that knows the one before takes no part in it.
#[test]
fn a_table_that_was_emptied_is_another_store() {
    run("an empty table", async {
        let server = MariaDb::start();
        let (ours, epoch, tag) = begun(&server).await;
        server.ask("TRUNCATE TABLE elect");
        assert_eq!(put(&ours, &epoch, Some(&tag), "late").await, Put::Conflict);
        let error = ours.get(ROW).await.expect_err("another store");
        assert_eq!(error.kind(), ErrorKind::Unfit, "{error}");
        assert!(error.to_string().contains("store id"), "{error}");
        let new = table(&url(&server));
        new.prepare().await.expect("it gets an id");
        let found = new.get(ROW).await.expect("an answer");
        assert_ne!(found.epoch.name, epoch);
        assert!(found.row.is_none());
    });
}

/// The replica has not received the newest write. A client turns to it by itself, and learns of another epoch.
#[test]
fn a_replica_that_takes_over_without_the_newest_write_is_another_epoch() {
    run("a fail-over", async {
        let setup = DatabaseSetup { has_log: true, ..DatabaseSetup::default() };
        let primary = MariaDb::start_as(&setup);
        let (first, epoch, tag) = begun(&primary).await;
        let replica = primary.replica();
        let (one, other) = (primary.address(), replica.address());
        let both = table(&format!("mariadb://elect@{other},{one}/jobs"));
        let found = eventually_found(&both).await;
        assert_eq!(found.epoch.name, epoch);
        let alone = table(&format!("mariadb://elect@{other}/jobs"));
        let error = alone.get(ROW).await.expect_err("it only reads");
        assert_eq!(error.kind(), ErrorKind::Unreachable);
        assert!(error.to_string().contains("name the primary"), "{error}");
        replica.fall_behind();
        assert!(matches!(put(&first, &epoch, Some(&tag), "new").await, Put::Done(_)));
        drop((first, primary));
        replica.promote();
        is_another_epoch(&both, &epoch, &tag).await;
    });
}

/// Meanwhile another server may have taken writes, which it has lost.
#[test]
fn an_old_primary_that_was_a_replica_since_is_another_epoch_without_a_restart() {
    run("there and back", async {
        let server = MariaDb::start();
        let (table, epoch, tag) = begun(&server).await;
        server.ask(
            "SET GLOBAL read_only = 1; CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = 1",
        );
        server.ask("START SLAVE; STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only = 0");
        is_another_epoch(&table, &epoch, &tag).await;
    });
}

/// The session lives on, and would hide the other servers of the URL.
#[test]
fn a_server_that_takes_no_writes_any_more_is_left() {
    run("a fenced primary", async {
        let (old, new) = (MariaDb::start(), MariaDb::start());
        // The server itself would not refuse a write of such a user.
        old.ask("GRANT READ_ONLY ADMIN ON *.* TO elect@'%'");
        let (_, epoch, tag) = begun(&old).await;
        let table = table(&format!("mariadb://elect@{},{}/jobs", old.address(), new.address()));
        assert_eq!(table.get(ROW).await.expect("an answer").epoch.name, epoch);
        old.ask("SET GLOBAL read_only = 1");
        assert_eq!(put(&table, &epoch, Some(&tag), "late").await, Put::Conflict);
        assert!(!table.delete(ROW, &tag).await.expect("an answer"));
        let error = table.get(ROW).await.expect_err("it takes no writes");
        assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
        // The other server of this URL has another table, which a process that knows the first refuses.
        let error = table.get(ROW).await.expect_err("no server of this cluster takes writes");
        assert_eq!(error.kind(), ErrorKind::Unfit, "{error}");
        assert!(error.to_string().contains("store id"), "{error}");
    });
}

/// A node of Galera refuses all statements so while it has lost its cluster. A trigger stands for it.
#[test]
fn a_node_that_has_lost_its_cluster_is_left() {
    run("a lost node", async {
        let setup = DatabaseSetup { has_log: true, ..DatabaseSetup::default() };
        let old = MariaDb::start_as(&setup);
        let (_, epoch, tag) = begun(&old).await;
        let new = old.replica();
        let table = table(&format!("mariadb://elect@{},{}/jobs", old.address(), new.address()));
        assert_eq!(table.get(ROW).await.expect("an answer").epoch.name, epoch);
        new.promote();
        old.ask(
            "CREATE TRIGGER lost BEFORE UPDATE ON elect FOR EACH ROW \
             SIGNAL SQLSTATE '08S01' SET MYSQL_ERRNO = 1047",
        );
        let body = Body { head: "{}".to_owned(), ..Body::default() };
        let error = table.put(ROW, &epoch, Some(&tag), &body).await.expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
        assert!(error.to_string().contains("wsrep_cluster_status"), "{error}");
        is_another_epoch(&table, &epoch, &tag).await;
    });
}

/// A reader of Aurora has only this setting.
#[test]
fn a_server_whose_innodb_only_reads_is_no_primary() {
    run("a reader", async {
        let reader = MariaDb::start_with(&["--innodb-read-only=1"]);
        let primary = MariaDb::start();
        let alone = table(&url(&reader));
        let error = alone.get(ROW).await.expect_err("it only reads");
        assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
        assert!(error.to_string().contains("name the primary"), "{error}");
        let both = format!("mariadb://elect@{},{}/jobs", reader.address(), primary.address());
        table(&both).prepare().await.expect("the other takes writes");
    });
}

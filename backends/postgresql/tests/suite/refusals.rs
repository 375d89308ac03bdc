//! What a server that cannot serve is said to be.

use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use elect_api::ErrorKind;
use elect_record::table::{Body, Key, Range, Table};
use elect_testkit::fault::{Disk, Mode, TcpProxy};
use elect_testkit::program::eventually;
use elect_testkit::servers::{Authority, DatabaseSetup, PgBouncer, Postgres};
use elect_testkit::{poll_n_eagerly, run};

use crate::table;

const ROW: Key<'static> = Key { election: "a", document: Key::LEADER };

fn url(server: &Postgres, user: &str, rest: &str) -> String {
    format!("postgresql://{user}@{}/{rest}", server.address())
}

/// Asks for a row, and expects this refusal.
async fn refused(url: &str, kind: ErrorKind, words: &[&str]) {
    elect_testkit::table::refused(&table(url), kind, words).await;
}

#[test]
fn each_refusal_says_what_to_do() {
    run("refusals", async {
        let server =
            Postgres::start_with(&["max_connections=6", "superuser_reserved_connections=1"]);
        server.ask("CREATE ROLE me LOGIN PASSWORD 'right'; CREATE ROLE mute LOGIN");
        server.ask(
            "CREATE ROLE still LOGIN; ALTER ROLE still SET default_transaction_read_only = on",
        );
        server.rule("host all me all scram-sha-256");
        refused(&url(&server, "me", "postgres"), ErrorKind::Denied, &["user me", "no password"])
            .await;
        let wrong = url(&server, "me:hush", "postgres");
        refused(&wrong, ErrorKind::Denied, &["user me", "the password of the URL"]).await;
        table(&url(&server, "me:right", "postgres")).get(ROW).await.expect("let in");
        refused(&url(&server, "elect", "none"), ErrorKind::Unfit, &["CREATE DATABASE"]).await;
        let still = url(&server, "still", "postgres");
        refused(&still, ErrorKind::Unreachable, &["default_transaction_read_only"]).await;
        let error = table(&url(&server, "mute", "postgres")).prepare().await.expect_err("no right");
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        assert!(error.to_string().contains("elect doctor"), "{error}");
        server.ask("CREATE SCHEMA other; CREATE TABLE other.document (election int)");
        let other = url(&server, "elect", "postgres?schema=other");
        refused(&other, ErrorKind::Unfit, &["election integer", "another schema"]).await;
        server.ask("CREATE DATABASE closed");
        server.ask("REVOKE CONNECT ON DATABASE closed FROM PUBLIC");
        refused(&url(&server, "me:right", "closed"), ErrorKind::Denied, &["GRANT CONNECT"]).await;
        server.ask("ALTER ROLE mute CONNECTION LIMIT 0");
        let full = url(&server, "mute", "postgres");
        refused(&full, ErrorKind::Unreachable, &["max_connections"]).await;
    });
}

#[test]
fn a_client_that_waits_for_nothing_listens_to_nothing() {
    run("silence", async {
        let server = Postgres::start();
        let ours = table(&url(&server, "elect", "postgres"));
        ours.prepare().await.expect("the right to make it");
        {
            let mut notice = ours.changed(Range::Row(ROW));
            assert!(poll_n_eagerly(200, &mut notice).await.is_none(), "nothing has changed");
            ours.hush().await;
            assert!(ours.heard(ROW).row.is_some(), "it is still waited for");
        }
        ours.hush().await;
        assert_eq!(ours.heard(ROW).row, None);
        let last = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'UNLISTEN %'";
        assert_eq!(server.ask(last), "1");
    });
}

#[test]
fn a_full_server_is_told_apart() {
    run("a full server", async {
        let server =
            Postgres::start_with(&["max_connections=6", "superuser_reserved_connections=1"]);
        server.ask("CREATE ROLE me LOGIN");
        let mut held = Vec::new();
        let full = loop {
            let table = table(&url(&server, "me", "postgres"));
            match table.get(ROW).await {
                Ok(_) => held.push(table),
                Err(error) => break error,
            }
            assert!(held.len() < 6, "the server has no limit");
        };
        assert_eq!(full.kind(), ErrorKind::Unreachable, "{full}");
        assert!(full.to_string().contains("max_connections"), "{full}");
    });
}

/// The server's queue of notices may be full or damaged. Candidates look at the row then.
#[test]
fn a_server_that_refuses_to_listen_is_polled() {
    run("no notices", async {
        let server = Postgres::start();
        let way = TcpProxy::start(server.address());
        way.requests(Mode::Misspell("LISTEN"));
        let ours = table(&format!("postgresql://elect@{}/postgres", way.address()));
        ours.prepare().await.expect("the right to make it");
        assert!(ours.tells(), "no answer says otherwise yet");
        ours.changed(Range::Row(ROW)).await.expect("a look at the row");
        assert!(!ours.tells(), "it would wait for ever");
        ours.get(ROW).await.expect("the session goes on");
        let mut told = ours.changed(Range::Row(ROW));
        assert!(poll_n_eagerly(200, &mut told).await.is_none(), "nothing has changed");
        way.requests(Mode::Pass);
        way.cut();
        let look = async { while ours.get(ROW).await.is_err() {} };
        let ((), looked) = tokio::join!(look, told);
        looked.expect("a look, as the next session tells");
        assert!(ours.tells());
    });
}

/// A session that listens in a transaction without an end fills the queue. Then the server refuses all that notify.
#[test]
fn a_write_is_done_without_a_notice_if_their_queue_is_full() {
    run("a full queue", async {
        let server = Postgres::start_with(&["allow_system_table_mods=on"]);
        let ours = table(&url(&server, "elect", "postgres"));
        ours.prepare().await.expect("the right to make it");
        let epoch = ours.get(ROW).await.expect("an answer").epoch.name;
        // The queue takes 8 GB until it is full.
        server.ask(
            "CREATE OR REPLACE FUNCTION pg_catalog.pg_notify(text, text) RETURNS void LANGUAGE plpgsql AS \
             $$BEGIN RAISE EXCEPTION 'too many notifications in the NOTIFY queue' USING ERRCODE = '54000'; END$$",
        );
        let body = Body { head: "{}".to_owned(), ..Body::default() };
        let put = ours.put(ROW, &epoch, None, &body).await.expect("an answer");
        let elect_record::table::Put::Done(tag) = put else { panic!("{put:?}") };
        assert!(ours.delete(ROW, &tag).await.expect("an answer"));
    });
}

/// elect sets its own limit. Behind a pooler, that of the role counts.
#[test]
fn the_statement_timeout_of_a_role_is_named_where_it_counts() {
    run("a limit of the role", async {
        let server = Postgres::start();
        let pooler = PgBouncer::start(server.address());
        let ours = table(&url(&server, "elect", "postgres"));
        ours.prepare().await.expect("the right to make it");
        let epoch = ours.get(ROW).await.expect("an answer").epoch.name;
        let body = Body { head: "{}".to_owned(), ..Body::default() };
        let put = ours.put(ROW, &epoch, None, &body).await.expect("an answer");
        let elect_record::table::Put::Done(tag) = put else { panic!("{put:?}") };
        let _held = Held::start(
            &server,
            "BEGIN; SELECT * FROM elect.document FOR UPDATE; SELECT pg_sleep(600)",
        );
        server.ask("ALTER ROLE elect SET statement_timeout = '200ms'");
        for (address, kind, word) in [
            (server.address(), ErrorKind::Unreachable, "pg_stat_activity"),
            (pooler.address(), ErrorKind::Ambiguous, "statement_timeout of"),
        ] {
            let ours = table(&format!("postgresql://elect@{address}/postgres"));
            let error = ours.put(ROW, &epoch, Some(&tag), &body).await.expect_err("locked");
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.to_string().contains(word), "{word}: {error}");
        }
    });
}

/// Renewals need no more room.
#[test]
fn a_full_disk_is_named_and_ends_no_leadership() {
    run("a full disk", async {
        let disk = Disk::of_kib(120_000);
        let setup =
            DatabaseSetup { disk: Some(disk.path().to_owned()), ..DatabaseSetup::default() };
        let server = Postgres::start_as(&setup);
        let ours = table(&url(&server, "elect", "postgres"));
        ours.prepare().await.expect("the right to make it");
        let epoch = ours.get(ROW).await.expect("an answer").epoch.name;
        let body = Body { head: "{}".to_owned(), ..Body::default() };
        let put = ours.put(ROW, &epoch, None, &body).await.expect("an answer");
        let elect_record::table::Put::Done(mut tag) = put else { panic!("{put:?}") };
        disk.fill();
        let letters = std::iter::repeat_with(fastrand::alphanumeric).take(1_000_000);
        let large = Body { cells: letters.collect(), ..body.clone() };
        let error = ours.put(ROW, &epoch, Some(&tag), &large).await.expect_err("no room");
        assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
        assert!(error.to_string().contains("the server's disk is full"), "{error}");
        let renewal = Body { has_same_cells: true, is_renewal: true, ..body };
        for _ in 0..100 {
            let put = ours.put(ROW, &epoch, Some(&tag), &renewal).await.expect("an answer");
            let elect_record::table::Put::Done(newest) = put else { panic!("{put:?}") };
            tag = newest;
        }
    });
}

#[test]
fn a_lock_of_another_session_is_named_and_holds_no_renewal_up() {
    run("locks", async {
        let server = Postgres::start();
        let ours = table(&url(&server, "elect", "postgres"));
        ours.prepare().await.expect("the right to make it");
        let found = ours.get(ROW).await.expect("an answer");
        let body = Body { head: "{}".to_owned(), ..Body::default() };
        let epoch = found.epoch.name;
        let put = ours.put(ROW, &epoch, None, &body).await.expect("an answer");
        let elect_record::table::Put::Done(tag) = put else { panic!("{put:?}") };
        for lock in ["SELECT * FROM elect.document FOR UPDATE", "LOCK TABLE elect.document"] {
            let held = Held::start(&server, &format!("BEGIN; {lock}; SELECT pg_sleep(600)"));
            let put = ours.put(ROW, &epoch, Some(&tag), &body).await;
            let error = put.expect_err("locked");
            assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
            assert!(error.to_string().contains("pg_stat_activity"), "{error}");
            drop(held);
        }
        let put = ours.put(ROW, &epoch, Some(&tag), &body).await.expect("an answer");
        assert!(matches!(put, elect_record::table::Put::Done(_)));
    });
}

/// A commit that waits for a replica keeps the row locked.
#[test]
fn a_synchronous_replica_that_is_gone_is_named() {
    run("a missing replica", async {
        let server = Postgres::start();
        let url = url(&server, "elect", "postgres");
        let ours = table(&url);
        ours.prepare().await.expect("the right to make it");
        let epoch = ours.get(ROW).await.expect("an answer").epoch.name;
        let body = Body { head: "{}".to_owned(), ..Body::default() };
        let put = ours.put(ROW, &epoch, None, &body).await.expect("an answer");
        let elect_record::table::Put::Done(tag) = put else { panic!("{put:?}") };
        server.ask("ALTER SYSTEM SET synchronous_standby_names = 'gone'");
        server.ask("SELECT pg_reload_conf()");
        eventually("the setting", || {
            (server.ask("SHOW synchronous_standby_names") == "gone").then_some(())
        });
        let stuck = table(&url);
        let waits = async {
            let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
            while server.ask(waiting) != "1" {
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
        };
        tokio::select! {
            put = stuck.put(ROW, &epoch, Some(&tag), &body) => panic!("{put:?} without a replica"),
            () = waits => {}
        }
        let error = ours.put(ROW, &epoch, Some(&tag), &body).await.expect_err("locked");
        assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
        let said = elect_remote::in_full(&error);
        assert!(format!("{error}{said}").contains("waits for a synchronous replica"), "{error}");
        let clock = std::sync::Arc::new(elect_testkit::oracle::now);
        let found = ours.examine(clock).await.expect("an examination").findings;
        let words = "waits for a synchronous one: gone";
        assert!(found.iter().any(|it| it.what.contains(words)), "{found:?}");
        server.ask("ALTER SYSTEM RESET synchronous_standby_names");
        server.ask("SELECT pg_reload_conf()");
        eventually("the commit to end", || {
            (server.ask("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
                == "0")
                .then_some(())
        });
    });
}

#[test]
fn certificates_are_checked_as_sslmode_says() {
    run("certificates", async {
        let authority = Authority::new();
        let pem = authority.server(&["db.example"]);
        // The server refuses a key that others may read.
        let readable = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(&pem.key, readable).expect("our own");
        if nix::unistd::geteuid().is_root() {
            chown(&pem.key, Some(65534), Some(65534)).expect("we are root");
        }
        let file = |name: &str, path: &Path| format!("{name}={}", path.display());
        let settings = [file("ssl_cert_file", &pem.cert), file("ssl_key_file", &pem.key)];
        let server = Postgres::start_with(&["ssl=on", &settings[0], &settings[1]]);
        server.rule("hostnossl all all all reject");
        let (ours, others) = (authority.ca(), Authority::new());
        let of = |mode: &str, ca: &Path| {
            let rest = format!("postgres?sslmode={mode}&sslrootcert={}", ca.display());
            url(&server, "elect", &rest)
        };
        for mode in ["prefer", "require", "verify-ca"] {
            table(&of(mode, &ours))
                .get(ROW)
                .await
                .unwrap_or_else(|error| panic!("{mode}: {error}"));
        }
        table(&of("prefer", &others.ca())).get(ROW).await.expect("nothing is checked");
        refused(&of("verify-full", &ours), ErrorKind::Unfit, &["is for another name"]).await;
        for mode in ["require", "verify-ca", "verify-full"] {
            let unknown = of(mode, &others.ca());
            refused(&unknown, ErrorKind::Unfit, &["not signed by", "the option sslrootcert"]).await;
        }
        let clear = url(&server, "elect", "postgres?sslmode=disable");
        refused(&clear, ErrorKind::Denied, &["no encryption", "sslmode=require in the URL"]).await;
        let plain = Postgres::start();
        let rest = format!("postgres?sslmode=verify-full&sslrootcert={}", ours.display());
        refused(&url(&plain, "elect", &rest), ErrorKind::Unfit, &["does not speak TLS"]).await;
    });
}

/// A restore makes the key last. Two candidates could create one row before.
#[test]
fn no_row_is_created_in_a_table_without_its_key() {
    run("no key", async {
        let server = Postgres::start();
        let table = table(&url(&server, "elect", "postgres"));
        table.prepare().await.expect("the right to make it");
        server.ask("ALTER TABLE elect.document DROP CONSTRAINT document_pkey");
        let epoch = table.get(ROW).await.expect("an answer").epoch.name;
        let put = table.put(ROW, &epoch, None, &Body::default()).await;
        let error = put.expect_err("two rows could have one key");
        assert_eq!(error.kind(), ErrorKind::Unfit, "{error}");
        assert!(error.to_string().contains("primary key"), "{error}");
        assert_eq!(server.ask("SELECT count(*) FROM elect.document WHERE election = 'a'"), "0");
    });
}

#[test]
fn an_examination_names_what_is_wrong() {
    run("an examination", async {
        let server = Postgres::start_with(&[
            "fsync=off",
            "full_page_writes=off",
            "synchronous_commit=local",
        ]);
        server.ask("CREATE ROLE mute LOGIN");
        let said = async |user: &str| {
            let clock = std::sync::Arc::new(elect_testkit::oracle::now);
            let found = table(&url(&server, user, "postgres")).examine(clock).await;
            let found = found.expect("an examination").findings;
            let words = found.iter().map(|it| format!("{}: {}\n", it.what, it.way_out));
            words.collect::<Vec<_>>().concat()
        };
        let found = said("mute").await;
        for word in [
            "fsync is off",
            "full_page_writes is off",
            "synchronous_commit is local",
            "may not make it",
            "CREATE SCHEMA",
        ] {
            assert!(found.contains(word), "{word}: {found}");
        }
        // What a DBA is told to run is enough.
        let ddl = found.split("have a DBA run: ").nth(1).and_then(|it| it.lines().next());
        let ddl = ddl.expect("statements").replace("ROLE_OF_ELECT", "mute");
        server.ask(&ddl);
        assert!(!said("mute").await.contains("a DBA"), "the rights are there");
        let ours = table(&url(&server, "mute", "postgres"));
        let epoch = ours.get(ROW).await.expect("an answer").epoch.name;
        let put = ours.put(ROW, &epoch, None, &Body::default()).await.expect("an answer");
        let elect_record::table::Put::Done(tag) = put else { panic!("{put:?}") };
        assert!(ours.delete(ROW, &tag).await.expect("an answer"));
        // A schema that is there needs no right to make one.
        server.ask("CREATE SCHEMA mine AUTHORIZATION mute; CREATE SCHEMA theirs");
        let said_of = async |schema: &str| {
            let clock = std::sync::Arc::new(elect_testkit::oracle::now);
            let table = table(&url(&server, "mute", &format!("postgres?schema={schema}")));
            let found = table.examine(clock).await.expect("an examination").findings;
            found
                .iter()
                .flat_map(|it| [it.what.clone(), it.way_out.clone()])
                .collect::<Vec<_>>()
                .join(": ")
        };
        let mine = said_of("mine").await;
        assert!(mine.contains("the first elect run makes it"), "{mine}");
        let theirs = said_of("theirs").await;
        assert!(theirs.contains("a DBA run: CREATE TABLE"), "{theirs}");
        server.ask("REVOKE INSERT, DELETE ON elect.document FROM mute");
        let found = said("mute").await;
        assert!(found.contains("lacks INSERT, DELETE"), "{found}");
    });
}

/// Two clusters that both accept writes would have a leader each.
#[test]
fn an_examination_names_two_servers_that_accept_writes() {
    run("two primaries", async {
        let (one, other) = (Postgres::start(), Postgres::start());
        let both = format!("postgresql://elect@{},{}/postgres", one.address(), other.address());
        let clock = std::sync::Arc::new(elect_testkit::oracle::now);
        let found = table(&both).examine(clock).await.expect("an examination").findings;
        assert!(found.iter().any(|it| it.what.contains("all accept writes")), "{found:?}");
    });
}

/// A session of another program, which ends when this is dropped.
struct Held<'a> {
    psql: Child,
    name: String,
    server: &'a Postgres,
}

impl<'a> Held<'a> {
    /// Returns once the statements have run. They end with a sleep.
    fn start(server: &'a Postgres, statements: &str) -> Self {
        let name = format!("held{}", fastrand::u32(..));
        let mut psql = Command::new("psql");
        psql.args(["-XAtqc", statements]).envs(server.environment()).env("PGAPPNAME", &name);
        let psql = psql.stdout(Stdio::null()).spawn().expect("psql: tests/run setup");
        let held = Self { psql, name, server };
        eventually("the session to sleep", || {
            held.ask("wait_event = 'PgSleep'", "count(*)").eq("1").then_some(())
        });
        held
    }

    fn ask(&self, condition: &str, what: &str) -> String {
        let of = format!("application_name = '{}'", self.name);
        self.server.ask(&format!("SELECT {what} FROM pg_stat_activity WHERE {of} AND {condition}"))
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.ask("true", "pg_terminate_backend(pid)");
        let _ = self.psql.wait();
    }
}

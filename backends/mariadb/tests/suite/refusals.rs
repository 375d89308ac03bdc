//! What a server that cannot serve is said to be.

use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;
use std::process::{Child, Stdio};

use elect_api::ErrorKind;
use elect_record::table::{Body, Key, Put, Table};
use elect_testkit::program::eventually;
use elect_testkit::run;
use elect_testkit::servers::{Authority, MariaDb};
use elect_testkit::table::refused;

use crate::table;

const ROW: Key<'static> = Key { election: "a", document: Key::LEADER };

fn url(server: &MariaDb, user: &str, rest: &str) -> String {
    format!("mariadb://{user}@{}/{rest}", server.address())
}

#[test]
fn each_refusal_says_what_to_do() {
    run("refusals", async {
        let server = MariaDb::start();
        server.ask("CREATE USER me@'%' IDENTIFIED BY 'right'; GRANT ALL ON jobs.* TO me@'%'");
        server.ask("CREATE USER mute@'%'; GRANT CREATE ON jobs.nothing TO mute@'%'");
        server.ask("INSTALL SONAME 'auth_ed25519'; CREATE USER modern@'%' IDENTIFIED VIA ed25519 USING PASSWORD('x')");
        let denied = |user: &str| table(&url(&server, user, "jobs"));
        refused(&denied("me"), ErrorKind::Denied, &["user me", "no password"]).await;
        refused(&denied("me:hush"), ErrorKind::Denied, &["user me", "the password of the URL"])
            .await;
        refused(&denied("modern:hush"), ErrorKind::Denied, &["client_ed25519", "ALTER USER"]).await;
        denied("me:right").get(ROW).await.expect("let in");
        let none = table(&url(&server, "elect", "none"));
        refused(&none, ErrorKind::Denied, &["elect doctor"]).await;
        server.ask("GRANT ALL ON *.* TO me@'%'");
        let none = table(&url(&server, "me:right", "none"));
        refused(&none, ErrorKind::Unfit, &["CREATE DATABASE"]).await;
        let error = denied("mute").prepare().await.expect_err("no right");
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        assert!(error.to_string().contains("elect doctor"), "{error}");
        server.ask("CREATE TABLE other (election int)");
        let other = table(&url(&server, "elect", "jobs?table=other"));
        refused(&other, ErrorKind::Unfit, &["another table other", "?table="]).await;
        // Two candidates could create one row in a table without its key.
        let whole = table(&url(&server, "elect", "jobs"));
        whole.prepare().await.expect("the right to make it");
        let epoch = whole.get(ROW).await.expect("an answer").epoch.name;
        crate::let_a_second_pass(&server);
        server.ask("ALTER TABLE elect DROP PRIMARY KEY");
        let put = whole.put(ROW, &epoch, None, &Body::default()).await;
        assert_eq!(put.expect("an answer"), Put::Conflict);
        refused(&whole, ErrorKind::Unfit, &["another table elect"]).await;
    });
}

/// A server without a seat left says so before the login.
#[test]
fn a_full_server_is_told_apart() {
    run("a full server", async {
        let server = MariaDb::start_with(&["--max-connections=10"]);
        let mut held = Vec::new();
        let full = loop {
            let table = table(&url(&server, "elect", "jobs"));
            match table.get(ROW).await {
                Ok(_) => held.push(table),
                Err(error) => break error,
            }
            assert!(held.len() < 20, "the server has no limit");
        };
        assert_eq!(full.kind(), ErrorKind::Unreachable, "{full}");
        assert!(full.to_string().contains("max_connections"), "{full}");
    });
}

#[test]
fn what_is_no_server_is_told_apart() {
    run("no server", async {
        let port = elect_testkit::servers::free_port();
        let nothing = table(&format!("mariadb://me@127.0.0.1:{port}/jobs"));
        refused(&nothing, ErrorKind::Unreachable, &["nothing listens there"]).await;
        let socket = table("mariadb://me@/jobs?socket=/nowhere");
        refused(&socket, ErrorKind::Unreachable, &["/nowhere", "nothing listens there"]).await;
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        std::thread::spawn(move || {
            for greeting in [&b"SSH-2.0-OpenSSH_9.2p1\r\n"[..], b"", b"\x05\0\0\0\x09old\0"] {
                let (mut stream, _) = listener.accept().expect("a client");
                let _ = std::io::Write::write_all(&mut stream, greeting);
            }
        });
        let stranger = table(&format!("mariadb://me@{address}/jobs"));
        refused(&stranger, ErrorKind::Unfit, &["does not speak MariaDB's protocol"]).await;
        refused(&stranger, ErrorKind::Unreachable, &["closes the connection without a word"]).await;
        refused(&stranger, ErrorKind::Unfit, &["does not speak MariaDB's protocol"]).await;
    });
}

#[test]
fn a_lock_of_another_session_is_named_and_holds_no_renewal_up() {
    run("locks", async {
        let server = MariaDb::start();
        if nix::unistd::geteuid().is_root() {
            server.ask("ALTER USER root@localhost IDENTIFIED VIA unix_socket");
        }
        let socket = format!("mariadb://root@/jobs?socket={}", server.socket().display());
        let ours = table(&socket);
        ours.prepare().await.expect("the right to make it");
        let epoch = ours.get(ROW).await.expect("an answer").epoch.name;
        let body = Body { head: "{}".to_owned(), ..Body::default() };
        let put = ours.put(ROW, &epoch, None, &body).await.expect("an answer");
        let Put::Done(tag) = put else { panic!("{put:?}") };
        for lock in ["BEGIN; SELECT * FROM elect FOR UPDATE", "LOCK TABLES elect WRITE"] {
            let held = Held::start(&server, &format!("{lock}; SELECT SLEEP(600)"));
            let error = ours.put(ROW, &epoch, Some(&tag), &body).await.expect_err("locked");
            assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
            assert!(error.to_string().contains("PROCESSLIST"), "{error}");
            drop(held);
        }
        let put = ours.put(ROW, &epoch, Some(&tag), &body).await.expect("an answer");
        assert!(matches!(put, Put::Done(_)));
    });
}

#[test]
fn certificates_are_checked_as_ssl_mode_says() {
    run("certificates", async {
        let authority = Authority::new();
        let pem = authority.server(&["db.example"]);
        let readable = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(&pem.key, readable).expect("our own");
        if nix::unistd::geteuid().is_root() {
            chown(&pem.key, Some(65534), Some(65534)).expect("we are root");
        }
        let file = |name: &str, path: &Path| format!("--{name}={}", path.display());
        let settings = [file("ssl-cert", &pem.cert), file("ssl-key", &pem.key)];
        let server = MariaDb::start_with(&[&settings[0], &settings[1]]);
        server.ask("ALTER USER elect@'%' REQUIRE SSL");
        let (ours, others) = (authority.ca(), Authority::new());
        let of = |mode: &str, ca: &Path| {
            table(&url(&server, "elect", &format!("jobs?ssl-mode={mode}&ssl-ca={}", ca.display())))
        };
        for mode in ["PREFERRED", "required", "VERIFY_CA"] {
            of(mode, &ours).get(ROW).await.unwrap_or_else(|error| panic!("{mode}: {error}"));
        }
        of("PREFERRED", &others.ca()).get(ROW).await.expect("nothing is checked");
        refused(&of("VERIFY_IDENTITY", &ours), ErrorKind::Unfit, &["is for another name"]).await;
        for mode in ["REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"] {
            let unknown = of(mode, &others.ca());
            refused(&unknown, ErrorKind::Unfit, &["not signed by", "the option ssl-ca"]).await;
        }
        let clear = table(&url(&server, "elect", "jobs?ssl-mode=DISABLED"));
        refused(&clear, ErrorKind::Denied, &["user elect"]).await;
        let plain = MariaDb::start();
        let rest = format!("jobs?ssl-mode=VERIFY_IDENTITY&ssl-ca={}", ours.display());
        let plain = table(&url(&plain, "elect", &rest));
        refused(&plain, ErrorKind::Unfit, &["does not speak TLS"]).await;
    });
}

/// Two servers that both accept writes would have a leader each.
#[test]
fn an_examination_names_what_is_wrong() {
    run("an examination", async {
        let one = MariaDb::start_with(&["--log-bin=b", "--innodb-flush-log-at-trx-commit=2"]);
        let other = MariaDb::start();
        let both = format!("mariadb://elect@{},{}/jobs", one.address(), other.address());
        let clock = || std::sync::Arc::new(elect_testkit::oracle::now);
        let both = table(&both);
        let said = |found: &elect_api::Examination| -> String {
            let words = found.findings.iter().map(|it| format!("{}: {}\n", it.what, it.way_out));
            words.collect()
        };
        let found = said(&both.examine(clock()).await.expect("an examination"));
        for word in [
            "all accept writes",
            "innodb_flush_log_at_trx_commit is 2",
            "sync_binlog is 0",
            "no table elect yet",
            "CREATE TABLE",
        ] {
            assert!(found.contains(word), "{word}: {found}");
        }
        both.prepare().await.expect("the right to make it");
        one.ask("CREATE USER mute@'%'; GRANT SELECT ON jobs.elect TO mute@'%'");
        let mute = table(&url(&one, "mute", "jobs"));
        let found = said(&mute.examine(clock()).await.expect("an examination"));
        for word in ["lacks INSERT, UPDATE, DELETE", "GRANT SELECT, INSERT"] {
            assert!(found.contains(word), "{word}: {found}");
        }
    });
}

/// A session of another program, which ends when this is dropped.
pub(crate) struct Held<'a>(Child, &'a MariaDb);

impl<'a> Held<'a> {
    /// Returns once the statements have run. They end with a sleep.
    pub(crate) fn start(server: &'a MariaDb, statements: &str) -> Self {
        let client = server.client().args(["-Ne", statements]).stdout(Stdio::null()).spawn();
        let held = Self(client.expect("a client"), server);
        eventually("the session to sleep", || (held.sleepers() != "").then_some(()));
        held
    }

    fn sleepers(&self) -> String {
        let sleepers = "FROM information_schema.PROCESSLIST WHERE state = 'User sleep'";
        self.1.ask(&format!("SELECT CONCAT('KILL ', id) {sleepers}"))
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.1.ask(&self.sleepers());
        let _ = self.0.wait();
    }
}

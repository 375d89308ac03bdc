//! What a server that cannot serve is said to be.

use elect_api::ErrorKind;
use elect_record::table::{Body, Key, Put, Range, Table, Tag};
use elect_testkit::run;
use elect_testkit::servers::{Authority, DatabaseServer as _, Redis, Sentinel, free_port};
use elect_testkit::table::refused;

use crate::table;

const ROW: Key<'static> = Key { election: "a", document: Key::LEADER };

fn url(server: &Redis, user: &str, rest: &str) -> String {
    format!("redis://{user}@{}/{rest}", server.address())
}

/// Expects that a write is refused with these words, and that nothing was written.
async fn is_not_written(table: &impl Table, kind: ErrorKind, words: &[&str]) {
    let epoch = table.get(ROW).await.expect("an answer").epoch.name;
    let put = table.put(ROW, &epoch, None, &Body::default()).await;
    let error = put.expect_err("refused");
    let text = format!("{error} {error:?}");
    assert_eq!(error.kind(), kind, "{text}");
    assert!(words.iter().all(|word| text.contains(word)), "{words:?}: {text}");
    assert!(table.get(ROW).await.expect("an answer").row.is_none());
}

#[test]
fn each_refusal_says_what_to_do() {
    run("refusals", async {
        let server = Redis::start();
        server.ask("ACL SETUSER me on >right ~* &* +@all");
        server.ask("ACL SETUSER mute on nopass ~{elect}* &elect:* +@all -eval");
        server.ask("ACL SETUSER deaf on nopass ~* resetchannels +@all");
        let of = |user: &str| table(&url(&server, user, ""));
        refused(&of("me"), ErrorKind::Denied, &["user me", "no password"]).await;
        refused(&of("me:hush"), ErrorKind::Denied, &["user me", "the password of the URL"]).await;
        of("me:right").prepare().await.expect("let in");
        let pinned = table(&url(&server, "elect", "?store-id=00000000000000ff"));
        refused(&pinned, ErrorKind::Unfit, &["is another store"]).await;
        refused(&of("mute"), ErrorKind::Denied, &["elect doctor prints the ACL", "eval"]).await;
        is_not_written(&of("deaf"), ErrorKind::Denied, &["ACL"]).await;
        let error = of("deaf").get(ROW).await;
        error.expect("it may read");
        let rights = include_str!("../../src/manual.md");
        let (_, rights) = rights.split_once("ACL SETUSER me on >PASSWORD").expect("an ACL");
        let (rights, _) = rights.split_once("```").expect("its end");
        let words: Vec<_> = rights.split_whitespace().collect();
        server.ask(&format!("ACL SETUSER lean on nopass {}", words.join(" ")));
        let lean = of("lean");
        lean.prepare().await.expect("let in");
        let epoch = lean.get(ROW).await.expect("it may read").epoch.name;
        let mut told = std::pin::pin!(lean.changed(Range::Row(ROW)));
        assert!(elect_testkit::poll_n_eagerly(50, &mut told).await.is_none());
        let put = lean.put(ROW, &epoch, None, &Body::default()).await.expect("it may write");
        let Put::Done(tag) = put else { panic!("{put:?}") };
        told.await.expect("a notice");
        assert_eq!(lean.scan(Range::Leaders).await.expect("it may list").rows.len(), 1);
        assert!(lean.delete(ROW, &tag).await.expect("it may remove"));
        lean.hush().await;
        let none = table(&url(&server, "elect", "99"));
        refused(&none, ErrorKind::Unfit, &["the number of a database"]).await;
        server.ask("SET {other} x");
        let other = table(&url(&server, "elect", "?prefix=other"));
        refused(&other, ErrorKind::Unfit, &["another prefix"]).await;
        server.ask("CONFIG SET requirepass secret");
        let default = table(&format!("redis://{}", server.address()));
        refused(&default, ErrorKind::Denied, &["user default, and no password"]).await;
    });
}

#[test]
fn a_server_that_takes_no_writes_says_why() {
    run("no writes", async {
        let server = Redis::start();
        let table = table(&url(&server, "elect", ""));
        table.prepare().await.expect("it may write");
        let epoch = table.get(ROW).await.expect("an answer").epoch.name;
        let lease = Key { election: "led", ..ROW };
        let put = async |tag: Option<&Tag>| table.put(lease, &epoch, tag, &Body::default()).await;
        let Put::Done(tag) = put(None).await.expect("it may write") else { panic!("a new row") };
        server.ask("CONFIG SET maxmemory 1");
        is_not_written(&table, ErrorKind::Unreachable, &["maxmemory"]).await;
        let renewed = put(Some(&tag)).await.expect("it needs no more room");
        assert!(matches!(renewed, Put::Done(_)));
        server.ask("CONFIG SET maxmemory 0\nCONFIG SET min-replicas-to-write 1");
        is_not_written(&table, ErrorKind::Unreachable, &["min-replicas-to-write"]).await;
        server.ask("CONFIG SET min-replicas-to-write 0");
        let replica = server.replica();
        let of_replica = crate::table(&format!("redis://elect@{}", replica.address()));
        refused(&of_replica, ErrorKind::Unreachable, &["is a replica", "sentinel="]).await;
        // The primary of an open connection becomes a replica.
        let port = free_port();
        server.ask(&format!("REPLICAOF 127.0.0.1 {port}"));
        refused(&table, ErrorKind::Unreachable, &["READONLY"]).await;
        refused(&table, ErrorKind::Unreachable, &["is a replica"]).await;
        // Both hosts are tried.
        replica.promote();
        let both = format!("redis://elect@{},{}", server.address(), replica.address());
        crate::table(&both).get(ROW).await.expect("the second host is the primary");
    });
}

#[test]
fn a_full_server_is_told_apart() {
    run("a full server", async {
        let server = Redis::start_with(&["--maxclients 10"]);
        let mut held = Vec::new();
        let full = loop {
            let table = table(&url(&server, "elect", ""));
            match table.get(ROW).await {
                Ok(_) => held.push(table),
                Err(error) => break error,
            }
            assert!(held.len() < 20, "the server has no limit");
        };
        assert_eq!(full.kind(), ErrorKind::Unreachable, "{full}");
        assert!(full.to_string().contains("maxclients"), "{full}");
    });
}

#[test]
fn what_is_no_server_is_told_apart() {
    run("no server", async {
        let nothing = table(&format!("redis://127.0.0.1:{}", free_port()));
        refused(&nothing, ErrorKind::Unreachable, &["nothing listens there"]).await;
        let socket = table("redis:///?socket=/nowhere");
        refused(&socket, ErrorKind::Unreachable, &["/nowhere", "nothing listens there"]).await;
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        std::thread::spawn(move || {
            for greeting in [&b"SSH-2.0-OpenSSH_9.2p1\r\n"[..], b""] {
                let (mut stream, _) = listener.accept().expect("a client");
                let _ = std::io::Write::write_all(&mut stream, greeting);
                let _ = std::io::Read::read(&mut stream, &mut [0; 64]);
            }
        });
        let stranger = table(&format!("redis://{address}"));
        refused(&stranger, ErrorKind::Unfit, &["does not speak Redis's protocol"]).await;
        refused(&stranger, ErrorKind::Unreachable, &["closes the connection without a word"]).await;
        let server = Redis::start();
        let sentinel = Sentinel::start(server.address(), 0);
        let hidden = table(&format!("redis://{}", sentinel.address()));
        refused(&hidden, ErrorKind::Unfit, &["it is a Sentinel", "?sentinel="]).await;
        let other = table(&format!("redis://{}?sentinel=other", sentinel.address()));
        refused(&other, ErrorKind::Unfit, &["primary other", "SENTINEL masters"]).await;
        let server = table(&format!("redis://{}?sentinel=jobs", server.address()));
        refused(&server, ErrorKind::Unfit, &["is no Sentinel"]).await;
    });
}

#[test]
fn certificates_are_checked() {
    run("certificates", async {
        let authority = Authority::new();
        let pem = authority.server(&["localhost"]);
        let (ours, others) = (authority.ca(), Authority::new());
        let port = free_port();
        let settings = format!(
            "--tls-port {port} --tls-cert-file {} --tls-key-file {} --tls-ca-cert-file {}",
            pem.cert.display(),
            pem.key.display(),
            ours.display()
        );
        let server = Redis::start_with(&[&settings]);
        let of = |host: &str, rest: &str| table(&format!("rediss://elect@{host}:{port}?ca={rest}"));
        let ours = ours.display().to_string();
        refused(&of("localhost", &ours), ErrorKind::Denied, &["the options cert and key"]).await;
        let mine = authority.client("me");
        let (cert, key) = (mine.cert.display(), mine.key.display());
        let whole = format!("{ours}&cert={cert}&key={key}");
        let table = of("localhost", &whole);
        table.prepare().await.expect("let in");
        let epoch = table.get(ROW).await.expect("an answer").epoch.name;
        let put = table.put(ROW, &epoch, None, &Body::default()).await.expect("an answer");
        assert!(matches!(put, Put::Done(_)));
        refused(&of("127.0.0.1", &whole), ErrorKind::Unfit, &["is for another name"]).await;
        let unknown = of("localhost", &others.ca().display().to_string());
        refused(&unknown, ErrorKind::Unfit, &["not signed by a trusted authority"]).await;
        let clear = crate::table(&format!("rediss://elect@{}", server.address()));
        refused(&clear, ErrorKind::Unfit, &["TLS"]).await;
    });
}

//! What an agent or a server that cannot serve is said to be.

use std::sync::Arc;

use elect_api::ErrorKind;
use elect_record::table::{Body, Key, Put, Range, Table};
use elect_testkit::run;
use elect_testkit::servers::{Authority, Consul, DatabaseServer as _, DatabaseSetup, free_port};
use elect_testkit::table::refused;
use serde_json::{Value, json};

use crate::table;

const ROW: Key<'static> = Key { election: "a", document: Key::LEADER };

fn url(server: &Consul, token: &str, rest: &str) -> String {
    let user = if token.is_empty() { String::new() } else { format!("me:{token}@") };
    format!("consul://{user}{}{rest}", server.address())
}

/// Has the servers know a user with these rules. Returns its token.
fn admitted(server: &Consul, user: &str, rules: &str) -> String {
    let policy = json!({"Name": user, "Rules": rules}).to_string();
    Consul::ask_at(server.address(), "PUT", "/v1/acl/policy", &policy);
    let token = json!({"SecretID": Consul::token(user), "Policies": [{"Name": user}]});
    Consul::ask_at(server.address(), "PUT", "/v1/acl/token", &token.to_string());
    Consul::token(user)
}

/// The rules that the page of this store names, in their order.
fn rules_of_the_page() -> Vec<&'static str> {
    let (_, rest) =
        include_str!("../../src/manual.md").split_once("## Keys and rights").expect("it");
    let blocks =
        rest.split("```text\n").skip(1).map(|block| block.split_once("```").expect("an end").0);
    blocks.take(2).collect()
}

/// Expects that a row can be written, read, heard of and removed.
async fn is_usable(table: &impl Table, key: Key<'_>) {
    table.prepare().await.expect("let in");
    assert!(table.get(key).await.expect("it may read").row.is_none());
    let body = Body::default();
    let (told, put) = tokio::join!(table.changed(Range::Row(key)), table.put(key, "", None, &body));
    told.expect("it may wait");
    let put = put.expect("it may write");
    let Put::Done(tag) = put else { panic!("{put:?}") };
    assert!(table.delete(key, &tag).await.expect("it may remove"));
    table.hush().await;
}

#[test]
fn each_refusal_says_what_to_do() {
    run("refusals", async {
        let server = Consul::start();
        let of = |token: &str, rest: &str| table(&url(&server, token, rest));
        refused(&of("", ""), ErrorKind::Denied, &["no password is given", "CONSUL_HTTP_TOKEN"])
            .await;
        let unknown = "00000000-0000-0000-0000-00000000dead";
        refused(&of(unknown, ""), ErrorKind::Denied, &["not known", "ACL not found"]).await;
        let others = admitted(&server, "others", "key_prefix \"others/\" { policy = \"write\" }");
        refused(&of(&others, ""), ErrorKind::Denied, &["elect help consul"]).await;
        let [all, one] = rules_of_the_page()[..] else { panic!("two policies") };
        let nightly = Key { election: "nightly", document: Key::LEADER };
        is_usable(&of(&admitted(&server, "all", all), ""), nightly).await;
        is_usable(&of(&admitted(&server, "one", one), ""), nightly).await;
        refused(&of(&Consul::token("one"), ""), ErrorKind::Denied, &["elect help consul"]).await;
        let root = Consul::token("elect");
        let pinned = of(&root, "?store-id=00000000000000ff");
        refused(&pinned, ErrorKind::Unfit, &["is another store"]).await;
        refused(&of(&root, "?dc=nowhere"), ErrorKind::Unfit, &["option dc", "No path"]).await;
    });
}

#[test]
fn a_store_that_was_emptied_is_another_one() {
    run("an emptied store", async {
        let server = Consul::start();
        let table = table(&url(&server, &Consul::token("elect"), ""));
        table.prepare().await.expect("it may write");
        let put = table.put(ROW, "", None, &Body::default()).await.expect("an answer");
        let Put::Done(tag) = put else { panic!("{put:?}") };
        Consul::ask_at(server.address(), "DELETE", "/v1/kv/elect/?recurse", "");
        let put = table.put(ROW, "", Some(&tag), &Body::default()).await.expect("an answer");
        assert_eq!(put, Put::Conflict);
        // A leader has to know at once.
        assert!(table.get(ROW).await.expect("an answer").row.is_none());
        for expected in [None, Some(&tag)] {
            let put = table.put(ROW, "", expected, &Body::default()).await;
            put.expect_err("no row is written in another store");
        }
        refused(&table, ErrorKind::Unfit, &["has no store id"]).await;
        // A candidate that goes on writing rows that it has seen is refused at the second one.
        let waits = crate::table(&url(&server, &Consul::token("elect"), ""));
        waits.prepare().await.expect("it makes another id");
        waits.get(ROW).await.expect("an answer");
        Consul::ask_at(server.address(), "DELETE", "/v1/kv/elect/?recurse", "");
        let put = waits.put(ROW, "", Some(&tag), &Body::default()).await.expect("an answer");
        assert_eq!(put, Put::Conflict);
        let again = waits.put(ROW, "", Some(&tag), &Body::default()).await;
        assert_eq!(again.expect_err("refused").kind(), ErrorKind::Unreachable);
        refused(&waits, ErrorKind::Unfit, &["has no store id"]).await;
        let other = crate::table(&url(&server, &Consul::token("elect"), ""));
        other.prepare().await.expect("it makes another id");
        refused(&table, ErrorKind::Unfit, &["is another store"]).await;
    });
}

#[test]
fn a_row_that_is_too_long_is_refused() {
    run("long rows", async {
        let server = Consul::start();
        let table = table(&url(&server, &Consul::token("elect"), ""));
        table.prepare().await.expect("it may write");
        let body = |length| Body { cells: "x".repeat(length), ..Body::default() };
        // Too long for a transaction.
        let put = table.put(ROW, "", None, &body(500_000)).await.expect("an answer");
        let Put::Done(tag) = put else { panic!("{put:?}") };
        let found = table.get(ROW).await.expect("an answer").row.expect("a row");
        assert_eq!((found.tag, found.body), (tag.clone(), body(500_000)));
        assert_eq!(
            table.put(ROW, "", None, &body(500_000)).await.expect("an answer"),
            Put::Conflict
        );
        let error = table.put(ROW, "", Some(&tag), &body(600_000)).await.expect_err("too long");
        assert_eq!(error.kind(), ErrorKind::Unfit, "{error}");
        assert!(error.to_string().contains("too long"), "{error}");
    });
}

#[test]
fn servers_without_a_leader_are_told_apart() {
    run("no leader", async {
        let mut servers = Consul::start_as(3, &DatabaseSetup::default(), &Value::Null);
        let addresses = servers.addresses();
        let token = Consul::token("elect");
        let of = |number: usize| table(&format!("consul://me:{token}@{}", addresses[number]));
        of(0).prepare().await.expect("it may write");
        for number in [1, 2] {
            servers.server(number).kill();
        }
        refused(&of(0), ErrorKind::Unreachable, &["cannot use Consul"]).await;
    });
}

#[test]
fn an_agent_stands_for_the_servers() {
    run("an agent", async {
        let server = Consul::start();
        let agent = server.agent();
        let token = Consul::token("elect");
        let by = |address| table(&format!("consul://me:{token}@{address}"));
        let (there, here) = (by(server.address()), by(agent.address()));
        is_usable(&here, ROW).await;
        let put = here.put(ROW, "", None, &Body::default()).await.expect("an answer");
        let Put::Done(tag) = put else { panic!("{put:?}") };
        let found = there.get(ROW).await.expect("an answer").row.expect("a row");
        assert_eq!(found.tag, tag);
    });
}

#[test]
fn what_is_no_agent_is_told_apart() {
    run("no agent", async {
        let nothing = table(&format!("consul://127.0.0.1:{}", free_port()));
        refused(&nothing, ErrorKind::Unreachable, &["nothing listens there"]).await;
        let socket = table("consul:///?socket=/nowhere");
        refused(&socket, ErrorKind::Unreachable, &["/nowhere", "nothing listens there"]).await;
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        std::thread::spawn(move || {
            let page = &b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n<html"[..];
            for greeting in [&b"SSH-2.0-OpenSSH_9.2p1\r\n"[..], page, b""] {
                let (mut stream, _) = listener.accept().expect("a client");
                let _ = std::io::Read::read(&mut stream, &mut [0; 64]);
                let _ = std::io::Write::write_all(&mut stream, greeting);
            }
        });
        let stranger = table(&format!("consul://{address}"));
        refused(&stranger, ErrorKind::Unfit, &["does not speak Consul's protocol"]).await;
        refused(&stranger, ErrorKind::Unfit, &["does not speak Consul's protocol"]).await;
        refused(&stranger, ErrorKind::Unreachable, &["closes the connection without a word"]).await;
    });
}

#[test]
fn certificates_are_checked() {
    run("certificates", async {
        let authority = Authority::new();
        let pem = authority.server(&["server.dc1.consul", "localhost"]);
        let (ours, others) = (authority.ca(), Authority::new());
        let port = free_port();
        let settings = json!({
            "addresses": {"https": "127.0.0.1"},
            "ports": {"https": port},
            "cert_file": pem.cert, "key_file": pem.key, "ca_file": ours, "verify_incoming_https": true,
        });
        let server = Consul::start_as(1, &DatabaseSetup::default(), &settings);
        let token = Consul::token("elect");
        let of = |host: &str, rest: &str| {
            table(&format!("consul+tls://me:{token}@{host}:{port}?ca={rest}"))
        };
        let ours = ours.display().to_string();
        refused(&of("localhost", &ours), ErrorKind::Denied, &["the options cert and key"]).await;
        let mine = authority.client("me");
        let whole = format!("{ours}&cert={}&key={}", mine.cert.display(), mine.key.display());
        is_usable(&of("localhost", &whole), ROW).await;
        refused(&of("127.0.0.1", &whole), ErrorKind::Unfit, &["is for another name"]).await;
        is_usable(&of("127.0.0.1", &format!("{whole}&server-name=server.dc1.consul")), ROW).await;
        let unknown = of("localhost", &others.ca().display().to_string());
        refused(&unknown, ErrorKind::Unfit, &["not signed by a trusted authority"]).await;
        let clear = table(&format!("consul+tls://me:{token}@{}", server.address()));
        refused(&clear, ErrorKind::Unfit, &["TLS", "consul://"]).await;
        let secured = table(&format!("consul://me:{token}@127.0.0.1:{port}"));
        refused(&secured, ErrorKind::Unfit, &["consul+tls://"]).await;
    });
}

/// `elect doctor` says of each server what it is.
#[test]
fn an_examination_names_the_leader_and_what_is_missing() {
    run("an examination", async {
        let servers = Consul::start_as(3, &DatabaseSetup::default(), &Value::Null);
        let all: Vec<_> = servers.addresses().iter().map(ToString::to_string).collect();
        let table = table(&format!("consul://me:{}@{}", Consul::token("elect"), all.join(",")));
        table.prepare().await.expect("it may write");
        let examination =
            table.examine(Arc::new(elect_testkit::oracle::now)).await.expect("an answer");
        let mut roles: Vec<_> = examination
            .endpoints
            .iter()
            .map(|endpoint| {
                endpoint.answer.as_ref().expect("an answer").role.clone().expect("a role")
            })
            .collect();
        roles.sort();
        assert_eq!(roles, ["follower", "follower", "leader"]);
        assert!(examination.findings.is_empty(), "{:?}", examination.findings);
    });
}

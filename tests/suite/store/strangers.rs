//! Servers that are no store of the kind that a URL says, and TLS that proves nothing: one table for all remote stores.
//! A store joins with a column, and with its words in the rows that have some of its own.

use std::error::Error as _;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use elect::config;
use elect_api::{Candidate, Error, ErrorKind, Standing};
use elect_testkit::run;
use elect_testkit::servers::{Authority, free_port};

use super::balanced::{Answer, closes, foreign_server, is_foreign, is_unavailable, resets, says};
use super::real::{Brand, Home};
use super::refusals::front;
use crate::prelude::*;
use crate::support::job;

/// A store.
struct Column {
    brand: Brand,
    clear: &'static str,
    tls: &'static str,
    /// What its URLs take for a host without a port.
    port: u16,
    /// What TLS has to agree on.
    protocol: &'static [u8],
    /// What it says of a server with another protocol.
    other: &'static str,
    /// Of a web server.
    web: &'static str,
    /// Of a balancer's page, and with which kind of error.
    unavailable: (ErrorKind, &'static str),
    /// Of one host whose name does not resolve, and another one where nothing listens.
    many: &'static [&'static str],
    /// Of a server that says nothing.
    mute: &'static str,
    /// Another store's server; what it says of that one in the clear, and over TLS.
    neighbour: (Answer, &'static str, &'static str),
}

const COLUMNS: [Column; 2] = [
    Column {
        brand: Brand::Etcd,
        clear: "etcd",
        tls: "etcd+tls",
        port: 2379,
        protocol: b"h2",
        other: "etcd's protocol",
        web: "web server",
        unavailable: (ErrorKind::Unreachable, "reports it unavailable (HTTP status 503)"),
        many: &["does not resolve"],
        mute: "etcd's protocol",
        neighbour: (is_zookeeper, "it is ZooKeeper: write zk://", "it is ZooKeeper: write zk://"),
    },
    Column {
        brand: Brand::ZooKeeper,
        clear: "zk",
        tls: "zk+tls",
        port: 2181,
        protocol: b"",
        other: "does not speak ZooKeeper's protocol",
        web: "does not speak ZooKeeper's protocol",
        unavailable: (ErrorKind::Unfit, "does not speak ZooKeeper's protocol"),
        many: &["does not resolve", "refused"],
        mute: "maxClientCnxns",
        neighbour: (is_etcd, "it is etcd: write etcd://", "does not speak ZooKeeper's protocol"),
    },
];

fn is_a_web_server(stream: &mut TcpStream) {
    says(stream, b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
}

fn speaks_tls(stream: &mut TcpStream) {
    says(stream, b"\x15\x03\x01\x00\x02\x02\x46");
}

fn is_etcd(stream: &mut TcpStream) {
    says(stream, b"HTTP/1.1 200 OK\r\n\r\n{\"etcdserver\":\"3.5.16\"}");
}

/// It knows commands of four letters, and hangs up on anything else.
fn is_zookeeper(stream: &mut TcpStream) {
    let mut word = [0; 4];
    if stream.read_exact(&mut word).is_ok() && word == *b"srvr" {
        let _ = stream.write_all(b"Zookeeper version: 3.8.0\n");
    }
}

impl Column {
    /// One attempt to take part.
    async fn attempt(&self, url: &str) -> Result<Standing, Error> {
        let store = config::connect(&url.parse().expect("a good URL")).expect("a store");
        let ttl = Duration::from_secs(6);
        let mut seat = store.open(&job(), &Candidate::foreign("me"), ttl).await.expect("a seat");
        Ok(seat.refresh(now()).await?.standing)
    }

    /// The attempt fails, with an error of this kind and these words, and without the password.
    async fn refuses(&self, url: &str, kind: ErrorKind, words: &[&str]) -> Error {
        let mut error = self.attempt(url).await.err().expect("a refusal");
        // A machine that is too busy shows no trouble. A candidate asks again.
        while kind != ErrorKind::Unreachable && error.to_string().contains("no answer") {
            error = self.attempt(url).await.err().expect("a refusal");
        }
        let text = error.to_string();
        eprintln!("{url}\n    {text}");
        assert_eq!(error.kind(), kind, "{url}: {text}: {error:?}");
        for word in words {
            assert!(text.contains(word), "{url}: {word:?} is not in: {text}: {error:?}");
        }
        assert!(!format!("{text} {error:?}").contains("hush"), "a secret is shown");
        error
    }

    async fn leads(&self, url: &str) {
        let standing = self.attempt(url).await.expect("a standing");
        assert!(matches!(standing, Standing::Leading { .. }), "{url}");
    }

    /// Behind these addresses is nothing, or no store.
    async fn names_foreign_servers(&self) {
        let Self { clear, tls, port, .. } = self;
        let (away, unfit) = (ErrorKind::Unreachable, ErrorKind::Unfit);
        let absent = format!("127.0.0.1:{}", free_port());
        let words = [&*absent, "nothing listens there (connection refused)"];
        let error = self.refuses(&format!("{clear}://u:hush@{absent}"), away, &words).await;
        // The error has no cause that says the same again. ZooKeeper's is about all hosts.
        assert!(error.source().is_none() || self.brand == Brand::ZooKeeper, "{error:?}");
        let nowhere = format!("no-such-machine.invalid:{port}");
        let words = [&*nowhere, "does not resolve"];
        self.refuses(&format!("{clear}://no-such-machine.invalid"), away, &words).await;
        let url = format!("{clear}://no-such-machine.invalid,{absent}");
        self.refuses(&url, away, self.many).await;
        for (answer, kind, words) in [
            (is_a_web_server as Answer, unfit, self.web),
            (is_unavailable, self.unavailable.0, self.unavailable.1),
            (is_foreign, unfit, self.other),
            (closes, away, self.mute),
            (resets, away, self.mute),
            (speaks_tls, unfit, &format!("{tls}://")),
            (self.neighbour.0, unfit, self.neighbour.1),
        ] {
            let place = foreign_server(answer);
            let words = [&place.to_string(), words];
            let error = self.refuses(&format!("{clear}://{place}"), kind, &words).await;
            // A candidate that had a place waits: the store may serve there again.
            assert!(error.may_pass(), "{error}");
        }
        for (answer, kind, words) in [
            (closes as Answer, away, self.mute),
            (resets, away, self.mute),
            (is_a_web_server, unfit, "does not speak"),
            (is_foreign, unfit, "does not speak"),
            (self.neighbour.0, unfit, self.neighbour.2),
        ] {
            let url = format!("{tls}://{}", foreign_server(answer));
            let error = self.refuses(&url, kind, &[words]).await;
            assert!(!error.to_string().contains("certificate"), "{error}");
        }
    }

    /// The store serves, and TLS before it proves nothing, or nothing to us.
    async fn trusts_no_certificate_that_proves_nothing(&self) {
        let Self { clear, tls, protocol, .. } = self;
        let (home, unfit) = (Home::usual(self.brand), ErrorKind::Unfit);
        let (authority, unknown) = (Authority::new(), Authority::new());
        let before = |pem| front(&pem, protocol, home.address());
        let by = |authority: &Authority| format!("?ca={}", authority.ca().display());
        let name = &["127.0.0.1"];
        let good = before(authority.server(name));
        self.leads(&format!("{tls}://{good}/strangers{}", by(&authority))).await;
        self.refuses(&format!("{clear}://{good}"), unfit, &[&format!("write {tls}://")]).await;
        let plain = format!("{tls}://{}", home.address());
        let words = ["does not speak TLS", &format!("write {clear}://")];
        self.refuses(&format!("{plain}{}", by(&authority)), unfit, &words).await;
        let words = ["not signed by a trusted authority", "option ca"];
        for trust in [String::new(), by(&unknown)] {
            self.refuses(&format!("{tls}://{good}{trust}"), unfit, &words).await;
        }
        let other = before(authority.server(&["elsewhere.example"]));
        let url = format!("{tls}://{other}{}", by(&authority));
        self.refuses(&url, unfit, &["certificate is for another name", "127.0.0.1"]).await;
        let expired = before(authority.expired(name));
        let url = format!("{tls}://{expired}{}", by(&authority));
        self.refuses(&url, unfit, &["its certificate has expired"]).await;
    }
}

#[test]
fn each_store_names_a_foreign_server() {
    for column in &COLUMNS {
        run(column.clear, column.names_foreign_servers());
    }
}

#[test]
fn a_certificate_that_proves_nothing_is_refused_with_the_reason_by_each_store() {
    for column in &COLUMNS {
        run(column.tls, column.trusts_no_certificate_that_proves_nothing());
    }
}

//! Connections that nobody can listen to.

use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::sync::Arc;

use elect_api::ErrorKind;
use elect_testkit::program::eventually;
use elect_testkit::run;
use elect_testkit::servers::{Authority, Pem, ZooKeeper, ZooKeeperSetup, free_port};

use crate::common::{TTL, now};
use crate::refusals::refused;
use crate::support::{lead_in_time, seat};

/// A server with this certificate, and the port on which it speaks TLS.
fn server(authority: &Authority, pem: &Pem, client_auth: &str) -> (ZooKeeper, u16) {
    let (cert, key) = (fs::read_to_string(&pem.cert), fs::read_to_string(&pem.key));
    let both = pem.cert.with_extension("both.pem");
    fs::write(&both, cert.expect("a file") + &key.expect("a file")).expect("a file");
    let port = free_port();
    let lines = vec![
        "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory".into(),
        format!("secureClientPort={port}"),
        "secureClientPortAddress=127.0.0.1".into(),
        "ssl.keyStore.type=PEM".into(),
        format!("ssl.keyStore.location={}", both.display()),
        "ssl.trustStore.type=PEM".into(),
        format!("ssl.trustStore.location={}", authority.ca().display()),
        format!("ssl.clientAuth={client_auth}"),
    ];
    let servers = ZooKeeper::start(&ZooKeeperSetup { lines, ..ZooKeeperSetup::default() });
    // It is opened after the other one, by which servers are known to be there.
    eventually("the port of TLS", || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok());
    (servers, port)
}

fn url(host: &str, port: u16, ca: &Path) -> String {
    format!("zk+tls://{host}:{port}?ca={}", ca.display())
}

#[test]
fn a_server_that_is_vouched_for() {
    run("tls", async {
        let authority = Authority::new();
        let (servers, port) = server(&authority, &authority.server(&["localhost"]), "none");
        let good = url("localhost", port, &authority.ca());
        let mut leader = seat(&good, "a", TTL).await;
        lead_in_time(leader.as_mut(), TTL).await;
        leader.resign(None).await.expect("a resign");
        let store = elect_zookeeper::connect(&good).expect("a good URL");
        let found = store.examine(Arc::new(now)).await.expect("an examination");
        let answer = found.endpoints[0].answer.as_ref().expect("an answer");
        assert!(answer.version.is_some(), "{answer:?}");
        assert_eq!(answer.role.as_deref(), Some("standalone"));
        let unfit = ErrorKind::Unfit;
        refused(&url("127.0.0.1", port, &authority.ca()), unfit, &["TLS fails", "127.0.0.1"]).await;
        let stranger = Authority::new();
        refused(&url("localhost", port, &stranger.ca()), unfit, &["TLS fails", "the option ca"])
            .await;
        refused(&format!("zk+tls://localhost:{port}"), unfit, &["TLS fails"]).await;
        refused(&format!("zk://localhost:{port}"), unfit, &["zk+tls://"]).await;
        let plain = servers.address(0).port();
        refused(&url("localhost", plain, &authority.ca()), unfit, &["no TLS", "zk://"]).await;
    });
}

#[test]
fn a_certificate_whose_time_is_over() {
    run("expired", async {
        let authority = Authority::new();
        let (_servers, port) = server(&authority, &authority.expired(&["localhost"]), "none");
        let url = url("localhost", port, &authority.ca());
        refused(&url, ErrorKind::Unfit, &["TLS fails", "xpired"]).await;
    });
}

#[test]
fn a_server_that_wants_a_certificate_of_ours() {
    run("mutual", async {
        let authority = Authority::new();
        let (_servers, port) = server(&authority, &authority.server(&["localhost"]), "need");
        let bare = url("localhost", port, &authority.ca());
        refused(&bare, ErrorKind::Unfit, &["options cert and key"]).await;
        let pem = authority.client("ann");
        let known = format!("{bare}&cert={}&key={}", pem.cert.display(), pem.key.display());
        lead_in_time(seat(&known, "ann", TTL).await.as_mut(), TTL).await;
    });
}

//! Tests of connections over TLS.

use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use elect_api::{ErrorKind, Standing};
use elect_testkit::program::eventually;
use elect_testkit::run;
use elect_testkit::servers::{Authority, Pem, ZooKeeper, ZooKeeperSetup, free_port};

use crate::common::{TTL, now};
use crate::refusals::refused;
use crate::support::{attempt, lead_in_time, seat};

/// Writes a certificate and its key into one file, as a server needs them.
fn write_both(pem: &Pem, both: &Path) {
    let (cert, key) = (fs::read_to_string(&pem.cert), fs::read_to_string(&pem.key));
    fs::write(both, cert.expect("a file") + &key.expect("a file")).expect("a file");
}

/// Starts a server with this certificate. Returns it, and the port on which it speaks TLS.
fn server(authority: &Authority, pem: &Pem, client_auth: &str) -> (ZooKeeper, u16) {
    let both = pem.cert.with_extension("both.pem");
    write_both(pem, &both);
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
    // The TLS port opens after the other port, which shows that the server is up.
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
        let (_servers, port) = server(&authority, &authority.server(&["localhost"]), "none");
        let good = url("localhost", port, &authority.ca());
        let mut leader = seat(&good, "a", TTL).await;
        lead_in_time(leader.as_mut(), TTL).await;
        leader.resign(None).await.expect("a resign");
        let store = elect_zookeeper::connect(&good).expect("a good URL");
        let found = store.examine(Arc::new(now)).await.expect("an examination");
        let answer = found.endpoints[0].answer.as_ref().expect("an answer");
        assert!(answer.version.is_some(), "{answer:?}");
        assert_eq!(answer.role.as_deref(), Some("standalone"));
    });
}

#[test]
fn a_server_that_demands_a_client_certificate() {
    run("mutual", async {
        let authority = Authority::new();
        let (_servers, port) = server(&authority, &authority.server(&["localhost"]), "need");
        let bare = url("localhost", port, &authority.ca());
        refused(&bare, ErrorKind::Denied, &["options cert and key"]).await;
        let pem = authority.client("ann");
        let known = format!("{bare}&cert={}&key={}", pem.cert.display(), pem.key.display());
        lead_in_time(seat(&known, "ann", TTL).await.as_mut(), TTL).await;
    });
}

/// Renews all trusted and own certificates while a server is away, before or after it is back. The leader goes on. A
/// candidate that has read the old files, and only now connects, is accepted.
fn renew(files_first: bool) {
    run("a renewal", async move {
        let (old, new) = (Authority::new(), Authority::new());
        let pem = old.server(&["localhost"]);
        let (mut servers, port) = server(&old, &pem, "need");
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let write = |authority: &Authority| {
            let Pem { cert, key } = authority.client("ann");
            for (from, to) in [(authority.ca(), "ca"), (cert, "cert"), (key, "key")] {
                fs::copy(from, at(to)).expect("a file");
            }
        };
        write(&old);
        let url = format!(
            "{}&cert={}&key={}",
            url("localhost", port, &at("ca")),
            at("cert").display(),
            at("key").display()
        );
        let mut leader = seat(&url, "leader", LONG).await;
        let mut late = seat(&url, "late", LONG).await;
        let token = lead_in_time(leader.as_mut(), LONG).await.token;
        servers.member(0).kill();
        if files_first {
            write(&new);
        }
        write_both(&new.server(&["localhost"]), &pem.cert.with_extension("both.pem"));
        fs::copy(new.ca(), old.ca()).expect("a file");
        servers.member(0).restart();
        servers.wait_until_serving(0);
        if !files_first {
            assert!(!matches!(attempt(leader.as_mut(), LONG).await, Some(Ok(_))));
            // Only half of the files is renewed: no key fits this certificate.
            fs::copy(new.client("ann").cert, at("cert")).expect("a file");
            assert!(!matches!(attempt(leader.as_mut(), LONG).await, Some(Ok(_))));
            let error = late.refresh(now()).await.err().expect("a refusal").to_string();
            assert!(error.contains("still by older files, as the options cert and key"), "{error}");
            write(&new);
        }
        assert_eq!(lead_in_time(leader.as_mut(), LONG).await.token, token, "it has lost its entry");
        while !matches!(attempt(late.as_mut(), LONG).await, Some(Ok(Standing::Waiting { .. }))) {}
    });
}

/// The longest session that a server grants here, for a server that is restarted meanwhile.
const LONG: Duration = Duration::from_secs(10);

#[test]
fn files_that_are_renewed_before_the_server() {
    renew(true);
}

#[test]
fn files_that_are_renewed_after_the_server() {
    renew(false);
}

//! Tests of connections over TLS.

use std::path::Path;

use elect_api::ErrorKind;
use elect_testkit::run;
use elect_testkit::servers::{Authority, Etcd, Pem};

use crate::support::Runner;

const NAMES: [&str; 2] = ["127.0.0.1", "localhost"];

fn start(pem: &Pem, clients: Option<&Path>) -> Etcd {
    let mut arguments = vec![
        format!("--cert-file={}", pem.cert.display()),
        format!("--key-file={}", pem.key.display()),
    ];
    if let Some(ca) = clients {
        arguments.push("--client-cert-auth".to_owned());
        arguments.push(format!("--trusted-ca-file={}", ca.display()));
    }
    Etcd::start_with(1, &arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

async fn expect(url: &str, kind: ErrorKind, words: &str) {
    let error = Runner::new(url, "me").await.failure().await;
    assert_eq!(error.kind(), kind, "{error}: {error:?}");
    assert!(error.to_string().contains(words), "{words:?} is not in: {error}: {error:?}");
}

#[test]
fn servers_and_clients_prove_their_identity() {
    run("tls", async {
        let authority = Authority::new();
        let (ca, me) = (authority.ca(), authority.client("me"));
        let etcd = start(&authority.server(&NAMES), Some(&ca));
        let trusting = format!("{}?ca={}", etcd.url(), ca.display());
        let known =
            |pem: &Pem| format!("{trusting}&cert={}&key={}", pem.cert.display(), pem.key.display());
        let mut leader = Runner::new(&known(&me), "leader").await;
        leader.lead().await;
        let by_name = known(&me).replace("127.0.0.1", "localhost");
        let mut waiter = Runner::new(&by_name, "waiter").await;
        let wake = waiter.wait_behind(1).await;
        leader.seat.resign(None).await.expect("a resign");
        wake.await;
        waiter.lead().await;
        expect(&trusting, ErrorKind::Denied, "cert and key").await;
        let unknown = Authority::new();
        expect(&known(&unknown.client("me")), ErrorKind::Denied, "cert and key").await;
    });
}

#[test]
fn a_server_is_known_by_the_name_in_the_url() {
    run("tls", async {
        let authority = Authority::new();
        let etcd = start(&authority.server(&["elsewhere.example"]), None);
        let url = format!("{}?ca={}", etcd.url(), authority.ca().display());
        expect(&url, ErrorKind::Unfit, "server-name").await;
        Runner::new(&format!("{url}&server-name=elsewhere.example"), "me").await.lead().await;
    });
}

//! The words about servers that cannot be used: one table for all stores, whose own tests show their hints only.

use std::path::Path;
use std::sync::Arc;

use elect_api::ErrorKind;
use elect_remote::{Hints, Host, Tls, Trouble, Url, ask};
use elect_testkit::servers::{Authority, Pem};
use rustls::ServerConfig;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

const HINTS: Hints = Hints::of_url("x", "x+tls", "correct the host");
const HERE: &[&str] = &["127.0.0.1"];

/// What a server does with those who want TLS.
enum Server {
    Tls(Arc<ServerConfig>),
    /// Sends this, and closes the connection.
    Sends(&'static [u8]),
}

impl Server {
    fn tls(pem: &Pem, clients: Option<&Authority>) -> Self {
        Self::Tls(Arc::new(pem.server_config(clients)))
    }

    /// What a client of a URL with this query hears of it.
    async fn tells(self, query: &str, protocols: &'static [&str]) -> Result<Vec<u8>, Trouble> {
        let listener = TcpListener::bind((HERE[0], 0)).await.expect("a port");
        let port = listener.local_addr().expect("its address").port();
        let mut task = JoinSet::new();
        task.spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("a client");
            match self {
                Self::Tls(config) => {
                    let Ok(mut stream) = TlsAcceptor::from(config).accept(stream).await else {
                        return;
                    };
                    let _ = stream.read(&mut [0; 16]).await;
                    let _ = stream.write_all(b"well").await;
                    let _ = stream.shutdown().await;
                }
                Self::Sends(bytes) => {
                    // What is left unread would become a reset.
                    let _ = stream.read(&mut [0; 4096]).await;
                    let _ = stream.write_all(bytes).await;
                }
            }
        });
        let url = Url::parse(&format!("x+tls://{}:{port}?{query}", HERE[0]), 1, Tls::OPTIONS);
        let url = url.expect("a URL");
        let tls = Tls::of(&url, protocols).expect("good files").expect("TLS");
        let secured = tls.secure(&url.hosts[0]).expect("a name");
        ask(&url.hosts[0], Some(&secured), b"hello", 4).await
    }
}

fn ca(path: &Path) -> String {
    format!("ca={}", path.display())
}

fn pair(Pem { cert, key }: &Pem) -> String {
    format!("cert={}&key={}", cert.display(), key.display())
}

/// A client of this query hears all these words.
async fn expect(server: Server, query: &str, kind: ErrorKind, words: &[&str]) {
    let trouble = server.tells(query, &[]).await.expect_err(words[0]);
    let said = trouble.in_full(&HINTS);
    assert!(words.iter().all(|word| said.contains(word)), "{words:?}: {said}");
    assert_eq!(trouble.kind(), kind, "{said}");
}

#[tokio::test]
async fn what_is_wrong_with_a_certificate_is_told_with_the_way_out() {
    let ours = Authority::new();
    let (itself, by_ours) = (ours.itself(HERE), ca(&ours.ca()));
    let unsigned = "its certificate is not signed by a trusted authority";
    let option = ": name the authority with the option ca";
    for (pem, query, words) in [
        (&Authority::new().server(HERE), &by_ours, &[unsigned, option][..]),
        (
            &ours.again().server(HERE),
            &by_ours,
            &[unsigned, ", but by another one of the same name"],
        ),
        (
            &ours.expired(HERE),
            &by_ours,
            &["its certificate has expired on 2001-01-01, or this machine's clock is wrong"],
        ),
        (
            &ours.server(&["other.example"]),
            &by_ours,
            &["its certificate is for another name: correct the host", HERE[0], "other.example"],
        ),
        (
            &ours.server(&[]),
            &by_ours,
            &["its certificate has no subjectAltName: have it made anew"],
        ),
        (
            &ours.for_clients(HERE),
            &by_ours,
            &["its certificate is not for servers: have it made anew"],
        ),
        (
            &itself,
            &ca(&itself.cert),
            &["its certificate is one of an authority, which no server may show: give the server"],
        ),
    ] {
        expect(Server::tls(pem, None), query, ErrorKind::Unfit, words).await;
    }
}

#[tokio::test]
async fn a_certificate_of_ours_that_a_server_refuses_is_told() {
    let (ours, other) = (Authority::new(), Authority::new());
    let by_ours = ca(&ours.ca());
    let as_me = |authority: &Authority| format!("{by_ours}&{}", pair(&authority.client("me")));
    let asks = || Server::tls(&ours.server(HERE), Some(&ours));
    for (query, why) in [
        (&by_ours, ", or wants one: see the options cert and key"),
        (&as_me(&other), ", as it does not know who signed it: see the options cert and key"),
    ] {
        let words = ["it does not accept our certificate", why];
        expect(asks(), query, ErrorKind::Denied, &words).await;
    }
    assert_eq!(asks().tells(&as_me(&ours), &[]).await.expect("an answer"), b"well");
}

#[tokio::test]
async fn a_server_that_speaks_otherwise_is_told() {
    let ours = Authority::new();
    let by_ours = ca(&ours.ca());
    for (bytes, kind, words) in [
        (
            &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
            ErrorKind::Unfit,
            "it does not speak TLS: write x:// in the URL",
        ),
        (
            b"",
            ErrorKind::Unreachable,
            "it closes the connection without a word, as a balancer does",
        ),
        // The beginning of a handshake.
        (
            &[0x16, 3, 3, 0, 99, 2],
            ErrorKind::Unreachable,
            "it may require a client certificate that it trusts (the options cert and key)",
        ),
    ] {
        expect(Server::Sends(bytes), &by_ours, kind, &[words]).await;
    }
    let server = Server::tls(&ours.server(HERE), None);
    let trouble = server.tells(&by_ours, &["x/1"]).await.expect_err("no protocol");
    assert!(trouble.in_full(&HINTS).contains("the store's protocol inside TLS"), "{trouble:?}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told() {
    let listener = TcpListener::bind((HERE[0], 0)).await.expect("a port");
    let port = listener.local_addr().expect("its address").port();
    drop(listener);
    for (name, words) in [
        (HERE[0], "nothing listens there (connection refused)"),
        ("no-such-host.invalid", "the name no-such-host.invalid does not resolve ("),
    ] {
        let host = Host { name: name.to_owned(), port };
        let trouble = ask(&host, None, b"hello", 4).await.expect_err(words);
        let said = trouble.in_full(&HINTS);
        assert!(said.starts_with(words) && trouble.is_unanswered(), "{said}");
    }
}

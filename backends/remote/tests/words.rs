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

#[tokio::test]
async fn what_is_wrong_with_a_server_is_told_with_the_way_out() {
    use ErrorKind::{Denied, Unfit, Unreachable};
    let (ours, other) = (Authority::new(), Authority::new());
    let by_ours = ca(&ours.ca());
    let known = format!("{by_ours}&{}", pair(&ours.client("me")));
    let unknown = format!("{by_ours}&{}", pair(&other.client("me")));
    let (itself, again) = (ours.itself(HERE), ours.again());
    let shows = |pem: &Pem| Server::tls(pem, None);
    let asks = || Server::tls(&ours.server(HERE), Some(&ours));
    let no_certificate = "its certificate is not signed by a trusted authority";
    let ours_refused = "it does not accept our certificate";
    for (server, query, protocols, kind, words) in [
        (
            shows(&other.server(HERE)),
            &by_ours,
            &[][..],
            Unfit,
            &[no_certificate, ": name the authority with the option ca"][..],
        ),
        (
            shows(&again.server(HERE)),
            &by_ours,
            &[],
            Unfit,
            &[no_certificate, ", but by another one of the same name"],
        ),
        (
            shows(&ours.expired(HERE)),
            &by_ours,
            &[],
            Unfit,
            &["its certificate has expired on 2001-01-01, or this machine's clock is wrong"],
        ),
        (
            shows(&ours.server(&["other.example"])),
            &by_ours,
            &[],
            Unfit,
            &["its certificate is for another name: correct the host", HERE[0], "other.example"],
        ),
        (
            shows(&ours.server(&[])),
            &by_ours,
            &[],
            Unfit,
            &["its certificate has no subjectAltName: have it made anew"],
        ),
        (
            shows(&ours.for_clients(HERE)),
            &by_ours,
            &[],
            Unfit,
            &["its certificate is not for servers: have it made anew"],
        ),
        (
            shows(&itself),
            &ca(&itself.cert),
            &[],
            Unfit,
            &["its certificate is one of an authority, which no server may show: give the server"],
        ),
        (
            asks(),
            &by_ours,
            &[],
            Denied,
            &[ours_refused, ", or wants one: see the options cert and key"],
        ),
        (
            asks(),
            &unknown,
            &[],
            Denied,
            &[ours_refused, ", as it does not know who signed it: see the options cert and key"],
        ),
        (
            shows(&ours.server(HERE)),
            &by_ours,
            &["x/1"],
            Unfit,
            &["it does not speak the store's protocol inside TLS"],
        ),
        (
            Server::Sends(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
            &by_ours,
            &[],
            Unfit,
            &["it does not speak TLS: write x:// in the URL"],
        ),
        (
            Server::Sends(b""),
            &by_ours,
            &[],
            Unreachable,
            &["it closes the connection without a word, as a balancer does"],
        ),
        // The beginning of a handshake.
        (
            Server::Sends(&[0x16, 3, 3, 0, 99, 2]),
            &by_ours,
            &[],
            Unreachable,
            &["in the middle of the TLS handshake", "(the options cert and key)"],
        ),
    ] {
        let trouble = server.tells(query, protocols).await.expect_err(words[0]);
        let said = trouble.in_full(&HINTS);
        assert!(words.iter().all(|word| said.contains(word)), "{words:?}: {said}");
        assert_eq!(trouble.kind(), kind, "{said}");
    }
    assert_eq!(asks().tells(&known, &[]).await.expect("an answer"), b"well");
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

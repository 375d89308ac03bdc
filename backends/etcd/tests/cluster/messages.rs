//! Tests of the error messages that people read.

use std::error::Error as _;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener};
use std::thread;

use elect_api::{Error, ErrorKind};
use elect_testkit::run;
use elect_testkit::servers::{Etcd, free_port};

use crate::support::Runner;

/// Listens on a port as a foreign server: answers every connection in the same way, and hangs up.
fn stranger(answer: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = listener.local_addr().expect("its address");
    // The thread ends with the test.
    thread::spawn(move || serve(&listener, answer));
    address
}

fn serve(listener: &TcpListener, answer: &[u8]) {
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else { return };
        let _ = stream.read(&mut [0; 24]);
        let _ = stream.write_all(answer);
        let _ = stream.shutdown(Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
    }
}

async fn expect(url: &str, kind: ErrorKind, words: &[&str]) -> Error {
    let error = Runner::new(url, "me").await.failure().await;
    let text = error.to_string();
    assert_eq!(error.kind(), kind, "{text}: {error:?}");
    for word in words {
        assert!(text.contains(word), "{word:?} is not in: {text}: {error:?}");
    }
    assert!(!text.contains("hush"), "{text}");
    error
}

#[test]
fn a_port_where_nobody_listens_is_named() {
    run("messages", async {
        let port = free_port();
        let place = format!("127.0.0.1:{port}");
        let url = format!("etcd://u:hush@{place}");
        let words = [&*place, "nothing listens there (connection refused)"];
        let error = expect(&url, ErrorKind::Unreachable, &words).await;
        // The error has no cause that says the same again.
        assert!(error.source().is_none(), "{error:?}");
    });
}

#[test]
fn a_name_that_means_no_machine_is_named() {
    run("messages", async {
        let url = "etcd://no-such-machine.invalid";
        expect(url, ErrorKind::Unreachable, &["no-such-machine.invalid:2379", "does not resolve"])
            .await;
    });
}

const WEB: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";

/// The fault of one member is no reason to give up: another member serves.
#[test]
fn a_web_server_in_the_place_of_one_member_is_passed_over() {
    run("messages", async {
        let etcd = Etcd::start(1);
        let url = etcd.url_through(&[stranger(WEB), etcd.endpoints()[0]]);
        let standing = Runner::new(&url, "me").await.within(3).await;
        assert!(matches!(standing, elect_api::Standing::Leading { .. }));
    });
}

/// A foreign server on the port during an outage costs no candidate its place.
#[test]
fn a_web_server_in_the_place_of_a_store_that_has_served_is_waited_out() {
    run("messages", async {
        let mut etcd = Etcd::start(1);
        let mut me = Runner::new(&etcd.url(), "me").await;
        me.lead().await;
        etcd.member(0).kill();
        let listener = TcpListener::bind(etcd.endpoints()[0]).expect("the port of the dead");
        thread::spawn(move || serve(&listener, WEB));
        let mut last = me.failure().await;
        while !last.to_string().contains("HTTP status 503") {
            assert!(!last.is_permanent(), "{last}");
            last = me.failure().await;
        }
        assert_eq!(last.kind(), ErrorKind::Unreachable, "{last}");
    });
}

#[test]
fn a_web_server_is_told_apart() {
    run("messages", async {
        let place = stranger(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        let url = format!("etcd://{place}");
        let error = expect(&url, ErrorKind::Unfit, &[&place.to_string(), "web server"]).await;
        // A candidate that had a place waits: an etcd may serve there again.
        assert!(error.may_pass(), "{error}");
        let url = format!("etcd://{}", stranger(WEB));
        let words = ["reports it unavailable (HTTP status 503)"];
        expect(&url, ErrorKind::Unreachable, &words).await;
    });
}

#[test]
fn a_server_that_hangs_up_is_told_apart() {
    run("messages", async {
        let place = stranger(b"");
        let url = format!("etcd://{place}");
        expect(&url, ErrorKind::Unreachable, &[&place.to_string(), "etcd's protocol"]).await;
        let url = format!("etcd+tls://{place}");
        expect(&url, ErrorKind::Unreachable, &[&place.to_string(), "etcd's protocol"]).await;
    });
}

/// Behaves as ZooKeeper does: it knows commands of four letters, and hangs up on anything else.
#[test]
fn zookeeper_is_told_apart_at_once() {
    run("messages", async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let place = listener.local_addr().expect("its address");
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let mut word = [0; 4];
                if stream.read_exact(&mut word).is_ok() && word == *b"srvr" {
                    let _ = stream.write_all(b"Zookeeper version: 3.8.0\n");
                }
            }
        });
        for scheme in ["etcd", "etcd+tls"] {
            let words = ["does not speak etcd's protocol, it is ZooKeeper: write zk://"];
            expect(&format!("{scheme}://{place}"), ErrorKind::Unfit, &words).await;
        }
    });
}

#[test]
fn a_server_of_another_kind_is_told_apart() {
    run("messages", async {
        let url = format!("etcd://{}", stranger(b"SSH-2.0-OpenSSH_9.2p1\r\n"));
        expect(&url, ErrorKind::Unfit, &["etcd's protocol"]).await;
        let url = format!("etcd://{}", stranger(b"\x15\x03\x01\x00\x02\x02\x46"));
        expect(&url, ErrorKind::Unfit, &["etcd+tls://"]).await;
    });
}

#[test]
fn an_etcd_without_tls_is_told_apart() {
    run("messages", async {
        let etcd = Etcd::start(1);
        let url = etcd.url().replace("etcd://", "etcd+tls://");
        expect(&url, ErrorKind::Unfit, &["it does not speak TLS: write etcd://"]).await;
    });
}

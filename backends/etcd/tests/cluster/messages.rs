//! A web server answers in the place of etcd.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener};
use std::thread;

use elect_api::ErrorKind;
use elect_testkit::run;
use elect_testkit::servers::Etcd;

use crate::support::Runner;

/// Listens on a port as a foreign server: answers every connection in the same way, and hangs up.
fn foreign_server(answer: &'static [u8]) -> SocketAddr {
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

const WEB: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";

/// The fault of one member is no reason to give up: another member serves.
#[test]
fn a_web_server_in_the_place_of_one_member_is_passed_over() {
    run("messages", async {
        let etcd = Etcd::start(1);
        let url = etcd.url_through(&[foreign_server(WEB), etcd.endpoints()[0]]);
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

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use crate::clock::now;
use crate::fault::{Mode, TcpProxy};
use crate::program::{PATIENCE, eventually};

fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// A proxy to a server that echoes what it reads.
fn start() -> TcpProxy {
    let (listener, address) = listener();
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || {
                let mut from = stream.try_clone().unwrap();
                let _ = std::io::copy(&mut from, &mut stream);
                let _ = stream.shutdown(Shutdown::Write);
            });
        }
    });
    TcpProxy::start(address)
}

fn connect(proxy: &TcpProxy) -> TcpStream {
    let stream = TcpStream::connect(proxy.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

#[track_caller]
fn hears(mut stream: &TcpStream, text: &str) {
    let mut bytes = vec![0; text.len()];
    stream.read_exact(&mut bytes).unwrap();
    assert_eq!(String::from_utf8_lossy(&bytes), text);
}

#[track_caller]
fn hears_nothing(mut stream: &TcpStream) {
    stream.set_nonblocking(true).unwrap();
    let error = stream.read(&mut [0; 9]).expect_err("nothing was said");
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    stream.set_nonblocking(false).unwrap();
}

fn say(mut stream: &TcpStream, text: &str) {
    stream.write_all(text.as_bytes()).unwrap();
}

#[test]
fn it_passes_all_and_counts_it() {
    let proxy = start();
    let one = connect(&proxy);
    let two = connect(&proxy);
    say(&one, "first");
    hears(&one, "first");
    say(&two, "second");
    hears(&two, "second");
    let traffic = proxy.traffic();
    assert_eq!((traffic.connections, traffic.open), (2, 2));
    for count in [traffic.requests, traffic.replies] {
        assert_eq!((count.chunks, count.bytes, count.passed), (2, 11, 11));
    }
    // The end of a stream is passed on too, in one direction at a time.
    say(&one, "last");
    one.shutdown(Shutdown::Write).unwrap();
    let mut rest = String::new();
    (&one).read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "last");
    eventually("the end of a connection", || (proxy.traffic().open == 1).then_some(()));
}

#[test]
fn it_passes_more_than_buffers_hold() {
    let proxy = start();
    let stream = connect(&proxy);
    let bytes: Vec<u8> = (0..5_000_000_u32).map(|n| n.to_le_bytes()[n as usize % 3]).collect();
    thread::scope(|scope| {
        scope.spawn(|| {
            (&stream).write_all(&bytes).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
        });
        let mut back = Vec::new();
        (&stream).read_to_end(&mut back).unwrap();
        assert!(back == bytes, "{} bytes came back, or others", back.len());
    });
}

#[test]
fn swallowed_replies_never_come() {
    let proxy = start();
    let stream = connect(&proxy);
    proxy.replies(Mode::Swallow);
    say(&stream, "lost");
    eventually("a reply", || (proxy.traffic().replies.bytes == 4).then_some(()));
    proxy.replies(Mode::Pass);
    say(&stream, "found");
    hears(&stream, "found");
    hears_nothing(&stream);
    assert_eq!(proxy.traffic().replies.passed, 5);
    // Not even the end of the stream passes.
    proxy.replies(Mode::Swallow);
    stream.shutdown(Shutdown::Write).unwrap();
    eventually("the end of both ways", || (proxy.traffic().open == 0).then_some(()));
}

#[test]
fn swallowed_requests_never_arrive() {
    let proxy = start();
    let stream = connect(&proxy);
    proxy.requests(Mode::Swallow);
    say(&stream, "lost");
    eventually("a request", || (proxy.traffic().requests.bytes == 4).then_some(()));
    assert_eq!((proxy.traffic().requests.passed, proxy.traffic().replies.chunks), (0, 0));
}

#[test]
fn held_replies_come_when_they_are_let_go() {
    let proxy = start();
    let stream = connect(&proxy);
    proxy.replies(Mode::Hold);
    say(&stream, "held");
    eventually("a request", || (proxy.traffic().requests.passed == 4).then_some(()));
    let other = connect(&proxy);
    other.shutdown(Shutdown::Write).unwrap();
    eventually("another connection", || (proxy.traffic().connections == 2).then_some(()));
    hears_nothing(&stream);
    assert_eq!(proxy.traffic().replies.bytes, 0);
    proxy.replies(Mode::Pass);
    hears(&stream, "held");
}

#[test]
fn as_many_bytes_pass_as_are_let() {
    let proxy = start();
    let stream = connect(&proxy);
    proxy.replies(Mode::Until(0));
    say(&stream, "one two");
    eventually("a reply", || (proxy.traffic().replies.bytes == 7).then_some(()));
    hears_nothing(&stream);
    proxy.replies(Mode::Until(3));
    hears(&stream, "one");
    hears_nothing(&stream);
    assert_eq!(proxy.traffic().replies.passed, 3);
    proxy.replies(Mode::Pass);
    hears(&stream, " two");
}

#[test]
fn delays_add_up_over_both_ways_and_keep_the_order() {
    let proxy = start();
    let stream = connect(&proxy);
    let delay = Duration::from_millis(40);
    proxy.both(Mode::Delay(delay));
    let start = now();
    for text in ["one ", "two ", "three"] {
        say(&stream, text);
    }
    proxy.requests(Mode::Delay(Duration::from_millis(1)));
    hears(&stream, "one two three");
    let first = now().since(start);
    assert!(first >= delay, "{first:?}");
    proxy.requests(Mode::Delay(delay));
    let start = now();
    say(&stream, "again");
    hears(&stream, "again");
    let took = now().since(start);
    assert!(took >= 2 * delay, "{took:?}");
}

#[test]
fn bytes_trickle_one_a_second() {
    let proxy = start();
    let stream = connect(&proxy);
    proxy.replies(Mode::Trickle);
    let start = now();
    say(&stream, "slowly");
    hears(&stream, "sl");
    let took = now().since(start);
    assert!(took >= Duration::from_secs(1), "{took:?}");
    proxy.replies(Mode::Pass);
    hears(&stream, "owly");
}

#[test]
fn chunks_come_twice() {
    let proxy = start();
    let stream = connect(&proxy);
    proxy.requests(Mode::Duplicate);
    say(&stream, "echo ");
    hears(&stream, "echo echo ");
    let requests = proxy.traffic().requests;
    assert_eq!((requests.chunks, requests.bytes, requests.passed), (1, 5, 10));
}

#[test]
fn a_cut_resets_both_ends_and_lets_newcomers_in() {
    let (listener, target) = listener();
    let proxy = TcpProxy::start(target);
    let mut client = connect(&proxy);
    let (mut server, _) = listener.accept().unwrap();
    proxy.cut();
    for end in [&mut client, &mut server] {
        let error = end.read(&mut [0]).expect_err("it was cut");
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    }
    let client = connect(&proxy);
    let (server, _) = listener.accept().unwrap();
    say(&client, "again");
    hears(&server, "again");
}

#[test]
fn a_reset_is_passed_on() {
    let (listener, target) = listener();
    let proxy = TcpProxy::start(target);
    let mut client = connect(&proxy);
    let (server, _) = listener.accept().unwrap();
    say(&client, "unread");
    eventually("what is unread", || server.peek(&mut [0; 9]).is_ok_and(|n| n == 6).then_some(()));
    // A close with unread bytes is a reset.
    drop(server);
    let error = client.read(&mut [0]).expect_err("it was reset");
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

#[test]
fn newcomers_are_refused_and_others_go_on() {
    let proxy = start();
    let stream = connect(&proxy);
    say(&stream, "in");
    hears(&stream, "in");
    for _ in 0..3 {
        proxy.refuse(true);
        let error = TcpStream::connect(proxy.address()).expect_err("no client is let in");
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        say(&stream, "still");
        hears(&stream, "still");
        proxy.refuse(false);
        let other = connect(&proxy);
        say(&other, "new");
        hears(&other, "new");
    }
}

#[test]
fn without_a_server_all_connections_end_without_a_byte() {
    let proxy = start();
    let stream = connect(&proxy);
    say(&stream, "in");
    hears(&stream, "in");
    proxy.hang_up(true);
    let ends = |mut stream: TcpStream| {
        assert_eq!(stream.read(&mut [0]).expect("an end, and no reset"), 0);
    };
    ends(stream);
    (0..3).for_each(|_| ends(connect(&proxy)));
    proxy.hang_up(false);
    let other = connect(&proxy);
    say(&other, "new");
    hears(&other, "new");
}

#[test]
fn a_client_above_the_limit_is_disconnected_until_there_is_room() {
    let proxy = start();
    proxy.limit(1);
    let one = connect(&proxy);
    say(&one, "one");
    hears(&one, "one");
    assert_eq!(connect(&proxy).read(&mut [0]).expect("an end, and no reset"), 0);
    say(&one, "goes on");
    hears(&one, "goes on");
    drop(one);
    eventually("room", || (proxy.traffic().open == 0).then_some(()));
    let other = connect(&proxy);
    say(&other, "new");
    hears(&other, "new");
}

#[test]
fn a_target_that_is_gone_is_a_reset() {
    let (listener, target) = listener();
    drop(listener);
    let proxy = TcpProxy::start(target);
    let mut stream = connect(&proxy);
    let error = stream.read(&mut [0]).expect_err("no server is there");
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    assert_eq!(proxy.traffic().connections, 0);
}

#[test]
fn it_ends_when_it_is_dropped() {
    let proxy = start();
    let address = proxy.address();
    let mut stream = connect(&proxy);
    say(&stream, "in");
    hears(&stream, "in");
    drop(proxy);
    let error = stream.read(&mut [0]).expect_err("it is gone");
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    let error = TcpStream::connect(address).expect_err("it is gone");
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
}

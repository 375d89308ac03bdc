//! What each answer to a write means.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use elect_api::ErrorKind;
use elect_record::table::{Body, Put, Range, Table as _, Tag};
use elect_testkit::servers::{Database as _, MotoS3};

use crate::ROW;

/// A status with headers, and a body.
type Answer = (&'static str, &'static str);

/// A server that has the id of a store, and this answer to all else.
struct Scripted {
    address: SocketAddr,
    answer: Arc<Mutex<Answer>>,
    asked: Arc<AtomicUsize>,
}

impl Scripted {
    fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let started = Self { address, answer: Arc::default(), asked: Arc::default() };
        let (answer, asked) = (Arc::clone(&started.answer), Arc::clone(&started.asked));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (answer, asked) = (Arc::clone(&answer), Arc::clone(&asked));
                thread::spawn(move || serve(stream, &answer, &asked));
            }
        });
        started
    }

    fn set(&self, answer: Answer) {
        *self.answer.lock().expect("no panic") = answer;
    }
}

fn serve(mut stream: TcpStream, answer: &Mutex<Answer>, asked: &AtomicUsize) {
    let (mut read, mut buffer) = (Vec::new(), [0; 1 << 14]);
    while let Ok(length @ 1..) = stream.read(&mut buffer) {
        read.extend_from_slice(&buffer[..length]);
        let text = String::from_utf8_lossy(&read).to_lowercase();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let wanted = head.split_once("content-length: ").map_or("0", |(_, rest)| rest);
        let wanted = wanted.lines().next().and_then(|it| it.parse().ok()).unwrap_or(0);
        if body.len() < wanted {
            continue;
        }
        let (status, body) = if head.contains("/-/id ") {
            ("200 OK\r\nETag: \"1\"", "0123456789abcdef\n00000000000000a1\nputs\nscripted")
        } else {
            asked.fetch_add(1, Ordering::Relaxed);
            *answer.lock().expect("no panic")
        };
        let more = "Server: scripted\r\nLast-Modified: Tue, 01 Sep 2026 10:00:00 GMT";
        let length = body.len();
        let answer =
            format!("HTTP/1.1 {status}\r\n{more}\r\nContent-Length: {length}\r\n\r\n{body}");
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
        read.clear();
    }
}

const fn named(status: &'static str, body: &'static str) -> Answer {
    (status, body)
}

#[tokio::test]
async fn an_answer_says_what_became_of_a_write() {
    use ErrorKind::{Ambiguous, Denied, Unfit, Unreachable};
    let server = Scripted::start();
    let table = crate::table(&MotoS3::url(server.address, "elect", "a"));
    let tag = Tag("\"2\"".to_owned());
    for (answer, expected) in [
        (named("200 OK\r\nETag: \"3\"", ""), Ok(Put::Done(Tag("\"3\"".to_owned())))),
        (named("412 Failed", "<Code>PreconditionFailed</Code>"), Ok(Put::Conflict)),
        (named("412 Failed", ""), Ok(Put::Conflict)),
        (named("404 Not Found", "<Code>NoSuchKey</Code>"), Ok(Put::Conflict)),
        (named("409 Conflict", "<Code>ConditionalRequestConflict</Code>"), Ok(Put::Conflict)),
        (named("200 OK", ""), Err(Ambiguous)),
        (named("409 Conflict", "<html>"), Err(Ambiguous)),
        (named("404 Not Found", "<html>"), Err(Ambiguous)),
        (named("302 Found\r\nLocation: /", "<html>"), Err(Ambiguous)),
        (named("429 Slow", "<Code>TooManyRequests</Code>"), Err(Ambiguous)),
        (named("500 Error", "<Code>InternalError</Code>"), Err(Ambiguous)),
        (named("502 Bad", "<html>"), Err(Ambiguous)),
        (named("503 Slow", "<Code>SlowDown</Code>"), Err(Ambiguous)),
        (named("400 Bad", "<Code>RequestTimeout</Code>"), Err(Unreachable)),
        (named("403 No", "<Code>AccessDenied</Code>"), Err(Denied)),
        (named("400 Bad", "<Code>ExpiredToken</Code>"), Err(Denied)),
        (named("404 Not Found", "<Code>NoSuchBucket</Code>"), Err(Unfit)),
        (named("400 Bad", "<Code>EntityTooLarge</Code>"), Err(Unfit)),
    ] {
        server.set(answer);
        let before = server.asked.load(Ordering::Relaxed);
        let put = table.put(ROW, "", Some(&tag), &Body::default()).await;
        let deleted = table.delete(ROW, &tag).await;
        let asked = server.asked.load(Ordering::Relaxed) - before;
        match &expected {
            Ok(put) => assert!(*put != Put::Conflict || asked == 3, "a conflict is read: {asked}"),
            Err(kind) => {
                assert_eq!(deleted.expect_err("an error").kind(), *kind, "a delete: {answer:?}");
                assert_eq!(asked, 2, "{answer:?}");
            }
        }
        assert_eq!(put.map_err(|error| error.kind()), expected, "{answer:?}");
    }
}

#[tokio::test]
async fn what_is_no_answer_of_a_store_shows_no_row() {
    let server = Scripted::start();
    let table = crate::table(&MotoS3::url(server.address, "elect", "a"));
    for answer in [
        named("200 OK", "<html></html>"),
        named("200 OK\r\nETag: \"1\"", "{"),
        named("404 Not Found", "<html></html>"),
        named("502 Bad", ""),
    ] {
        server.set(answer);
        for range in [Range::Candidates("a"), Range::Leaders] {
            let error = table.scan(range).await.expect_err("no list");
            assert_eq!(error.kind(), ErrorKind::Unreachable, "{answer:?}: {error}");
        }
    }
    server.set(named("404 Not Found", "<Code>NoSuchKey</Code>"));
    assert_eq!(table.get(ROW).await.expect("an answer").row, None);
    server.set(named("404 Not Found", "<html></html>"));
    let error = table.get(ROW).await.expect_err("no answer of a store");
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
}

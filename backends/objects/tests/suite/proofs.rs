//! A store has to prove that it heeds conditions, and so has the way to it.

use std::sync::Arc;

use elect_api::ErrorKind;
use elect_record::table::{Body, Put, Table, Tag};
use elect_testkit::fault::{Mode, TcpProxy};
use elect_testkit::servers::{Database as _, DatabaseServer as _, MotoS3};

use crate::ROW;

/// A server behind a proxy. With `is_proven` it has proven itself to a process that goes past the proxy.
async fn server(is_proven: bool) -> (MotoS3, Arc<TcpProxy>, impl Table) {
    let server = MotoS3::start();
    let proxy = Arc::new(TcpProxy::start(server.address()));
    if is_proven {
        let straight = crate::table(&MotoS3::url(server.address(), "elect", "a"));
        straight.prepare().await.expect("it heeds conditions");
    }
    let table = crate::table(&MotoS3::url(proxy.address(), "elect", "a"));
    (server, proxy, table)
}

#[tokio::test]
async fn a_store_that_ignores_a_condition_is_refused() {
    for (header, words) in [
        ("if-none-match", "a put with If-None-Match: * replaces an object"),
        ("if-match", "a put with If-Match replaces an object that has another ETag"),
    ] {
        for is_proven in [false, true] {
            let (server, proxy, table) = server(is_proven).await;
            proxy.requests(Mode::Misspell(header));
            let error = table.prepare().await.expect_err("unfit");
            assert_eq!(error.kind(), ErrorKind::Unfit, "{error}");
            let text = format!("{error}: {:?}", std::error::Error::source(&error));
            assert!(text.contains(words) && text.contains("elect help s3"), "{text}");
            let keys = MotoS3::keys(server.address(), "a");
            assert!(!keys.iter().any(|key| key.contains("probe")), "{keys:?}");
            assert_eq!(keys.len(), usize::from(is_proven), "an id without a proof: {keys:?}");
            // Past the proxy it is as it was.
            proxy.requests(Mode::Pass);
            table.prepare().await.expect("it heeds conditions");
        }
    }
}

#[tokio::test]
async fn a_proof_is_given_once_for_each_kind_of_server() {
    let (server, proxy, table) = server(true).await;
    let before = proxy.traffic().requests.chunks;
    table.prepare().await.expect("proven");
    table.prepare().await.expect("proven");
    let few = proxy.traffic().requests.chunks - before;
    assert!(few < 10, "{few} requests for what is proven");
    let id = || MotoS3::text(server.address(), "a/rows/-/id").expect("an id");
    let old = id();
    proxy.replies(Mode::Misspell("Server: BaseHTTP"));
    let later = crate::table(&MotoS3::url(proxy.address(), "elect", "a"));
    later.prepare().await.expect("proven again");
    let many = proxy.traffic().requests.chunks - before - few;
    assert!(many > 20, "{many} requests for a proof");
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let (old, new) = (lines(&old), lines(&id()));
    assert_eq!(old[1], new[1], "the id stays");
    assert!(old[3].starts_with("BaseHTTP") && new.len() == 3, "another kind: {old:?} {new:?}");
    // A process that meets another kind while it runs tries its way again before a write, and once.
    for (word, is_new) in [("No such", false), ("Server: BaseHTTP", true), ("No such", false)] {
        proxy.replies(Mode::Misspell(word));
        proxy.cut();
        while table.get(ROW).await.is_err() {}
        let before = proxy.traffic().requests.chunks;
        let put = table.put(ROW, "", Some(&Tag("\"2\"".to_owned())), &Body::default()).await;
        assert_eq!(put.expect("an answer"), Put::Conflict);
        let sent = proxy.traffic().requests.chunks - before;
        assert_eq!(sent > 3, is_new, "{sent} requests to {word}");
    }
    proxy.replies(Mode::Pass);
}

#[tokio::test]
async fn a_note_without_a_proof_is_none() {
    let (server, proxy, _) = server(true).await;
    // A server without a name.
    proxy.replies(Mode::Misspell("Server: "));
    let key = "a/rows/-/id";
    let id = MotoS3::text(server.address(), key).expect("an id");
    let id: Vec<&str> = id.lines().take(2).collect();
    let id = id.join("\n");
    for damage in ["", "\n", "\nput\n", "\nputs", "\n\n"] {
        MotoS3::put(server.address(), key, &format!("{id}{damage}"));
        let table = crate::table(&MotoS3::url(proxy.address(), "elect", "a"));
        let before = proxy.traffic().requests.chunks;
        table.prepare().await.expect("proven again");
        let many = proxy.traffic().requests.chunks - before;
        assert!(many > 20, "{many} requests for a proof instead of {damage:?}");
        let noted = MotoS3::text(server.address(), key).expect("an id");
        assert!(noted.ends_with("\ndeletes\n"), "{noted}");
    }
}

#[tokio::test]
async fn a_row_without_a_proof_is_written_after_it() {
    let (server, _proxy, table) = server(false).await;
    let put = table.put(ROW, "", None, &Body::default()).await.expect("an answer");
    let Put::Done(tag) = put else { panic!("no other writer is there") };
    assert!(MotoS3::text(server.address(), "a/rows/-/id").is_some(), "the proof is noted");
    // The id is removed by hand.
    let table = crate::table(&MotoS3::url(server.address(), "elect", "a"));
    MotoS3::remove(server.address(), "a/rows/-/id");
    assert!(table.delete(ROW, &tag).await.expect("an answer"));
    assert!(MotoS3::text(server.address(), "a/rows/-/id").is_some(), "the proof is noted");
}

#[tokio::test]
async fn no_row_is_written_or_removed_on_a_way_that_ignores_a_condition() {
    let (server, proxy, _) = server(true).await;
    let url = MotoS3::url(server.address(), "elect", "a");
    let put = crate::table(&url).put(ROW, "", None, &Body::default()).await.expect("an answer");
    let Put::Done(tag) = put else { panic!("no other writer is there") };
    let row = || MotoS3::text(server.address(), "a/rows/a/leader").expect("a row");
    let (before, other) = (row(), Tag("\"other\"".to_owned()));
    for header in ["if-none-match", "if-match"] {
        proxy.requests(Mode::Misspell(header));
        let table = crate::table(&MotoS3::url(proxy.address(), "elect", "a"));
        let body = Body { head: "changed".to_owned(), ..Body::default() };
        for expected in [None, Some(&other), Some(&tag)] {
            let error = table.put(ROW, "", expected, &body).await.expect_err("unfit");
            assert_eq!(error.kind(), ErrorKind::Unfit, "{error}");
        }
        let error = table.delete(ROW, &other).await.expect_err("unfit");
        assert_eq!(error.kind(), ErrorKind::Unfit, "{error}");
        assert_eq!(row(), before, "without {header} it was written");
        proxy.requests(Mode::Pass);
    }
}

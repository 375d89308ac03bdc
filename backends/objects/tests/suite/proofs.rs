//! A store has to prove that it heeds conditions, and so has the way to it.

use std::sync::Arc;

use elect_api::ErrorKind;
use elect_record::table::{Body, Put, Table};
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
    proxy.replies(Mode::Pass);
}

#[tokio::test]
async fn a_row_without_a_proof_is_written_after_it() {
    let server = MotoS3::start();
    let table = crate::table(&MotoS3::url(server.address(), "elect", "a"));
    let body = Body::default();
    let put = |expected| table.put(ROW, "", expected, &body);
    assert_eq!(put(None).await.expect("an answer"), Put::Conflict);
    assert!(matches!(put(None).await.expect("an answer"), Put::Done(_)));
}

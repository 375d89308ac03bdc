//! What each answer to a write means.

use elect_api::ErrorKind;
use elect_record::table::{Body, Put, Range, Table as _, Tag};
use elect_testkit::servers::{Database as _, MotoS3};

use crate::ROW;
use crate::scripted::{Answer, Scripted, UNKNOWN};

const fn named(status: &'static str, body: &'static str) -> Answer {
    (status, body)
}

#[tokio::test]
async fn an_answer_says_what_became_of_a_write() {
    use ErrorKind::{Ambiguous, Denied, Unfit, Unreachable};
    let server = Scripted::start("puts");
    let table = crate::table(&MotoS3::url(server.address, "elect", "a"));
    let tag = Tag("\"2\"".to_owned());
    for (answer, expected) in [
        (named("200 OK\r\nETag: \"3\"", ""), Ok(Put::Done(Tag("\"3\"".to_owned())))),
        (named("412 Failed", "<Code>PreconditionFailed</Code>"), Ok(Put::Conflict)),
        (named("404 Not Found", "<Code>NoSuchKey</Code>"), Ok(Put::Conflict)),
        (named("409 Conflict", "<Code>ConditionalRequestConflict</Code>"), Ok(Put::Conflict)),
        (named("200 OK", ""), Err(Ambiguous)),
        (named("412 Failed", ""), Err(Ambiguous)),
        (named("412 Failed", "<html>"), Err(Ambiguous)),
        (named("409 Conflict", "<html>"), Err(Ambiguous)),
        (named("404 Not Found", "<html>"), Err(Ambiguous)),
        (named("302 Found\r\nLocation: /", "<html>"), Err(Ambiguous)),
        (named("429 Slow", "<Code>TooManyRequests</Code>"), Err(Ambiguous)),
        (named("500 Error", "<Code>InternalError</Code>"), Err(Ambiguous)),
        (named("502 Bad", "<html>"), Err(Ambiguous)),
        (named("503 Slow", "<Code>SlowDown</Code>"), Err(Ambiguous)),
        (named("408 Timeout", "<Code>Timeout</Code>"), Err(Ambiguous)),
        (named("501 No", "<html>"), Err(Ambiguous)),
        (named("400 Bad", "<Code>RequestTimeout</Code>"), Err(Unreachable)),
        (named("400 Bad", "<Code>SlowDown</Code>"), Err(Unreachable)),
        (named("401 No", "<Code>Unauthorized</Code>"), Err(Denied)),
        (UNKNOWN, Err(Unfit)),
        (named("403 No", "<Code>AccessDenied</Code>"), Err(Denied)),
        (named("400 Bad", "<Code>ExpiredToken</Code>"), Err(Denied)),
        (named("404 Not Found", "<Code>NoSuchBucket</Code>"), Err(Unfit)),
        (named("400 Bad", "<Code>EntityTooLarge</Code>"), Err(Unfit)),
    ] {
        server.set(answer);
        let put = table.put(ROW, "", Some(&tag), &Body::default()).await;
        let deleted = table.delete(ROW, &tag).await;
        let asked = server.asked().len();
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
async fn a_store_that_does_not_know_conditions_is_refused() {
    let server = Scripted::start("");
    server.set_of("PUT", UNKNOWN);
    let table = crate::table(&MotoS3::url(server.address, "elect", "a"));
    let error = table.prepare().await.expect_err("unfit");
    assert_eq!(error.kind(), ErrorKind::Unfit, "{error}");
    assert!(error.to_string().contains("does not know the conditions"), "{error}");
}

#[tokio::test]
async fn what_is_no_answer_of_a_store_shows_no_row() {
    let server = Scripted::start("puts");
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

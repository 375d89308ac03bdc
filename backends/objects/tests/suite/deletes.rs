//! A row is removed by a conditional delete, where the store and the way to it heed its condition.

use elect_api::ErrorKind;
use elect_record::table::{Body, Put, Table, Tag};
use elect_testkit::servers::{Database as _, MotoS3};

use crate::ROW;
use crate::doctor::findings;
use crate::scripted::{ABSENT, Answer, DENIED, ID, PRECONDITION, REMOVED, Scripted, UNKNOWN};

const WRITTEN: Answer = ("200 OK\r\nETag: \"3\"", "");

/// A server that has proven this, and a table that has tried its way there. `DELETE` is always answered so.
async fn prepared(proven: &str, answer: Option<Answer>) -> (Scripted, impl Table) {
    let server = Scripted::start(proven);
    if let Some(answer) = answer {
        server.set_of("DELETE", answer);
    }
    let table = crate::table(&MotoS3::url(server.address, "elect", "a"));
    table.prepare().await.expect("it heeds conditions");
    assert_eq!(server.own(), [ID], "an object of a trial stays behind");
    (server, table)
}

/// The tag of the row.
fn tag() -> Tag {
    Tag("\"2\"".to_owned())
}

#[tokio::test]
async fn the_condition_of_a_delete_is_tried_on_the_way_of_each_process() {
    for (proven, answer, methods) in [
        ("deletes", None, ["delete"]),
        // Something on the way strips the header.
        ("deletes", Some(REMOVED), ["put"]),
        ("deletes", Some(DENIED), ["put"]),
        ("deletes", Some(UNKNOWN), ["put"]),
        ("puts", None, ["put"]),
    ] {
        let (server, table) = prepared(proven, answer).await;
        server.set(WRITTEN);
        let put = table.put(ROW, "", Some(&tag()), &Body::default()).await.expect("an answer");
        assert!(matches!(put, Put::Done(_)), "{put:?}");
        assert_eq!(server.asked(), ["put"]);
        assert!(table.delete(ROW, &tag()).await.expect("an answer"));
        let heads = server.heads();
        assert!(heads.iter().all(|head| head.contains("\r\nif-match: \"2\"")), "{heads:?}");
        let found: Vec<_> = heads.iter().map(|head| head.split(' ').next().expect("one")).collect();
        assert_eq!(found, methods, "{proven}, {answer:?}");
    }
}

/// The first candidate has the store prove all.
#[tokio::test]
async fn the_note_says_whether_the_condition_of_a_delete_is_proven() {
    for (answer, note, method) in [
        (None, "deletes scripted", "delete"),
        (Some(REMOVED), "puts scripted", "put"),
        (Some(PRECONDITION), "puts scripted", "put"),
        (Some(DENIED), "puts scripted", "put"),
        (Some(UNKNOWN), "puts scripted", "put"),
    ] {
        let server = Scripted::start("");
        if let Some(answer) = answer {
            server.set_of("DELETE", answer);
        }
        let table = crate::table(&MotoS3::url(server.address, "elect", "a"));
        table.prepare().await.expect("it heeds conditions of puts");
        assert_eq!(server.note(), note, "{answer:?}");
        server.set(WRITTEN);
        assert!(table.delete(ROW, &tag()).await.expect("an answer"));
        assert_eq!(server.asked(), [method], "{answer:?}");
    }
}

#[tokio::test]
async fn credentials_that_a_delete_was_refused_with_are_found_anew() {
    for name in ["ExpiredToken", "InvalidAccessKeyId", "SignatureDoesNotMatch"] {
        let server = Scripted::start("deletes");
        let file = tempfile::NamedTempFile::new().expect("a file");
        let sign_by = |key: &str| {
            let keys = format!("aws_access_key_id = {key}\naws_secret_access_key = any\n");
            std::fs::write(&file, format!("[default]\n{keys}")).expect("written");
        };
        sign_by("first+1");
        let (address, path) = (server.address, file.path().display());
        let options = format!("region=a&endpoint=http://{address}&credentials-file={path}");
        let table = crate::table(&format!("s3://elect/a/rows?{options}"));
        table.prepare().await.expect("it heeds conditions");
        sign_by("second");
        let refusal = format!("<Error><Code>{name}</Code></Error>");
        server.set(WRITTEN);
        server.set_of("DELETE", ("400 Bad", refusal.leak()));
        let error = table.delete(ROW, &tag()).await.expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        table.put(ROW, "", Some(&tag()), &Body::default()).await.expect("an answer");
        let heads = server.heads();
        assert!(heads[0].contains("x-amz-credential=first%2b1%2f"), "{heads:?}");
        assert!(heads[1].contains("credential=second/"), "{heads:?}");
    }
}

#[tokio::test]
async fn an_answer_says_what_became_of_a_delete() {
    use ErrorKind::{Ambiguous, Denied, Unreachable};
    let (server, table) = prepared("deletes", None).await;
    let row = ("200 OK\r\nETag: \"4\"", "0123456789abcdef\nhead\n");
    let tombstone = ("200 OK\r\nETag: \"4\"", "0123456789abcdef");
    let (ask, look) = (["delete"], ["delete", "get"]);
    for (answer, then, expected, methods) in [
        (REMOVED, WRITTEN, Ok(true), &ask[..]),
        (PRECONDITION, row, Ok(false), &look),
        (PRECONDITION, tombstone, Ok(true), &look),
        (PRECONDITION, ABSENT, Ok(true), &look),
        (ABSENT, ABSENT, Ok(true), &look),
        (("409 No", "<Code>ConditionalRequestConflict</Code>"), row, Ok(false), &look),
        (("412 Failed", "<html>"), WRITTEN, Err(Ambiguous), &ask),
        (("404 Not Found", ""), WRITTEN, Err(Ambiguous), &ask),
        (("500 Error", "<Code>InternalError</Code>"), WRITTEN, Err(Ambiguous), &ask),
        (("503 Slow", "<Code>SlowDown</Code>"), WRITTEN, Err(Ambiguous), &ask),
        (("400 Bad", "<Code>RequestTimeout</Code>"), WRITTEN, Err(Unreachable), &ask),
        (("403 No", "<Code>InvalidAccessKeyId</Code>"), WRITTEN, Err(Denied), &ask),
    ] {
        server.set(then);
        server.set_of("DELETE", answer);
        let deleted = table.delete(ROW, &tag()).await;
        assert_eq!(deleted.map_err(|error| error.kind()), expected, "{answer:?}, {then:?}");
        assert_eq!(server.asked(), methods, "{answer:?}, {then:?}");
    }
}

/// The right to remove objects may be taken away, and a server may be replaced.
#[tokio::test]
async fn a_row_that_may_not_be_removed_becomes_a_tombstone() {
    for answer in [DENIED, UNKNOWN] {
        let (server, table) = prepared("deletes", None).await;
        server.set(WRITTEN);
        server.set_of("DELETE", answer);
        for methods in [&["delete", "put"][..], &["put"]] {
            assert!(table.delete(ROW, &tag()).await.expect("an answer"), "{answer:?}");
            assert_eq!(server.asked(), methods, "{answer:?}");
        }
    }
}

#[tokio::test]
async fn a_missing_right_to_remove_objects_is_found() {
    let (server, table) = prepared("deletes", None).await;
    server.set(ABSENT);
    assert_eq!(findings(&table).await, "");
    server.set_of("DELETE", DENIED);
    let found = findings(&table).await;
    assert!(found.contains("s3:DeleteObject on arn:aws:s3:::elect/a/rows/*"), "{found}");
}

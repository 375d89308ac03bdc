//! A row is removed by a conditional delete, where the store and the way to it heed its condition.

use elect_record::table::{Body, Put, Table, Tag};
use elect_testkit::servers::{Database as _, MotoS3};

use crate::ROW;
use crate::scripted::{REMOVED, Scripted};

const WRITTEN: (&str, &str) = ("200 OK\r\nETag: \"3\"", "");
const ID: &str = "/elect/a/rows/-/id";

/// A server that has proven this, and a table that has tried its way there. `DELETE` is always answered so.
async fn prepared(
    proven: &str,
    answer: Option<(&'static str, &'static str)>,
) -> (Scripted, impl Table) {
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

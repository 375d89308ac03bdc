//! What a deleted row leaves behind.

use elect_record::table::{Body, Key, Put, Range, Table, Tag};
use elect_testkit::servers::{Database as _, DatabaseServer as _, SeaweedFs};

use crate::ROW;

async fn put(table: &impl Table, expected: Option<&Tag>) -> Tag {
    match table.put(ROW, "", expected, &Body::default()).await.expect("an answer") {
        Put::Done(tag) => tag,
        Put::Conflict => panic!("no other writer is there"),
    }
}

#[tokio::test]
async fn a_deleted_row_leaves_a_tombstone_unless_deletes_are_proven() {
    let server = SeaweedFs::start();
    let url = SeaweedFs::url(server.address(), "elect", "a");
    let proven = crate::table(&url);
    proven.prepare().await.expect("it heeds conditions");
    crate::forget_deletes(&proven).await;
    let other = crate::table(&url);
    let objects = || {
        let mut keys = SeaweedFs::keys(server.address(), "a");
        keys.retain(|key| !key.ends_with("/-/id"));
        keys
    };
    let tag = put(&proven, None).await;
    assert_eq!(objects(), ["a/rows/a/leader"]);
    assert!(proven.delete(ROW, &tag).await.expect("an answer"));
    assert!(objects().is_empty(), "{:?}", objects());
    assert!(proven.delete(ROW, &tag).await.expect("an answer"), "it is gone");

    let tag = put(&other, None).await;
    assert!(other.delete(ROW, &tag).await.expect("an answer"));
    let text = SeaweedFs::text(server.address(), "a/rows/a/leader").expect("a tombstone");
    assert_eq!(text.len(), 16, "{text}");
    let is_empty = async |table: &dyn Table| {
        for range in [Range::Row(ROW), Range::Candidates("a"), Range::Leaders] {
            assert!(table.scan(range).await.expect("an answer").rows.is_empty(), "{range:?}");
        }
    };
    is_empty(&proven).await;
    is_empty(&other).await;
    assert!(proven.delete(ROW, &tag).await.expect("an answer"), "it is gone");
    let next = put(&proven, None).await;
    assert!(!other.delete(ROW, &tag).await.expect("an answer"), "another tag");
    assert!(proven.delete(ROW, &next).await.expect("an answer"));
    assert!(objects().is_empty(), "{:?}", objects());
}

#[tokio::test]
async fn all_kinds_of_requests_are_signed() {
    // The server checks them. All characters of names are in the keys.
    let server = SeaweedFs::start();
    let table = crate::table(&SeaweedFs::url(server.address(), "elect", "a.b-c_d@e:f+g=h"));
    table.prepare().await.expect("it heeds conditions");
    let key = Key { election: "a.b-c_d@e:f+g=h", ..ROW };
    let Put::Done(tag) = table.put(key, "", None, &Body::default()).await.expect("an answer")
    else {
        panic!("no other writer is there")
    };
    for range in [Range::Row(key), Range::Candidates(key.election), Range::Leaders] {
        assert_eq!(table.scan(range).await.expect("an answer").rows.len(), 1, "{range:?}");
    }
    assert!(table.delete(key, &tag).await.expect("an answer"));
}

/// Each bucket takes volumes of its own, of which the server makes the first ones late.
#[test]
fn a_server_of_seaweedfs_has_room_for_many_buckets_at_once() {
    let server = SeaweedFs::start();
    SeaweedFs::put(server.address(), "first", "text");
    for number in 0..12 {
        SeaweedFs::make(server.address(), &format!("bucket{number}"));
    }
}

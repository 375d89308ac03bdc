//! What holds of users with few rights.

use std::fmt::Debug;

use elect_api::{Error, ErrorKind};
use elect_record::table::{Key, Range};

use super::client::{Client, body};
use super::{Ground, Rights};

const ROW: Key<'static> = Key { election: "a", document: Key::LEADER };

fn is_denied<T: Debug>(answer: Result<T, Error>) {
    let error = answer.expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}: {error:?}");
}

/// A user without rights is denied all rows.
pub async fn a_user_without_rights_is_denied(ground: &dyn Ground) {
    let client = Client::new(ground).await;
    let tag = client.write(ROW, None, &body("x")).await;
    let denied = ground.connect_as(Rights::None).await;
    for _ in 0..2 {
        is_denied(denied.get(ROW).await);
        is_denied(denied.scan(Range::Leaders).await);
        is_denied(denied.put(ROW, &client.epoch, Some(&tag), &body("y")).await);
        is_denied(denied.put(Key { election: "b", ..ROW }, &client.epoch, None, &body("y")).await);
        is_denied(denied.delete(ROW, &tag).await);
    }
    client.expect(ROW, &tag, &body("x")).await;
    assert_eq!(client.scan(Range::Leaders).await.len(), 1);
}

/// A user who may read only reads as others do, and is denied all writes.
pub async fn a_user_who_may_read_only_is_denied_writes(ground: &dyn Ground) {
    let client = Client::new(ground).await;
    let tag = client.write(ROW, None, &body("x")).await;
    let reader =
        Client { table: ground.connect_as(Rights::Read).await, epoch: client.epoch.clone() };
    for _ in 0..2 {
        is_denied(reader.table.put(ROW, &client.epoch, Some(&tag), &body("y")).await);
        is_denied(
            reader.table.put(Key { election: "b", ..ROW }, &client.epoch, None, &body("y")).await,
        );
        is_denied(reader.table.delete(ROW, &tag).await);
        reader.expect(ROW, &tag, &body("x")).await;
        assert_eq!(reader.scan(Range::Leaders).await.len(), 1);
    }
}

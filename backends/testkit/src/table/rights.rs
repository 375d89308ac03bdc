//! What holds of users with few rights.

use std::fmt::Debug;

use elect_api::{Error, ErrorKind};
use elect_record::table::{Key, Range};

use super::Ground;
use super::client::{Client, body, leader};
use crate::servers::Rights;

const ROW: Key<'static> = Key { election: "a", document: Key::LEADER };

fn is_denied<T: Debug>(answer: Result<T, Error>) {
    let error = answer.expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}: {error:?}");
}

/// A user is denied what its rights leave out, each time. The others' rows stay as they are.
pub async fn a_user_is_denied_what_it_has_no_right_to(ground: &dyn Ground) {
    let client = Client::new(ground).await;
    let tag = client.write(ROW, None, &body("x")).await;
    for rights in [Rights::None, Rights::Read, Rights::None] {
        let (table, epoch) = (ground.connect_as(rights).await, client.epoch.clone());
        let user = Client { table, epoch };
        for _ in 0..2 {
            if rights == Rights::Read {
                user.expect(ROW, &tag, &body("x")).await;
                assert_eq!(user.scan(Range::Leaders).await.len(), 1);
            } else {
                is_denied(user.table.get(ROW).await);
                is_denied(user.table.scan(Range::Leaders).await);
            }
            is_denied(user.table.put(ROW, &user.epoch, Some(&tag), &body("y")).await);
            is_denied(user.table.put(leader("b"), &user.epoch, None, &body("y")).await);
            is_denied(user.table.delete(ROW, &tag).await);
        }
    }
    client.expect(ROW, &tag, &body("x")).await;
    assert_eq!(client.scan(Range::Leaders).await.len(), 1);
}

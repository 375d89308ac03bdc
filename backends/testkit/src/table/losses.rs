//! What holds of a table that may lose writes.

use std::collections::HashSet;

use elect_record::table::{Key, Put, Range};

use super::Ground;
use super::client::{Client, body, leader, two};
use crate::clock::now;

const ROW: Key<'static> = Key { election: "a", document: Key::LEADER };

/// After each loss all answers name an epoch that never was before. It is not said to be older than it is.
pub async fn each_loss_begins_a_young_epoch(ground: &dyn Ground) {
    let mut client = Client::new(ground).await;
    let mut names = HashSet::from([client.epoch.clone()]);
    for _ in 0..2 {
        client.overwrite(ROW, &body("x")).await;
        let begun = now();
        ground.lose().await;
        let epoch = client.recover().await;
        let age = now().since(begun);
        assert!(epoch.age <= age, "an epoch of at most {age:?} is said to be older: {epoch:?}");
        assert!(names.insert(epoch.name.clone()), "{epoch:?} was before");
        assert_eq!(Client::new(ground).await.epoch, epoch.name);
        assert_eq!(
            client.table.scan(Range::Leaders).await.expect("an answer").epoch.name,
            epoch.name
        );
    }
}

/// A put that expects the epoch before a loss is not done, whatever is left of the row.
pub async fn a_put_of_an_epoch_before_a_loss_is_not_done(ground: &dyn Ground) {
    let [mut ours, mut theirs] = two(ground).await;
    for election in ["a", "b", "c", "d", "e"] {
        theirs.overwrite(leader(election), &body("before")).await;
    }
    let old = ours.epoch.clone();
    ground.lose().await;
    ours.recover().await;
    theirs.recover().await;
    for election in ["a", "b", "c", "d", "e", "f"] {
        let before = theirs.get(leader(election)).await;
        let tag = before.as_ref().map(|row| &row.tag);
        let put = ours.table.put(leader(election), &old, tag, &body("late")).await;
        assert_eq!(put.expect("an answer"), Put::Conflict);
        assert_eq!(theirs.get(leader(election)).await, before);
        ours.write(leader(election), tag, &body("after")).await;
    }
}

/// No write after a loss gives a row a tag that a lost write had given it.
pub async fn no_tag_returns_after_a_loss(ground: &dyn Ground) {
    let mut client = Client::new(ground).await;
    let mut tags = HashSet::new();
    for _ in 0..2 {
        for _ in 0..10 {
            let tag = client.overwrite(ROW, &body("same")).await;
            assert!(tags.insert(tag.clone()), "{tag:?} returns");
        }
        ground.lose().await;
        client.recover().await;
    }
}

//! What holds of one row.

use std::collections::BTreeSet;

use elect_record::table::{Body, Epoch, Key, Put, Range, Row, Tag};
use tokio::task::JoinSet;

use super::Ground;
use super::client::{Client, body, leader, two};
use crate::{poll_n, poll_n_eagerly};

/// More await points than a call of any table has.
const CUTS: usize = 12;
/// How often parties race, and how many there are.
const RACES: usize = 20;
const PARTIES: usize = 4;

const ROW: Key<'static> = Key { election: "a", document: Key::LEADER };

/// No read finds a row that was never written.
pub async fn a_row_that_was_never_written_is_absent(ground: &dyn Ground) {
    let client = Client::new(ground).await;
    for key in
        [ROW, Key { document: Key::DATA, ..ROW }, Key { election: Key::STORE, document: "waited" }]
    {
        assert_eq!(client.get(key).await, None);
        for range in [Range::Row(key), Range::Candidates("a"), Range::Leaders] {
            assert!(client.scan(range).await.is_empty());
        }
    }
}

/// A write that was acknowledged is read over each connection, with the tag that the writer got.
pub async fn what_was_put_is_read_over_any_connection(ground: &dyn Ground) {
    let clients = two(ground).await;
    let mut tag = None;
    for round in 0..10 {
        let body = Body { cells: format!("[{round}]"), ..body("x") };
        let new = clients[round % 2].write(ROW, tag.as_ref(), &body).await;
        for client in &clients {
            client.expect(ROW, &new, &body).await;
            let rows = client.scan(Range::Row(ROW)).await;
            let expected = Row { tag: new.clone(), body: body.clone() };
            assert_eq!(rows.into_values().collect::<Vec<_>>(), [expected]);
        }
        tag = Some(new);
    }
}

/// A put that expects no row changes no row.
pub async fn a_creation_writes_an_absent_row_only(ground: &dyn Ground) {
    let [ours, theirs] = two(ground).await;
    let tag = ours.write(ROW, None, &body("ours")).await;
    for client in [&theirs, &ours] {
        assert_eq!(client.put(ROW, None, &body("theirs")).await, Put::Conflict);
        client.expect(ROW, &tag, &body("ours")).await;
    }
}

/// A put that expects another tag than the row's changes nothing, and creates nothing where no row is.
pub async fn a_put_with_an_old_tag_changes_nothing(ground: &dyn Ground) {
    let [ours, theirs] = two(ground).await;
    let old = ours.write(ROW, None, &body("one")).await;
    let new = theirs.write(ROW, Some(&old), &body("two")).await;
    for client in [&ours, &theirs] {
        assert_eq!(client.put(ROW, Some(&old), &body("three")).await, Put::Conflict);
        client.expect(ROW, &new, &body("two")).await;
    }
    let other = Key { election: "b", ..ROW };
    assert_eq!(ours.put(other, Some(&new), &body("three")).await, Put::Conflict);
    assert_eq!(ours.get(other).await, None);
}

/// Has clients write one row at once. Returns the tag and the body of the only one that has written.
async fn race(clients: Vec<Client>, tag: Option<&Tag>) -> (Vec<Client>, Tag, Body) {
    let mut puts = JoinSet::new();
    for (number, client) in clients.into_iter().enumerate() {
        let tag = tag.cloned();
        puts.spawn(async move {
            let body = body(&number.to_string());
            let put = client.put(ROW, tag.as_ref(), &body).await;
            (client, put, body)
        });
    }
    let (mut clients, mut done) = (Vec::new(), Vec::new());
    for (client, put, body) in puts.join_all().await {
        clients.push(client);
        if let Put::Done(tag) = put {
            done.push((tag, body));
        }
    }
    assert_eq!(done.len(), 1, "writes on one tag: {done:?}");
    let (tag, body) = done.remove(0);
    (clients, tag, body)
}

async fn many(ground: &dyn Ground) -> Vec<Client> {
    let mut clients = Vec::new();
    for _ in 0..PARTIES {
        clients.push(Client::new(ground).await);
    }
    clients
}

/// Of writes at once that expect one tag, exactly one is done.
pub async fn one_of_many_puts_on_one_tag_is_done(ground: &dyn Ground) {
    let mut clients = many(ground).await;
    let mut tag = clients[0].write(ROW, None, &body("first")).await;
    for _ in 0..RACES {
        let (back, new, body) = race(clients, Some(&tag)).await;
        back[0].expect(ROW, &new, &body).await;
        (clients, tag) = (back, new);
    }
}

/// Of creations at once, exactly one is done.
pub async fn one_of_many_creations_is_done(ground: &dyn Ground) {
    let mut clients = many(ground).await;
    for _ in 0..RACES {
        let (back, tag, body) = race(clients, None).await;
        back[0].expect(ROW, &tag, &body).await;
        assert!(back[0].delete(ROW, &tag).await);
        clients = back;
    }
}

/// Of a put and a delete at once that expect one tag, exactly one is done.
pub async fn a_put_and_a_delete_on_one_tag_are_never_both_done(ground: &dyn Ground) {
    let [ours, theirs] = two(ground).await;
    for round in 0..RACES {
        let tag = ours.overwrite(ROW, &body("before")).await;
        let body = body("after");
        let (put, is_gone) = if round % 2 == 0 {
            tokio::join!(ours.put(ROW, Some(&tag), &body), theirs.delete(ROW, &tag))
        } else {
            let (gone, put) =
                tokio::join!(theirs.delete(ROW, &tag), ours.put(ROW, Some(&tag), &body));
            (put, gone)
        };
        match put {
            Put::Done(tag) => {
                assert!(!is_gone, "both are done");
                theirs.expect(ROW, &tag, &body).await;
            }
            Put::Conflict => {
                assert!(is_gone, "none is done");
                assert_eq!(ours.get(ROW).await, None);
            }
        }
    }
}

/// Each write gives the row a tag that it never had, even if the body stays the same.
pub async fn equal_bodies_have_different_tags(ground: &dyn Ground) {
    let [ours, theirs] = two(ground).await;
    let (mut tags, mut last) = (BTreeSet::new(), None);
    for round in 0..10 {
        let client = if round % 2 == 0 { &ours } else { &theirs };
        let tag = client.write(ROW, last.as_ref(), &body("same")).await;
        assert!(tags.insert(tag.0.clone()), "{tag:?} returns");
        last = Some(tag);
    }
}

/// A row that is made anew has a tag that no earlier one had. A late delete or put does not hit it.
pub async fn no_tag_returns_with_a_row_made_anew(ground: &dyn Ground) {
    let [ours, theirs] = two(ground).await;
    let mut old: Vec<Tag> = Vec::new();
    for _ in 0..5 {
        let tag = ours.write(ROW, None, &body("same")).await;
        for old in &old {
            assert!(!theirs.delete(ROW, old).await, "a late delete removes the new row");
            assert_eq!(theirs.put(ROW, Some(old), &body("late")).await, Put::Conflict);
        }
        theirs.expect(ROW, &tag, &body("same")).await;
        assert!(theirs.delete(ROW, &tag).await);
        old.push(tag);
    }
}

/// A delete that expects another tag than the row's removes nothing.
pub async fn a_delete_with_an_old_tag_removes_nothing(ground: &dyn Ground) {
    let [ours, theirs] = two(ground).await;
    let old = ours.write(ROW, None, &body("one")).await;
    let new = theirs.write(ROW, Some(&old), &body("two")).await;
    for client in [&ours, &theirs] {
        assert!(!client.delete(ROW, &old).await);
        client.expect(ROW, &new, &body("two")).await;
    }
}

/// A deleted row is absent over each connection. To delete an absent row is done.
pub async fn a_deleted_row_is_gone_for_all(ground: &dyn Ground) {
    let clients = two(ground).await;
    let tag = clients[0].write(ROW, None, &body("x")).await;
    assert!(clients[0].delete(ROW, &tag).await);
    for client in &clients {
        assert_eq!(client.get(ROW).await, None);
        assert!(client.scan(Range::Candidates("a")).await.is_empty());
        assert!(client.delete(ROW, &tag).await, "the row is gone");
        assert_eq!(client.put(ROW, Some(&tag), &body("y")).await, Put::Conflict);
        assert_eq!(client.get(ROW).await, None);
    }
}

/// Head and cells come back as they were, whatever the text: without cells, too.
pub async fn bodies_come_back_byte_for_byte(ground: &dyn Ground) {
    let [ours, theirs] = two(ground).await;
    // What serde_json leaves as it is: everything but control characters, quotes and backslashes.
    let all: String = ('\u{20}'..='\u{2ff}')
        .chain("\u{2028}\u{fffd}\u{ffff}\u{10ffff}😀e\u{301}".chars())
        .collect();
    let all = serde_json::to_string(&all).expect("JSON");
    let texts = [
        "",
        "{}",
        " {\"b\" : 1.0, \"a\":1e2,\"a\":1} ",
        "\"\\u0000\\n\\\"'\\\\\"",
        "\\x41 \\N %s $1 ? :a ; -- '",
        "null",
        all.as_str(),
    ];
    for head in texts {
        for cells in texts {
            let body = Body { head: head.to_owned(), cells: cells.to_owned(), ..Body::default() };
            let tag = ours.overwrite(ROW, &body).await;
            theirs.expect(ROW, &tag, &body).await;
        }
    }
}

/// The longest body comes back, alone and in a range, and from one that is as long.
pub async fn the_longest_body_comes_back(ground: &dyn Ground) {
    let [ours, theirs] = two(ground).await;
    let head = body("x").head;
    let cells: String = "\\u0000".chars().cycle().take(ground.longest() - head.len()).collect();
    let mut body = Body { head, cells, has_same_cells: false };
    for has_same_cells in [false, false, true] {
        body.has_same_cells = has_same_cells;
        let tag = ours.overwrite(ROW, &body).await;
        theirs.expect(ROW, &tag, &body).await;
        assert_eq!(theirs.scan(Range::Leaders).await.into_values().next().expect("one").tag, tag);
    }
}

/// A put that says that the cells stay the same changes the head, and leaves the cells as they are.
pub async fn cells_that_stay_the_same_are_kept(ground: &dyn Ground) {
    let [ours, theirs] = two(ground).await;
    for cells in ["", "[1]", "", "[2]"] {
        let mut tag = ours.overwrite(ROW, &Body { cells: cells.to_owned(), ..body("x") }).await;
        for text in ["y", "z"] {
            let body = Body { cells: cells.to_owned(), has_same_cells: true, ..body(text) };
            let new = theirs.write(ROW, Some(&tag), &body).await;
            let old = std::mem::replace(&mut tag, new);
            ours.expect(ROW, &tag, &body).await;
            assert_eq!(theirs.put(ROW, Some(&old), &body).await, Put::Conflict);
        }
    }
}

/// A put that expects another epoch than the store's creates and changes nothing.
pub async fn a_put_in_another_epoch_is_not_done(ground: &dyn Ground) {
    let client = Client::new(ground).await;
    let other = format!("{}x", client.epoch);
    let put = client.table.put(ROW, &other, None, &body("x")).await;
    assert_eq!(put.expect("an answer"), Put::Conflict);
    assert_eq!(client.get(ROW).await, None);
    let tag = client.write(ROW, None, &body("x")).await;
    let put = client.table.put(ROW, &other, Some(&tag), &body("y")).await;
    assert_eq!(put.expect("an answer"), Put::Conflict);
    client.expect(ROW, &tag, &body("x")).await;
    client.write(ROW, Some(&tag), &body("y")).await;
}

/// All answers name one epoch. The name is empty if the table loses no write.
pub async fn all_answers_name_one_epoch(ground: &dyn Ground) {
    let clients = two(ground).await;
    let mut last: Option<Epoch> = None;
    for client in &clients {
        client.overwrite(ROW, &body("x")).await;
        let mut epochs = Vec::new();
        for key in [ROW, leader("absent")] {
            epochs.push(client.table.get(key).await.expect("an answer").epoch);
        }
        for range in
            [Range::Leaders, Range::Candidates("a"), Range::Candidates("absent"), Range::Row(ROW)]
        {
            epochs.push(client.table.scan(range).await.expect("an answer").epoch);
        }
        for epoch in epochs {
            assert_eq!(epoch.name.is_empty(), !client.table.may_lose(), "{epoch:?}");
            if let Some(last) = last {
                assert_eq!(epoch.name, last.name);
                assert!(epoch.age >= last.age, "{epoch:?} is younger than before: {last:?}");
            }
            last = Some(epoch);
        }
    }
}

/// Wherever a put is dropped, both clients go on writing. It never replaces what was written later.
pub async fn a_put_cut_anywhere_leaves_the_row_usable(ground: &dyn Ground) {
    let [ours, theirs] = two(ground).await;
    for cut in 1..=CUTS {
        let tag = theirs.overwrite(ROW, &body("before")).await;
        let text = body("cut");
        drop(poll_n(cut, ours.table.put(ROW, &ours.epoch, Some(&tag), &text)).await);
        for writer in [&theirs, &ours] {
            let tag = writer.overwrite(ROW, &body("after")).await;
            ours.expect(ROW, &tag, &body("after")).await;
            theirs.expect(ROW, &tag, &body("after")).await;
        }
    }
}

/// Wherever a delete is dropped, both clients go on writing. It never removes what was written later.
pub async fn a_delete_cut_anywhere_leaves_the_row_usable(ground: &dyn Ground) {
    let [ours, theirs] = two(ground).await;
    for cut in 1..=CUTS {
        let tag = theirs.overwrite(ROW, &body("before")).await;
        drop(poll_n(cut, ours.table.delete(ROW, &tag)).await);
        for writer in [&theirs, &ours] {
            let tag = writer.overwrite(ROW, &body("after")).await;
            ours.expect(ROW, &tag, &body("after")).await;
            theirs.expect(ROW, &tag, &body("after")).await;
        }
    }
}

/// Wherever a read is dropped, the next one on the same connection gets its own answer.
pub async fn a_read_cut_anywhere_leaves_the_connection_usable(ground: &dyn Ground) {
    let client = Client::new(ground).await;
    let other = Key { election: "b", ..ROW };
    let (tag, _) =
        (client.overwrite(ROW, &body("x")).await, client.overwrite(other, &body("y")).await);
    for cut in 1..=CUTS {
        drop(poll_n(cut, client.table.get(other)).await);
        client.expect(ROW, &tag, &body("x")).await;
        drop(poll_n(cut, client.table.scan(Range::Candidates("b"))).await);
        assert_eq!(client.scan(Range::Candidates("a")).await.len(), 1);
        drop(poll_n_eagerly(cut, client.table.changed(Range::Leaders)).await);
        client.expect(ROW, &tag, &body("x")).await;
    }
}

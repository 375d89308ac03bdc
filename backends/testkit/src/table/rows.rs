//! What holds of one row.

use elect_record::table::{Body, Key, Put, Range, Row, Tag};
use tokio::task::{JoinSet, yield_now};

use super::Ground;
use super::client::{Client, body, leader, two};
use crate::{poll_n, poll_n_eagerly};

/// More await points than a call of any table has.
const CUTS: usize = 12;
/// How often parties race, and how many there are.
const RACES: usize = 20;
const PARTIES: usize = 4;

const ROW: Key<'static> = Key { election: "a", document: Key::LEADER };

/// Head and cells come back as they were over each connection, with the tag that the writer got.
pub async fn what_was_put_comes_back_byte_for_byte(ground: &dyn Ground) {
    let clients = two(ground).await;
    // What serde_json leaves as it is: everything but control characters, quotes and backslashes.
    let some = ('\u{20}'..='\u{2ff}').chain("\u{2028}\u{fffd}\u{ffff}\u{10ffff}😀e\u{301}".chars());
    let some = serde_json::to_string(&some.collect::<String>()).expect("JSON");
    let texts = [
        "",
        " {\"b\" : 1.0, \"a\":1e2,\"a\":1} ",
        "\"\\u0000\\n\\\"'\\\\\"",
        "\\x41 \\N %s $1 ? :a ; -- '",
        some.as_str(),
    ];
    for (round, (head, cells)) in texts.iter().flat_map(|a| texts.map(|b| (*a, b))).enumerate() {
        let body = Body { head: head.to_owned(), cells: cells.to_owned(), ..Body::default() };
        let tag = clients[round % 2].overwrite(ROW, &body).await;
        for client in &clients {
            client.expect(ROW, &tag, &body).await;
            let rows = client.scan(Range::Row(ROW)).await.into_values();
            let expected = Row { tag: tag.clone(), body: body.clone() };
            assert_eq!(rows.collect::<Vec<_>>(), [expected]);
        }
    }
}

/// A write changes, creates and removes nothing if the row has another tag than expected, or is absent where a tag is
/// expected.
pub async fn a_write_that_expects_another_tag_changes_nothing(ground: &dyn Ground) {
    let clients = two(ground).await;
    let old = clients[0].write(ROW, None, &body("one")).await;
    let new = clients[1].write(ROW, Some(&old), &body("two")).await;
    for client in &clients {
        for expected in [None, Some(&old)] {
            assert_eq!(client.put(ROW, expected, &body("three")).await, Put::Conflict);
            client.expect(ROW, &new, &body("two")).await;
        }
        assert!(!client.delete(ROW, &old).await);
        client.expect(ROW, &new, &body("two")).await;
        let other = Key { election: "b", ..ROW };
        assert_eq!(client.put(other, Some(&new), &body("three")).await, Put::Conflict);
        assert_eq!(client.get(other).await, None);
    }
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

/// Writes at once of different rows are all done, and so are deletes: a row conflicts with no other.
pub async fn rows_that_are_written_at_once_do_not_conflict(ground: &dyn Ground) {
    let mut rows: Vec<_> = many(ground).await.into_iter().map(|client| (client, None)).collect();
    for round in 0..=RACES {
        let mut writes = JoinSet::new();
        for (number, (client, tag)) in rows.into_iter().enumerate() {
            writes.spawn(async move {
                let document = format!("waiter-{number}");
                let (key, body) = (Key { election: "a", document: &document }, body("x"));
                let tag: Option<Tag> = match tag {
                    Some(tag) if round == RACES => {
                        assert!(client.delete(key, &tag).await, "{key} was not removed");
                        None
                    }
                    tag => Some(client.write(key, tag.as_ref(), &body).await),
                };
                (number, client, tag)
            });
        }
        let mut done = writes.join_all().await;
        done.sort_by_key(|(number, ..)| *number);
        rows = done.into_iter().map(|(_, client, tag)| (client, tag)).collect();
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

/// Each write gives the row a tag that it never had, even if the body stays the same and the row is made anew. A late
/// write does not hit it.
pub async fn no_tag_returns(ground: &dyn Ground) {
    let [ours, theirs] = two(ground).await;
    let mut tags = vec![ours.write(ROW, None, &body("same")).await];
    for round in 0..8 {
        let last = tags.last().filter(|_| round % 3 > 0);
        if last.is_none() {
            assert!(theirs.delete(ROW, &tags[round]).await);
        }
        let tag = ours.write(ROW, last, &body("same")).await;
        for old in &tags {
            assert!(!theirs.delete(ROW, old).await, "a late delete removes the new row");
            assert_eq!(theirs.put(ROW, Some(old), &body("late")).await, Put::Conflict);
        }
        tags.push(tag);
    }
}

/// A put returns the tag of its own write, even if another client replaces the row at once. With the other's tag the
/// writer would next replace what it has not seen.
pub async fn a_put_returns_the_tag_of_its_own_write(ground: &dyn Ground) {
    let [ours, theirs] = two(ground).await;
    let (text, other) = (body("ours"), body("theirs"));
    let mut tag = ours.write(ROW, None, &other).await;
    for _ in 0..RACES {
        let replace = async {
            loop {
                let row = theirs.get(ROW).await.expect("a row");
                if row.body == text {
                    return (theirs.write(ROW, Some(&row.tag), &other).await, row.tag);
                }
                yield_now().await;
            }
        };
        let (returned, (next, written)) = tokio::join!(ours.write(ROW, Some(&tag), &text), replace);
        assert_eq!(returned, written, "a put returns another tag than that of its write");
        tag = next;
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

/// The longest body comes back, alone and in a range, and from one that is as long.
pub async fn the_longest_body_comes_back(ground: &dyn Ground) {
    let [ours, theirs] = two(ground).await;
    let head = body("x").head;
    let cells: String = "\\u0000".chars().cycle().take(ground.longest() - head.len()).collect();
    let mut body = Body { head, cells, ..Body::default() };
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

/// A put writes new cells, whatever else it says of itself. Only `has_same_cells` means that they stay.
pub async fn a_renewal_or_a_request_may_change_the_cells(ground: &dyn Ground) {
    let [ours, theirs] = two(ground).await;
    let mut tag = ours.overwrite(ROW, &Body { cells: "[1]".to_owned(), ..body("x") }).await;
    for (is_renewal, has_request) in [(true, false), (false, true), (true, true)] {
        for cells in ["[2]", "", "[3]"] {
            let new = Body { cells: cells.to_owned(), ..body("y") };
            let put = Body { is_renewal, has_request, ..new.clone() };
            tag = theirs.write(ROW, Some(&tag), &put).await;
            ours.expect(ROW, &tag, &new).await;
            let put = Body { has_same_cells: true, ..put };
            tag = ours.write(ROW, Some(&tag), &put).await;
            theirs.expect(ROW, &tag, &new).await;
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
    let mut epochs = Vec::new();
    for _ in 0..2 {
        for Client { table, .. } in &clients {
            for key in [ROW, leader("absent")] {
                epochs.push(table.get(key).await.expect("an answer").epoch.name);
                for range in [Range::Leaders, Range::Candidates(key.election), Range::Row(key)] {
                    epochs.push(table.scan(range).await.expect("an answer").epoch.name);
                }
            }
        }
        clients[0].overwrite(ROW, &body("x")).await;
    }
    for name in epochs {
        assert_eq!(name, clients[0].epoch);
        assert_eq!(name.is_empty(), !clients[0].table.may_lose(), "{name}");
    }
}

/// Wherever a put or a delete is dropped, both clients go on writing. It never hits what was written later.
pub async fn a_write_cut_anywhere_leaves_the_row_usable(ground: &dyn Ground) {
    let [ours, theirs] = two(ground).await;
    for cut in 2..=2 * CUTS {
        let (text, tag) = (body("cut"), theirs.overwrite(ROW, &body("before")).await);
        if cut % 2 == 0 {
            drop(poll_n(cut / 2, ours.table.put(ROW, &ours.epoch, Some(&tag), &text)).await);
        } else {
            drop(poll_n(cut / 2, ours.table.delete(ROW, &tag)).await);
        }
        for writer in [&theirs, &ours] {
            let tag = writer.overwrite(ROW, &body("after")).await;
            for reader in [&ours, &theirs, &ours, &theirs] {
                reader.expect(ROW, &tag, &body("after")).await;
            }
            let tag = writer.overwrite(ROW, &body("after")).await;
            assert!(writer.delete(ROW, &tag).await);
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

//! What holds of a table that tells of changes.

use elect_api::{Error, ErrorKind};
use elect_record::table::{Body, Key, Range, Table};
use tokio::task::yield_now;

use super::Ground;
use super::client::{body, leader, two};
use crate::poll_n_eagerly;

const ROW: Key<'static> = Key { election: "a", document: Key::LEADER };
/// How often a change races a read.
const RACES: usize = 50;
/// How many notices of earlier changes may be late.
const LATE: usize = 20;

/// Waits until the table has asked for notices, and has received those of earlier changes.
pub(super) async fn quiet<'a>(
    table: &'a dyn Table,
    range: Range<'a>,
) -> impl Future<Output = Result<(), Error>> + Unpin + use<'a> {
    for _ in 0..LATE {
        let mut notice = table.changed(range);
        match poll_n_eagerly(200, &mut notice).await {
            None => {
                // Its answer shows that the store has the request for notices, which was sent before it.
                let read = table.get(leader("quiet")).await;
                read.unwrap_or_else(|error| panic!("get: {error}: {error:?}"));
                return notice;
            }
            Some(Ok(())) => {}
            // The connection of the notices has ended.
            Some(Err(error)) => assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}"),
        }
    }
    panic!("it tells of changes where nothing changes")
}

/// Each creation, change and removal wakes the clients that wait for a range with the row, the writer itself included.
pub async fn each_change_wakes_all_that_wait_in_its_range(ground: &dyn Ground) {
    let clients = two(ground).await;
    for round in 0..6 {
        let mut notices = Vec::new();
        for client in &clients {
            for range in [Range::Row(ROW), Range::Candidates("a")] {
                notices.push(quiet(&*client.table, range).await);
            }
        }
        let writer = &clients[round / 3];
        match round % 3 {
            0 | 1 => _ = writer.overwrite(ROW, &body("x")).await,
            _ => assert!(writer.delete(ROW, &writer.tag(ROW).await).await),
        }
        for notice in notices {
            notice.await.expect("a notice");
        }
    }
}

/// A write with a request, and a removal, wake the clients that wait for requests. No mark of what was heard returns.
pub async fn each_request_wakes_all_that_wait_for_requests(ground: &dyn Ground) {
    let [ours, theirs] = two(ground).await;
    let mut marks = Vec::new();
    for round in 0..6 {
        let (mut notice, mark) = loop {
            let mut notice = ours.table.requested(ROW);
            // The answer shows that the store has the request for notices. One of an earlier change may be late.
            while poll_n_eagerly(200, &mut notice).await.is_some() {
                notice = ours.table.requested(ROW);
            }
            ours.get(ROW).await;
            let mark = ours.table.heard(ROW).requests;
            // A table that listens on another connection may begin after that answer.
            if poll_n_eagerly(1, &mut notice).await.is_none() {
                break (notice, mark);
            }
        };
        assert!(mark.is_none() || !marks.contains(&mark), "the mark {mark:?} returns: {marks:?}");
        marks.push(mark);
        if round % 3 < 2 {
            theirs.overwrite(ROW, &Body { has_request: true, ..body("x") }).await;
        } else {
            assert!(theirs.delete(ROW, &theirs.tag(ROW).await).await);
        }
        (&mut notice).await.expect("a notice");
        assert!(mark.is_none() || ours.table.heard(ROW).requests != mark, "{mark:?} stays");
    }
}

/// A change that was made after the first poll wakes, unless a read after that poll has shown it.
pub async fn a_change_that_a_read_did_not_show_wakes(ground: &dyn Ground) {
    let [ours, theirs] = two(ground).await;
    let mut tag = theirs.write(ROW, None, &body("first")).await;
    for round in 0..RACES {
        let look = async {
            let mut notice = ours.table.changed(Range::Row(ROW));
            let told = poll_n_eagerly(1, &mut notice).await;
            if ours.tag(ROW).await == tag && told.is_none() {
                notice.await.expect("a notice");
            }
        };
        let change = async {
            for _ in 0..round % 5 {
                yield_now().await;
            }
            theirs.write(ROW, Some(&tag), &body("next")).await
        };
        ((), tag) = tokio::join!(look, change);
    }
    let waiter = Key { document: "waiter-0000000000000001", ..ROW };
    let notice = quiet(&*ours.table, Range::Candidates("a")).await;
    theirs.write(waiter, None, &body("x")).await;
    notice.await.expect("a notice");
}

/// Where nothing changes, a client waits: a wake costs a read each time.
pub async fn a_table_at_rest_wakes_no_client(ground: &dyn Ground) {
    let [ours, theirs] = two(ground).await;
    theirs.write(ROW, None, &body("x")).await;
    for range in [Range::Row(ROW), Range::Candidates("a"), Range::Leaders, Range::Row(leader("b"))]
    {
        drop(quiet(&*ours.table, range).await);
    }
}

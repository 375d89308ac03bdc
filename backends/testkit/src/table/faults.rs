//! What holds while connections fail.

use std::pin::pin;

use elect_api::{Error, ErrorKind};
use elect_record::table::{Key, Put, Range, Row};

use super::Ground;
use super::client::{Client, body, leader, two};
use super::notices::quiet;
use crate::poll_n_eagerly;

const ROW: Key<'static> = Key { election: "a", document: Key::LEADER };
/// How often an answer is held back until one was lost.
const TRIES: usize = 20;
/// How many lost answers of creations are enough.
const ENOUGH: usize = 3;

fn is_unreachable<T: std::fmt::Debug>(answer: Result<T, Error>) {
    assert_eq!(answer.expect_err("no connection").kind(), ErrorKind::Unreachable);
}

fn is_told(notice: Result<(), Error>) -> bool {
    let told = notice.map_err(|error| assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}"));
    told.is_ok()
}

/// A client that waits as its connection ends is woken or told. It hears of changes again afterwards.
pub async fn a_client_whose_connection_was_cut_hears_of_changes_again(ground: &dyn Ground) {
    let [mut ours, mut theirs] = two(ground).await;
    if !ours.table.tells() {
        return;
    }
    for _ in 0..3 {
        let notice = quiet(&*ours.table, Range::Row(ROW)).await;
        let cut = ground.cut().await;
        is_told(notice.await);
        drop(cut);
        ours.recover().await;
        theirs.recover().await;
        // A connection that is for notices only may be found to have ended later.
        loop {
            let notice = quiet(&*ours.table, Range::Row(ROW)).await;
            theirs.overwrite(ROW, &body("x")).await;
            if is_told(notice.await) {
                break;
            }
        }
    }
}

/// Without a connection each call says that nothing happened, and so it is. Afterwards all is as before.
pub async fn without_a_connection_nothing_happens(ground: &dyn Ground) {
    let mut client = Client::new(ground).await;
    let mut tag = client.write(ROW, None, &body("x")).await;
    for _ in 0..3 {
        let cut = ground.cut().await;
        // The first call may be sent before the client notices, so it is a read.
        is_unreachable(client.table.get(ROW).await);
        for _ in 0..2 {
            is_unreachable(client.table.put(ROW, &client.epoch, Some(&tag), &body("y")).await);
            is_unreachable(client.table.delete(ROW, &tag).await);
            is_unreachable(client.table.scan(Range::Leaders).await);
            is_unreachable(client.table.get(ROW).await);
        }
        drop(cut);
        let epoch = client.epoch.clone();
        assert_eq!(client.recover().await.name, epoch);
        client.expect(ROW, &tag, &body("x")).await;
        tag = client.write(ROW, Some(&tag), &body("x")).await;
    }
}

/// Whether a write may have happened that got no answer. It has not if the table says so.
async fn is_lost<T>(
    ground: &dyn Ground,
    polls: usize,
    call: impl Future<Output = Result<T, Error>>,
) -> bool {
    let silence = ground.silence().await;
    let mut call = pin!(call);
    let early = poll_n_eagerly(polls, call.as_mut()).await;
    let cut = ground.cut().await;
    let answer = match early {
        Some(answer) => answer,
        None => call.await,
    };
    drop((cut, silence));
    match answer.err().expect("no answer").kind() {
        ErrorKind::Ambiguous => true,
        ErrorKind::Unreachable => false,
        other => panic!("a write without an answer is {other:?}"),
    }
}

/// A write that was sent and got no answer is ambiguous. A write that is unreachable never happens. A read is never
/// ambiguous.
pub async fn a_write_whose_answer_was_lost_is_ambiguous(ground: &dyn Ground) {
    let [mut ours, mut theirs] = two(ground).await;
    let (mut lost_puts, mut lost_deletes, mut refused) = (0, 0, Vec::new());
    for round in 0..TRIES {
        if lost_puts > 0 && lost_deletes > 0 {
            break;
        }
        let (text, tag) = (body(&round.to_string()), ours.overwrite(ROW, &body("before")).await);
        let put = ours.table.put(ROW, &ours.epoch, Some(&tag), &text);
        let may_have_put = is_lost(ground, 100 << round.min(10), put).await;
        theirs.recover().await;
        let row = theirs.get(ROW).await.expect("a row");
        lost_puts += usize::from(may_have_put && row.body == text);
        refused.extend((!may_have_put).then_some(text));
        assert!(!refused.contains(&row.body), "what is unreachable has happened");
        ours.recover().await;
        let tag = ours.overwrite(ROW, &body("before")).await;
        let may_have_deleted =
            is_lost(ground, 100 << round.min(10), ours.table.delete(ROW, &tag)).await;
        theirs.recover().await;
        let is_gone = theirs.get(ROW).await.is_none();
        assert!(may_have_deleted || !is_gone, "what is unreachable has happened");
        lost_deletes += usize::from(is_gone);
        ours.recover().await;
        assert!(!is_lost(ground, 100, ours.table.get(ROW)).await, "a read is ambiguous");
        ours.recover().await;
    }
    assert!(
        lost_puts > 0 && lost_deletes > 0,
        "no write was sent in silence: is there a read before it?"
    );
}

/// A write that got no answer is not sent again, not even if the store can be reached again at once. The second one
/// would bring back a row that was removed since.
pub async fn a_write_without_an_answer_is_not_sent_again(ground: &dyn Ground) {
    let [mut ours, mut theirs] = two(ground).await;
    let mut lost = 0;
    for round in 0..TRIES {
        // A write that arrives late is no other round's.
        let (election, text) = (format!("e{round}"), body("once"));
        let silence = ground.silence().await;
        let mut put = ours.table.put(leader(&election), &ours.epoch, None, &text);
        let early = poll_n_eagerly(100 << round.min(10), put.as_mut()).await;
        drop((ground.cut().await, silence));
        theirs.recover().await;
        let row = theirs.get(leader(&election)).await;
        if let Some(Row { tag, .. }) = &row {
            assert!(theirs.delete(leader(&election), tag).await);
        }
        let answer = async move {
            match early {
                Some(answer) => answer,
                None => put.await,
            }
        };
        let answer = answer.await;
        ours.recover().await;
        if row.is_some() {
            let kind = answer.map_err(|error| error.kind());
            assert_eq!(kind, Err(ErrorKind::Ambiguous), "it was done, and the answer was lost");
            assert_eq!(theirs.get(leader(&election)).await, None, "a removed row is back");
            lost += 1;
        }
        if lost == ENOUGH {
            return;
        }
    }
    panic!("{lost} writes were sent in silence: is there a read before them?");
}

/// Calls that were dropped while no answer came lock nothing. Late writes replace nothing newer.
pub async fn a_call_dropped_in_silence_locks_nothing(ground: &dyn Ground) {
    let [mut ours, mut theirs] = two(ground).await;
    let tag = theirs.write(ROW, None, &body("before")).await;
    for polls in [1, 10, 100, 1000] {
        let silence = ground.silence().await;
        let text = body("late");
        let put = poll_n_eagerly(polls, ours.table.put(ROW, &ours.epoch, Some(&tag), &text)).await;
        assert!(!matches!(put, Some(Ok(Put::Done(_)))), "an answer came in silence");
        drop(poll_n_eagerly(polls, ours.table.get(ROW)).await);
        drop(poll_n_eagerly(polls, ours.table.delete(ROW, &tag)).await);
        drop(poll_n_eagerly(polls, ours.table.changed(Range::Leaders)).await);
        drop(silence);
        for client in [&mut ours, &mut theirs] {
            client.recover().await;
            let tag = client.overwrite(ROW, &body("after")).await;
            client.expect(ROW, &tag, &body("after")).await;
        }
    }
}

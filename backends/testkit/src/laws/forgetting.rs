//! How an election is forgotten: `remove` deletes all that a store keeps of one that no candidate is in.

use elect_api::{Cell, ErrorKind, Fenced, If, Key, Keys, Removal, Scope, Token, fence};

use super::fences::patiently;
use crate::{Contender, Shared, apart, cell, election, expect_empty, expect_led_by};

/// An election with a leader or a waiter is not forgotten, and neither of them is disturbed.
pub async fn an_election_with_candidates_is_not_forgotten(bench: Shared) {
    let mut line = Contender::in_line(&bench, &["a", "b"]).await;
    line[0].write_cell("kept").await.expect("it leads");
    let store = bench.connect().await;
    let refusal = store
        .remove(&election(), Removal::Everything { fences: true })
        .await
        .expect_err("two are in it");
    assert_eq!(refusal.kind(), ErrorKind::Unreachable, "{refusal}");
    expect_led_by(&bench, &["a", "b"]).await;
    assert_eq!(line[1].read_cell().await.as_deref(), Some("kept"));
    for contender in &mut line {
        contender.lead().await;
        contender.resign().await;
    }
}

/// After a removal nothing of the election is listed or read any more. Its tokens still rise.
pub async fn a_forgotten_election_is_as_if_never_entered(bench: Shared) {
    let store = bench.connect().await;
    store
        .remove(&election(), Removal::Everything { fences: true })
        .await
        .expect("it was never entered");
    let mut before = Contender::new(&bench, "a").await;
    let token = before.lead().await;
    before.write_cell("gone").await.expect("it leads");
    before.resign_with("gone").await;
    for _ in 0..2 {
        store.remove(&election(), Removal::Everything { fences: true }).await.expect("it is empty");
        for scope in [Scope::Entered, Scope::Kept] {
            assert_eq!(store.list(scope).await.expect("a list"), []);
        }
        expect_empty(&bench).await;
    }
    let mut after = Contender::new(&bench, "b").await;
    for name in Cell::OF_LEADERS {
        assert_eq!(cell(&bench, name).await, None);
    }
    assert!(after.lead().await > token);
    after.resign().await;
}

/// A scratch election with a candidate stays, and an empty one goes as a whole.
pub async fn a_scratch_election_goes_once_it_is_empty(bench: Shared) {
    let store = bench.connect().await;
    let mut leader = Contender::new(&bench, "a").await;
    let token = leader.lead().await;
    leader.write_cell("gone").await.expect("it leads");
    let key: Key = "a".parse().expect("a key");
    fence(store.as_ref(), &election(), &key, token).await.expect("an answer");
    let refusal = store.remove(&election(), Removal::Scratch).await.expect_err("one is in it");
    assert_eq!(refusal.kind(), ErrorKind::Unreachable, "{refusal}");
    expect_led_by(&bench, &["a"]).await;
    leader.resign().await;
    for _ in 0..2 {
        store.remove(&election(), Removal::Scratch).await.expect("it is empty");
        for scope in [Scope::Entered, Scope::Asked, Scope::Kept] {
            assert_eq!(store.list(scope).await.expect("a list"), []);
        }
        assert_eq!(store.keys(&election()).await.expect("a list"), Keys::default());
    }
}

/// A removal deletes fences and values, too. While a candidate is in the election, they stay.
pub async fn forgotten_fences_and_values_are_gone(bench: Shared) {
    let store = bench.connect().await;
    let key: Key = "a".parse().expect("a key");
    let mut leader = Contender::new(&bench, "a").await;
    let token = leader.lead().await;
    fence(store.as_ref(), &election(), &key, token).await.expect("an answer");
    let (cell, leads) = (Cell::Value(&key), If::Leads(token));
    store.write(&election(), cell, b"kept", leads).await.expect("an answer");
    let keys = store.keys(&election()).await.expect("a list");
    assert_eq!(keys, Keys { fences: vec![key.clone()], values: vec![key.clone()] });
    store
        .remove(&election(), Removal::Everything { fences: true })
        .await
        .expect_err("it is not empty");
    let value = store.read(&election(), cell).await.expect("an answer");
    assert_eq!(value.bytes.as_deref(), Some(&b"kept"[..]));
    leader.resign().await;
    // No candidate is in the election, which is still listed because of what it keeps.
    assert_eq!(store.list(Scope::Kept).await.expect("a list"), [election()]);
    store.remove(&election(), Removal::Everything { fences: true }).await.expect("it is empty");
    assert_eq!(store.list(Scope::Kept).await.expect("a list"), []);
    assert_eq!(store.keys(&election()).await.expect("a list"), Keys::default());
    assert_eq!(store.read(&election(), cell).await.expect("an answer").bytes, None);
    let smaller = fence(store.as_ref(), &election(), &key, Token::new(1)).await;
    assert_eq!(smaller.expect("an answer"), Fenced::Passed);
    assert_eq!(store.list(Scope::Entered).await.expect("a list"), []);
}

/// If a removal may not delete fences, an election that has one stays as it is. Without the fence a stale
/// token would pass.
pub async fn an_election_with_a_fence_is_not_forgotten_unless_that_may_go(bench: Shared) {
    let store = bench.connect().await;
    let key: Key = "a".parse().expect("a key");
    let mut leader = Contender::new(&bench, "a").await;
    let token = leader.lead().await;
    leader.write_cell("kept").await.expect("it leads");
    fence(store.as_ref(), &election(), &key, token).await.expect("an answer");
    leader.resign().await;
    let forget = async |fences| store.remove(&election(), Removal::Everything { fences }).await;
    let refusal = forget(false).await.expect_err("it has a fence");
    assert_eq!(refusal.kind(), ErrorKind::Unfit, "{refusal}");
    assert!(refusal.to_string().contains("a fence of a"), "{refusal}");
    assert_eq!(cell(&bench, Cell::Once).await.as_deref(), Some("kept"));
    let smaller = fence(store.as_ref(), &election(), &key, Token::new(0)).await;
    assert_eq!(smaller.expect("an answer"), Fenced::Stale(token));
    forget(true).await.expect("it is empty");
    assert_eq!(store.keys(&election()).await.expect("a list"), Keys::default());
    forget(false).await.expect("it has no fence any more");
}

/// A fence that has let a token pass stays, even if its election is forgotten at the same time.
pub async fn no_fence_is_lost_that_is_set_as_its_election_is_forgotten(bench: Shared) {
    const ROUNDS: u64 = 10;
    const REMOVALS: usize = 50;
    let store = bench.connect().await;
    let mut contender = Contender::new(&bench, "a").await;
    for round in 0..ROUNDS {
        contender.lead().await;
        contender.write_cell("something to forget").await.expect("it leads");
        contender.resign().await;
        let theirs = Shared::clone(&bench);
        let comer = apart(move || async move {
            let store = theirs.connect().await;
            let greatest = patiently(store.as_ref(), 10).await;
            (greatest, patiently(store.as_ref(), 9).await)
        });
        for _ in 0..REMOVALS {
            // The store refuses while the other thread is at work, and once that thread has passed.
            let _ = store.remove(&election(), Removal::Everything { fences: false }).await;
            if comer.is_finished() {
                break;
            }
        }
        let came = comer.join().expect("a comer");
        assert_eq!(came, (Fenced::Passed, Fenced::Stale(Token::new(10))), "round {round}");
        store.remove(&election(), Removal::Everything { fences: true }).await.expect("it is idle");
    }
}

//! What is left of an election that nobody needs any more.

use elect_api::{Cell, ErrorKind, Fenced, If, Key, Keys, Removal, Scope, Token, fence};

use crate::{Contender, Shared, cell, election, expect_led_by, expect_nobody};

/// Whether its candidate leads or waits: neither is disturbed.
pub async fn an_election_that_somebody_is_in_is_not_forgotten(bench: Shared) {
    let mut line = Contender::in_line(&bench, &["a", "b"]).await;
    line[0].write_note("kept").await.expect("it leads");
    let store = bench.connect().await;
    let refusal = store.remove(&election(), Removal::Everything).await.expect_err("two are in it");
    assert_eq!(refusal.kind(), ErrorKind::Unreachable, "{refusal}");
    expect_led_by(&bench, &["a", "b"]).await;
    assert_eq!(line[1].read_note().await.as_deref(), Some("kept"));
    for contender in &mut line {
        contender.lead().await;
        contender.resign().await;
    }
}

/// Nothing of it is listed or read any more, and its tokens rise all the same.
pub async fn a_forgotten_election_is_as_if_nobody_had_entered(bench: Shared) {
    let store = bench.connect().await;
    store.remove(&election(), Removal::Everything).await.expect("nobody ever was in it");
    let mut before = Contender::new(&bench, "a").await;
    let token = before.lead().await;
    before.write_note("gone").await.expect("it leads");
    before.resign_with("gone").await;
    for _ in 0..2 {
        store.remove(&election(), Removal::Everything).await.expect("nobody is in it");
        for scope in [Scope::Entered, Scope::Kept] {
            assert_eq!(store.list(scope).await.expect("a list"), []);
        }
        expect_nobody(&bench).await;
    }
    let mut after = Contender::new(&bench, "b").await;
    for name in Cell::OF_LEADERS {
        assert_eq!(cell(&bench, name).await, None);
    }
    assert!(after.lead().await > token);
    after.resign().await;
}

/// What was recorded and put there goes with it; while somebody is in it, it stays.
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
    store.remove(&election(), Removal::Everything).await.expect_err("somebody is in it");
    let value = store.read(&election(), cell).await.expect("an answer");
    assert_eq!(value.bytes.as_deref(), Some(&b"kept"[..]));
    leader.resign().await;
    // Nobody is in it, and it is known by what it keeps.
    assert_eq!(store.list(Scope::Kept).await.expect("a list"), [election()]);
    store.remove(&election(), Removal::Everything).await.expect("nobody is in it");
    assert_eq!(store.list(Scope::Kept).await.expect("a list"), []);
    assert_eq!(store.keys(&election()).await.expect("a list"), Keys::default());
    assert_eq!(store.read(&election(), cell).await.expect("an answer").bytes, None);
    let smaller = fence(store.as_ref(), &election(), &key, Token::new(1)).await;
    assert_eq!(smaller.expect("an answer"), Fenced::Passed);
    assert_eq!(store.list(Scope::Entered).await.expect("a list"), []);
}

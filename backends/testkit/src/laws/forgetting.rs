//! What is left of an election that nobody needs any more.

use elect_api::{ErrorKind, Fenced, Key, NoteName, Token};

use crate::{Contender, Shared, election, expect_led_by, expect_nobody, note};

/// Whether its candidate leads or waits: neither is disturbed.
pub async fn an_election_that_somebody_is_in_is_not_forgotten(bench: Shared) {
    let mut line = Contender::in_line(&bench, &["a", "b"]).await;
    line[0].write_note("kept").await;
    let store = bench.connect().await;
    let refusal = store.forget(&election()).await.expect_err("two are in it");
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
    store.forget(&election()).await.expect("nobody ever was in it");
    let mut before = Contender::new(&bench, "a").await;
    let token = before.lead().await;
    before.write_note("gone").await;
    before.resign_with("gone").await;
    for _ in 0..2 {
        store.forget(&election()).await.expect("nobody is in it");
        assert_eq!(store.elections().await.expect("a list"), []);
        expect_nobody(&bench).await;
    }
    let mut after = Contender::new(&bench, "b").await;
    for name in NoteName::ALL {
        assert_eq!(note(&bench, name).await, None);
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
    store.fence(&election(), &key, token).await.expect("an answer");
    store.put(&election(), token, &key, b"kept").await.expect("an answer");
    store.forget(&election()).await.expect_err("somebody is in it");
    let value = store.get(&election(), &key).await.expect("an answer");
    assert_eq!(value.as_deref(), Some(&b"kept"[..]));
    leader.resign().await;
    store.forget(&election()).await.expect("nobody is in it");
    assert_eq!(store.get(&election(), &key).await.expect("an answer"), None);
    let smaller = store.fence(&election(), &key, Token::new(1)).await.expect("an answer");
    assert_eq!(smaller, Fenced::Passed);
    assert_eq!(store.elections().await.expect("a list"), []);
}

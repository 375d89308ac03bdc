//! Laws 2 and 4: proofs are idempotent, and a wake is a hint.

use elect_api::{Lease, Order, Standing, Validity};

use crate::contender::in_words;
use crate::{Contender, Shared, election, expect_led_by, line_up, order};

/// A lone candidate wins with its first refresh, for as long as the store's profile promises.
pub async fn a_lone_candidate_leads_at_once(bench: Shared) {
    let mut lone = Contender::new(&bench, "a").await;
    let before = bench.now();
    let Standing::Leading { validity, .. } = lone.refresh().await else {
        panic!("a lone candidate does not lead")
    };
    match (bench.connect().await.profile().lease, validity) {
        (Lease::Unlimited, Validity::Unlimited) => {}
        (Lease::Timed(_), Validity::Window { anchor, window }) => {
            assert!(anchor <= bench.now(), "the validity is anchored in the future");
            assert!(!window.is_zero(), "the lease is over at once; it was asked for at {before:?}");
        }
        (lease, validity) => panic!("a lease that is {lease:?} is valid {validity:?}"),
    }
}

/// As long as a candidate leads, each refresh returns the token that it won with.
pub async fn a_leader_stays_leader_with_the_same_token(bench: Shared) {
    let mut line = Contender::in_line(&bench, &["a", "b"]).await;
    let token = line[0].lead().await;
    for _ in 0..5 {
        assert_eq!(line[0].lead().await, token);
        line[1].wait_behind(1).await;
    }
    expect_led_by(&bench, &["a", "b"]).await;
}

/// A waiter that refreshes again gets no second entry, and keeps its place in the queue.
pub async fn a_waiter_keeps_its_place_however_often_it_asks(bench: Shared) {
    let mut line = Contender::in_line(&bench, &["a", "b", "c"]).await;
    for _ in 0..5 {
        line[2].wait_behind(2).await;
        line[1].wait_behind(1).await;
    }
    expect_led_by(&bench, &["a", "b", "c"]).await;
}

/// A waiter that ignores its wake still leads in turn. A refresh without a wake does no harm.
pub async fn wakes_may_be_dropped_or_ignored(bench: Shared) {
    let mut line = Contender::in_line(&bench, &["a", "b"]).await;
    let kept = line[1].sleep_behind(1).await;
    drop(line[1].sleep_behind(1).await);
    let again = line[1].sleep_behind(1).await;
    line[0].resign().await;
    drop(again);
    kept.await;
    let token = line[1].lead().await;
    assert_eq!(line[1].lead().await, token);
}

/// A leader proves *its own entry*. Without that entry it does not go on leading.
pub async fn a_leader_whose_entry_was_removed_finds_out(bench: Shared) {
    let mut leader = Contender::new(&bench, "a").await;
    let token = leader.lead().await;
    bench.evict(&election(), leader.candidate()).await;
    for _ in 0..2 {
        match leader.refresh().await {
            Standing::Evicted(why) | Standing::Gone(why) => {
                assert!(!why.is_empty(), "no reason is given");
            }
            other => panic!("a leader without an entry {}", in_words(&other)),
        }
    }
    leader.resign().await;
    assert!(leader.lead().await > token, "a leader that joins again has an old token");
}

/// A waiter without its entry enters again behind those that came after it, and does not wait for
/// ever. In a race a waiter has no entry that could be removed.
pub async fn a_waiter_whose_entry_was_removed_enters_anew_at_the_end(bench: Shared) {
    let mut line = Contender::in_line(&bench, &["a", "b", "c"]).await;
    if order(&bench).await == Order::Race {
        assert!(!line_up(&bench).await.shows("b"), "who waits in a race has an entry");
        return;
    }
    bench.evict(&election(), line[1].candidate()).await;
    // Where there are tickets, the first refresh only finds the loss: the guardian has not seen the
    // ticket of a new entry yet.
    for _ in 0..2 {
        let shown = line[1].ticket();
        line[1].wait_behind(2).await;
        let is_in = line_up(&bench).await.shows("b");
        assert!(!is_in || line[1].ticket() == shown, "it entered with an unseen ticket");
    }
    line[2].wait_behind(1).await;
    expect_led_by(&bench, &["a", "c", "b"]).await;
    line[0].resign().await;
    line[2].lead().await;
    line[1].wait_behind(1).await;
}

/// Only a leader's seat has the descriptors that hold the lease.
pub async fn only_a_leader_holds_the_lease(bench: Shared) {
    let mut line = Contender::in_line(&bench, &["a", "b"]).await;
    assert!(line[1].seat().holds().is_empty(), "a waiter holds the lease");
    line[0].resign().await;
    assert!(line[0].seat().holds().is_empty(), "who resigned holds the lease");
}

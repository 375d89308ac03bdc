//! Law 2, idempotent proof, and law 4, a wake is a hint.

use elect_api::{Lease, Order, Standing, Validity};

use crate::contender::in_words;
use crate::{Contender, Shared, election, expect_led_by, line_up, order};

/// Nobody else is there: the first refresh wins, for as long as the store's profile lets expect.
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

/// As long as it leads, each refresh says so with the token that it won with.
pub async fn a_leader_stays_leader_with_the_same_token(bench: Shared) {
    let mut line = Contender::in_line(&bench, &["a", "b"]).await;
    let token = line[0].lead().await;
    for _ in 0..5 {
        assert_eq!(line[0].lead().await, token);
        line[1].wait_behind(1).await;
    }
    expect_led_by(&bench, &["a", "b"]).await;
}

/// Asking again is neither a second entry nor a step in the queue.
pub async fn a_waiter_keeps_its_place_however_often_it_asks(bench: Shared) {
    let mut line = Contender::in_line(&bench, &["a", "b", "c"]).await;
    for _ in 0..5 {
        line[2].wait_behind(2).await;
        line[1].wait_behind(1).await;
    }
    expect_led_by(&bench, &["a", "b", "c"]).await;
}

/// Who does not listen to a wake still leads in turn, and who asks unasked breaks nothing.
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

/// A leader proves *its own entry*: without it, it cannot go on as if nothing were.
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

/// It neither waits for ever nor gets its old place back before those who came after it. In a race
/// there is no entry of a waiter to be removed.
pub async fn a_waiter_whose_entry_was_removed_enters_anew_at_the_end(bench: Shared) {
    let mut line = Contender::in_line(&bench, &["a", "b", "c"]).await;
    if order(&bench).await == Order::Race {
        assert!(!line_up(&bench).await.shows("b"), "who waits in a race has an entry");
        return;
    }
    bench.evict(&election(), line[1].candidate()).await;
    // Where there are tickets the first refresh only finds out: nobody has seen the new entry's yet.
    for _ in 0..2 {
        let shown = line[1].ticket();
        line[1].wait_behind(2).await;
        let is_in = line_up(&bench).await.shows("b");
        assert!(!is_in || line[1].ticket() == shown, "it entered with a ticket nobody had seen");
    }
    line[2].wait_behind(1).await;
    expect_led_by(&bench, &["a", "c", "b"]).await;
    line[0].resign().await;
    line[2].lead().await;
    line[1].wait_behind(1).await;
}

/// The descriptors that hold the lease are those of a leader only.
pub async fn only_a_leader_holds_the_lease(bench: Shared) {
    let mut line = Contender::in_line(&bench, &["a", "b"]).await;
    assert!(line[1].seat().holds().is_empty(), "a waiter holds the lease");
    line[0].resign().await;
    assert!(line[0].seat().holds().is_empty(), "who resigned holds the lease");
}

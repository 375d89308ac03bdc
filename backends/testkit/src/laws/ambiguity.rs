//! Law 3: a call that was cut short counts as neither done nor undone until the next refresh has
//! looked.

use crate::{Contender, Shared, election, expect_empty, expect_led_by, poll_n, poll_n_eagerly};

/// More await points than a call of any store has.
const CUTS: usize = 12;

/// Wherever a newcomer's refresh was dropped, the next refresh leaves it with one entry that works.
pub async fn a_refresh_cut_anywhere_leaves_one_entry(bench: Shared) {
    for cut in 1..=CUTS {
        let mut leader = Contender::new(&bench, "a").await;
        leader.refresh_cut(cut).await;
        leader.wait_until_leading().await;
        let mut waiter = Contender::new(&bench, "b").await;
        waiter.refresh_cut(cut).await;
        waiter.wait_behind(1).await;
        expect_led_by(&bench, &["a", "b"]).await;
        leader.resign().await;
        waiter.lead().await;
        waiter.resign().await;
        expect_empty(&bench).await;
    }
}

/// A candidate that resigns after a dropped refresh leaves no entry, whether it knew of the entry
/// or not.
pub async fn a_resign_after_a_cut_refresh_leaves_nothing(bench: Shared) {
    for cut in 1..=CUTS {
        let mut impatient = Contender::new(&bench, "a").await;
        impatient.refresh_cut(cut).await;
        impatient.resign().await;
        let mut next = Contender::new(&bench, "b").await;
        next.lead().await;
        let mut waiter = Contender::new(&bench, "c").await;
        waiter.refresh_cut(cut).await;
        waiter.resign().await;
        expect_led_by(&bench, &["b"]).await;
        next.resign().await;
        expect_empty(&bench).await;
    }
}

/// The attempt ran out of time while the store was silent. The store answers all its requests
/// later.
pub async fn a_refresh_dropped_while_the_store_stalls_leaves_one_entry(bench: Shared) {
    let mut leader = Contender::new(&bench, "a").await;
    leader.lead().await;
    let mut waiter = Contender::new(&bench, "b").await;
    let stall = bench.stall(&election()).await;
    for polls in [1, 10, 100, 1000] {
        let now = bench.now();
        let standing = poll_n_eagerly(polls, waiter.seat().refresh(now)).await;
        assert!(!matches!(standing, Some(Ok(_))), "a store that is silent has let a newcomer in");
    }
    drop(stall);
    waiter.wait_behind(1).await;
    expect_led_by(&bench, &["a", "b"]).await;
    leader.resign().await;
    waiter.lead().await;
}

/// Requests that a dead candidate left under way create no lasting entry and no lasting lock.
pub async fn a_candidate_that_dies_in_a_stalled_refresh_blocks_no_other(bench: Shared) {
    let mut doomed = Contender::new(&bench, "a").await;
    let stall = bench.stall(&election()).await;
    let now = bench.now();
    drop(poll_n_eagerly(100, doomed.seat().refresh(now)).await);
    doomed.crash().await;
    drop(stall);
    let mut next = Contender::new(&bench, "b").await;
    next.wait_until_leading().await;
    expect_led_by(&bench, &["b"]).await;
}

/// A renewal that was dropped costs a leader nothing.
pub async fn a_leaders_refresh_cut_anywhere_keeps_the_lease(bench: Shared) {
    let mut line = Contender::in_line(&bench, &["a", "b"]).await;
    let token = line[0].lead().await;
    for cut in 1..=CUTS {
        line[0].refresh_cut(cut).await;
        assert_eq!(line[0].lead().await, token, "cut after {cut} polls");
        line[1].wait_behind(1).await;
    }
}

/// Wherever a resign was dropped, a second one is enough.
pub async fn a_resign_cut_anywhere_may_be_repeated(bench: Shared) {
    for cut in 1..=CUTS {
        let mut line = Contender::in_line(&bench, &["a", "b"]).await;
        drop(poll_n(cut, line[0].seat().resign(None)).await);
        line[0].resign().await;
        line[1].lead().await;
        expect_led_by(&bench, &["b"]).await;
        drop(poll_n(cut, line[1].seat().resign(None)).await);
        line[1].resign().await;
        expect_empty(&bench).await;
    }
}

//! Law 7: a resign takes effect at once, and affects only its own entry.

use elect_api::Order;

use crate::{Contender, Shared, election, expect_empty, expect_led_by, line_up, order};

/// The next candidate leads with its very next refresh, whether it has waited or is new.
pub async fn the_next_leads_at_once_after_a_resign(bench: Shared) {
    let mut line = Contender::in_line(&bench, &["a", "b"]).await;
    line[0].resign().await;
    line[1].lead().await;
    line[1].resign().await;
    Contender::new(&bench, "c").await.lead().await;
}

/// A waiter that resigns disappears from the survey, and the candidates behind it move up.
pub async fn a_waiter_that_resigns_leaves_no_entry(bench: Shared) {
    let mut line = Contender::in_line(&bench, &["a", "b", "c"]).await;
    line[1].resign().await;
    expect_led_by(&bench, &["a", "c"]).await;
    line[2].wait_behind(1).await;
    line[2].resign().await;
    line[0].resign().await;
    expect_empty(&bench).await;
}

/// A resign never removes another candidate's entry, even if the election has changed a lot since
/// the last refresh.
pub async fn resigning_removes_no_other_candidates_entry(bench: Shared) {
    let mut old = Contender::new(&bench, "old").await;
    old.lead().await;
    bench.evict(&election(), old.candidate()).await;
    // Where a store reuses numbers or names, the next candidate may well get those of `old`.
    let mut young = Contender::new(&bench, "young").await;
    young.refresh().await;
    old.resign().await;
    let left = line_up(&bench).await;
    assert!(left.shows("young"), "the entry of another was removed: {left:?}");
    young.wait_until_leading().await;
    old.resign().await;
    expect_led_by(&bench, &["young"]).await;
    young.lead().await;
}

/// A resign without an entry succeeds and changes nothing.
pub async fn resigning_twice_or_before_entering_does_no_harm(bench: Shared) {
    let mut early = Contender::new(&bench, "early").await;
    early.resign().await;
    early.resign().await;
    let mut line = Contender::in_line(&bench, &["a", "b", "c"]).await;
    line[1].resign().await;
    line[1].resign().await;
    line[0].resign().await;
    line[0].resign().await;
    let token = line[2].lead().await;
    line[0].resign().await;
    early.resign().await;
    assert_eq!(line[2].lead().await, token);
    expect_led_by(&bench, &["c"]).await;
}

/// A seat may be used again after a resign. It gets the last place in a queue, and any place in a
/// race.
pub async fn a_candidate_that_resigned_returns_as_a_newcomer(bench: Shared) {
    let mut line = Contender::in_line(&bench, &["a", "b", "c"]).await;
    line[0].resign().await;
    if order(&bench).await == Order::Race {
        line[1].lead().await;
        line[0].wait_behind(1).await;
        line[1].resign().await;
        line[0].lead().await;
        return expect_led_by(&bench, &["a"]).await;
    }
    line[0].wait_behind(2).await;
    line[1].lead().await;
    expect_led_by(&bench, &["b", "c", "a"]).await;
    line[2].resign().await;
    line[2].wait_behind(2).await;
    expect_led_by(&bench, &["b", "a", "c"]).await;
}

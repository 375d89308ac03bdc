//! A program that drops its waiting future has left the queue.

use std::time::Duration;

use elect_testkit::program::eventually;
use tokio::time::timeout;

use super::{block_on, campaign};
use crate::cli::see::{Arena, Ground, on_each_cluster, on_each_store};

on_each_store! {
    a_cancelled_candidate_leaves_the_queue
    a_candidate_cancelled_in_the_instant_of_a_win_does_not_lead
}

fn no_candidate_waits(arena: &Arena) -> bool {
    arena.status()["waiting"].as_array().is_some_and(Vec::is_empty)
}

fn a_cancelled_candidate_leaves_the_queue(arena: &Arena) {
    let [one, two, three] = ["one", "two", "three"].map(|label| campaign(&arena.url(), label));
    block_on(async {
        let leadership = one.lead().await.expect("leadership");
        let mut waiting = Box::pin(two.lead());
        assert!(timeout(Duration::ZERO, &mut waiting).await.is_err());
        arena.wait_for_waiter("two");
        drop(waiting);
        eventually("two to leave", || no_candidate_waits(arena).then_some(()));
        assert!(leadership.validity().is_valid());
        leadership.resign().await.expect("a resign");
        assert!(three.try_lead().await.expect("an answer").is_some());
    });
}

/// Patience ends before, while and after leadership is won; what is won in time is dropped at once.
fn a_candidate_cancelled_in_the_instant_of_a_win_does_not_lead(arena: &Arena) {
    let campaign = campaign(&arena.url(), "hasty");
    block_on(async {
        for millis in 0..20 {
            let _ = timeout(Duration::from_millis(millis), campaign.lead()).await;
        }
    });
    eventually("the election to be empty", || {
        (no_candidate_waits(arena) && arena.status()["leader"].is_null()).then_some(())
    });
    assert!(block_on(campaign.try_lead()).expect("an answer").is_some());
}

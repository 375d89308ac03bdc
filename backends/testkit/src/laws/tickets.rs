//! Law 7, for tickets: one that is redeemed in time frees the place at once, and a late one harms no
//! candidate.
//!
//! Where a seat has no ticket, the death of its process must have the same effect.

use elect_api::{Order, Removal, Standing, Ticket};

use crate::contender::in_words;
use crate::{Contender, Shared, election, expect_empty, expect_led_by, order};

/// Redeems `ticket` from another process.
async fn redeem(bench: &Shared, ticket: &Ticket) {
    bench
        .connect()
        .await
        .remove(&election(), Removal::Crashed(ticket))
        .await
        .expect("a redeemed ticket");
}

/// Frees the place of a candidate by its ticket, or by a crash if it has none. After a ticket the
/// candidate still runs, and is returned.
async fn give_up(bench: &Shared, contender: Contender) -> Option<Contender> {
    if let Some(ticket) = contender.ticket() {
        redeem(bench, &ticket).await;
        return Some(contender);
    }
    contender.crash().await;
    None
}

/// The next candidate leads with its next refresh. A leader that was only stopped finds out, and does
/// not lead again under the old token.
pub async fn a_ticket_frees_a_leaders_place_at_once(bench: Shared) {
    let mut line = Contender::in_line(&bench, &["a", "b"]).await;
    let old = line[0].lead().await;
    let wake = line[1].sleep_behind(1).await;
    let stopped = give_up(&bench, line.remove(0)).await;
    wake.await;
    let token = line[0].lead().await;
    assert!(token > old);
    if let Some(mut stopped) = stopped {
        for _ in 0..2 {
            match stopped.refresh().await {
                Standing::Gone(_) => {}
                other => panic!("a leader whose ticket was redeemed {}", in_words(&other)),
            }
        }
        stopped.resign().await;
        stopped.wait_behind(1).await;
    }
    assert_eq!(line[0].lead().await, token);
}

/// Other candidates no longer wait behind a waiter whose ticket was redeemed. If that waiter was only
/// stopped, it comes back at the end.
pub async fn a_ticket_frees_a_waiters_place_at_once(bench: Shared) {
    let mut line = Contender::in_line(&bench, &["a", "b", "c"]).await;
    let token = line[0].lead().await;
    let stopped = give_up(&bench, line.remove(1)).await;
    expect_led_by(&bench, &["a", "c"]).await;
    assert_eq!(line[0].lead().await, token);
    if let Some(mut stopped) = stopped {
        stopped.refresh().await;
        stopped.wait_behind(2).await;
        expect_led_by(&bench, &["a", "c", "b"]).await;
    }
    line[0].resign().await;
    line[1].lead().await;
}

/// Every entry has a ticket of its own. Its seat shows the ticket before the entry exists and as long
/// as it does. Showing it does not create the entry.
pub async fn a_ticket_is_there_before_its_entry_and_for_that_one_only(bench: Shared) {
    let mut contender = Contender::new(&bench, "a").await;
    expect_empty(&bench).await;
    let mut seen = Vec::new();
    for _ in 0..3 {
        let before = contender.ticket();
        let token = contender.lead().await;
        assert_eq!(contender.ticket(), before, "an entry has another ticket than was shown");
        assert_eq!(contender.lead().await, token);
        assert_eq!(contender.ticket(), before, "the ticket of an entry has changed");
        contender.resign().await;
        if let Some(ticket) = before {
            assert!(!seen.contains(&ticket), "two entries have one ticket");
            seen.push(ticket);
        }
    }
    let same = [Contender::new(&bench, "b").await, Contender::new(&bench, "b").await];
    assert!(
        same[0].ticket().is_none() || same[0].ticket() != same[1].ticket(),
        "two seats have one ticket"
    );
}

/// A ticket that is redeemed before its entry exists harms no other candidate, and stops its own seat
/// for one attempt at most.
pub async fn a_ticket_redeemed_early_harms_no_other_candidate(bench: Shared) {
    let mut line = Contender::in_line(&bench, &["a", "b"]).await;
    let token = line[0].lead().await;
    let mut newcomer = Contender::new(&bench, "c").await;
    if let Some(ticket) = newcomer.ticket() {
        redeem(&bench, &ticket).await;
        redeem(&bench, &ticket).await;
    }
    assert_eq!(line[0].lead().await, token);
    line[1].wait_behind(1).await;
    expect_led_by(&bench, &["a", "b"]).await;
    if newcomer.try_refresh().await.is_err() {
        newcomer.refresh().await;
    }
    newcomer.wait_behind(2).await;
    expect_led_by(&bench, &["a", "b", "c"]).await;
}

/// A ticket that is redeemed late or twice leaves the current entry alone, whether another seat has it
/// or the same one.
pub async fn a_late_ticket_removes_no_candidate(bench: Shared) {
    let mut old = Contender::new(&bench, "a").await;
    old.lead().await;
    let Some(late) = old.ticket() else {
        // Without a ticket there is only the process, and that dies once.
        old.resign().await;
        let mut next = Contender::new(&bench, "b").await;
        let token = next.lead().await;
        old.crash().await;
        assert_eq!(next.lead().await, token);
        return expect_led_by(&bench, &["b"]).await;
    };
    redeem(&bench, &late).await;
    let mut next = Contender::new(&bench, "b").await;
    let token = next.lead().await;
    redeem(&bench, &late).await;
    assert_eq!(next.lead().await, token);
    old.resign().await;
    old.wait_behind(1).await;
    redeem(&bench, &late).await;
    expect_led_by(&bench, &["b", "a"]).await;
    next.resign().await;
    let token = old.lead().await;
    redeem(&bench, &late).await;
    assert_eq!(old.lead().await, token, "a late ticket has removed a later entry of its seat");
    expect_led_by(&bench, &["a"]).await;
}

/// A candidate dies with its request under way. Its ticket, or its process's death, removes that entry
/// too.
pub async fn a_ticket_catches_an_entry_that_is_being_made(bench: Shared) {
    for cut in 1..=8 {
        let mut doomed = Contender::new(&bench, "doomed").await;
        doomed.refresh_cut(cut).await;
        drop(give_up(&bench, doomed).await);
        let mut next = Contender::new(&bench, "next").await;
        next.wait_until_leading().await;
        expect_led_by(&bench, &["next"]).await;
        if order(&bench).await == Order::Queue {
            let mut waiter = Contender::new(&bench, "waiter").await;
            waiter.refresh_cut(cut).await;
            drop(give_up(&bench, waiter).await);
            Contender::new(&bench, "last").await.wait_behind(1).await;
        }
        next.resign().await;
        bench.wipe(&election()).await;
    }
}

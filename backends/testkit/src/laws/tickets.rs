//! Law 7, of tickets: redeemed in time they free the place at once, and late they harm nobody.
//!
//! Where a seat has no ticket, its process's death is to do the same by itself.

use elect_api::{Order, Removal, Standing, Ticket};

use crate::contender::in_words;
use crate::{Contender, Shared, election, expect_led_by, expect_nobody, order};

/// Another process gives up what `ticket` stands for.
async fn redeem(bench: &Shared, ticket: &Ticket) {
    bench
        .connect()
        .await
        .remove(&election(), Removal::Crashed(ticket))
        .await
        .expect("a redeemed ticket");
}

/// Gives up the place of one that is dead, or that only seems to be: then it is returned.
async fn give_up(bench: &Shared, contender: Contender) -> Option<Contender> {
    if let Some(ticket) = contender.ticket() {
        redeem(bench, &ticket).await;
        return Some(contender);
    }
    contender.crash().await;
    None
}

/// The next leads with its next refresh. Who was only stopped finds itself out, and has no second life
/// under the old token.
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

/// Nobody waits for it any more, and if it was only stopped it comes back at the end.
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

/// Every entry has one of its own, which its seat shows before there is an entry and for as long as
/// there is one. Entering is what it allows, not what it does.
pub async fn a_ticket_is_there_before_its_entry_and_for_that_one_only(bench: Shared) {
    let mut contender = Contender::new(&bench, "a").await;
    expect_nobody(&bench).await;
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

/// Redeemed before the entry exists, it harms nobody: not others, and not for long its own seat.
pub async fn a_ticket_redeemed_early_harms_nobody(bench: Shared) {
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

/// Late or twice, whoever has the place now keeps it: another, or the same seat with a new entry.
pub async fn a_late_ticket_removes_nobody(bench: Shared) {
    let mut old = Contender::new(&bench, "a").await;
    old.lead().await;
    let Some(late) = old.ticket() else {
        // What there is of it is a process, and that dies once.
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

/// Killed with its request on the way: the ticket catches that entry too, or its process's death does.
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

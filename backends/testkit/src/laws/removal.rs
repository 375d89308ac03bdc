//! Law 13: a removal hits exactly one entry. It has no effect where an entry lasts as long as its holder lives.

use elect_api::{Ending, ErrorKind, Removal, Standing, Store, Token};

use super::examination::examine;
use crate::contender::in_words;
use crate::{Contender, Shared, election, expect_empty, expect_led_by, line_up, poll_n};

/// More await points than a call of any store has.
const CUTS: usize = 12;

/// Returns how the leader's entry ends, if it has this token.
async fn ending(store: &dyn Store, token: Token) -> Option<Ending> {
    let leader = store.survey(&election()).await.expect("a survey").leader;
    leader.filter(|leader| leader.token == token).map(|leader| leader.ending.expect("an ending"))
}

/// Removes the leader's entry with this token, and returns whether the store did so.
async fn remove(store: &dyn Store, token: Token) -> bool {
    match store.remove(&election(), Removal::Leader { token, mark: None }).await {
        Ok(()) => true,
        Err(refusal) => {
            assert_eq!(refusal.kind(), ErrorKind::Unfit, "{refusal}");
            false
        }
    }
}

/// After a removal the next candidate leads with its next refresh. The removed leader finds out, and does not
/// lead again under the old token.
pub async fn a_removed_leader_is_out_and_the_next_leads(bench: Shared) {
    let mut line = Contender::in_line(&bench, &["a", "b"]).await;
    let store = bench.connect().await;
    let token = line[0].lead().await;
    let is_its_process = ending(&*store, token).await == Some(Ending::WithItsProcess);
    if !remove(&*store, token).await {
        assert!(is_its_process, "an entry that ends otherwise cannot be removed");
        assert_eq!(line[0].lead().await, token);
        line[1].wait_behind(1).await;
        return expect_led_by(&bench, &["a", "b"]).await;
    }
    assert!(!is_its_process, "an entry was taken from a process that holds it");
    assert_eq!(ending(&*store, token).await, None);
    let next = line[1].lead().await;
    assert!(next > token);
    for _ in 0..2 {
        match line[0].refresh().await {
            Standing::Gone(_) => {}
            other => panic!("a leader whose entry was removed {}", in_words(&other)),
        }
    }
    line[0].resign().await;
    line[0].wait_behind(1).await;
    assert_eq!(line[1].lead().await, next);
}

/// A removal that comes late, twice, or with an unknown token removes no entry.
pub async fn a_late_removal_removes_no_candidate(bench: Shared) {
    let mut line = Contender::in_line(&bench, &["a", "b", "c"]).await;
    let store = bench.connect().await;
    let old = line[0].lead().await;
    line[0].resign().await;
    let token = line[1].lead().await;
    for other in [0, old.get(), token.get() + 1_000_000, u64::MAX] {
        let other = Token::new(other);
        remove(&*store, other).await;
        assert_eq!(ending(&*store, other).await, None);
        assert_eq!(line[1].lead().await, token);
        line[2].wait_behind(1).await;
    }
    expect_led_by(&bench, &["b", "c"]).await;
    line[1].resign().await;
    line[2].lead().await;
    line[2].resign().await;
    remove(&*store, token).await;
    expect_empty(&bench).await;
}

/// A removal that is cut anywhere and repeated removes only the one entry.
pub async fn a_removal_cut_anywhere_may_be_repeated(bench: Shared) {
    for cut in 1..=CUTS {
        let mut line = Contender::in_line(&bench, &["a", "b"]).await;
        let store = bench.connect().await;
        let token = line[0].lead().await;
        drop(poll_n(cut, store.remove(&election(), Removal::Leader { token, mark: None })).await);
        let next = if remove(&*bench.connect().await, token).await {
            assert!(!line_up(&bench).await.shows("a"), "cut after {cut} polls");
            line[1].wait_until_leading().await
        } else {
            line[0].lead().await
        };
        assert!(next >= token);
        for contender in line.iter_mut().rev() {
            contender.resign().await;
        }
    }
}

/// An entry that is not renewed is gone, or passed by, at the time that the store announced.
pub async fn an_entry_is_over_when_the_store_has_said(bench: Shared) {
    let mut line = Contender::in_line(&bench, &["a", "b"]).await;
    let store = bench.connect().await;
    let token = line[0].lead().await;
    let span = match ending(&*store, token).await.expect("an entry") {
        Ending::Within(span) => span,
        Ending::Granted => examine(&bench, &*store).await.longest_ending.expect("a span"),
        Ending::Judged { within, mark, renewed } => {
            let here = ending(&*store, token).await;
            assert_eq!(here, Some(Ending::Judged { within, mark, renewed }), "it was not renewed");
            line[0].lead().await;
            let later = ending(&*store, token).await.expect("an entry");
            assert!(
                matches!(later, Ending::Judged { mark: new, .. } if new != mark),
                "it was renewed"
            );
            within
        }
        Ending::WithItsProcess => {
            line.remove(0).crash().await;
            assert_eq!(ending(&*store, token).await, None);
            line[0].lead().await;
            return;
        }
        Ending::Never => panic!("the entry of a candidate has no end"),
    };
    // Where candidates judge the lease, they begin to count at their second refresh.
    for _ in 0..16 {
        bench.advance(span / 12).await;
        match line[1].refresh().await {
            Standing::Leading { token: next, .. } => {
                assert!(next > token);
                return;
            }
            Standing::Waiting { .. } => {}
            other => panic!("a waiter {}", in_words(&other)),
        }
    }
    panic!("an entry that is not renewed is there longer than {span:?}");
}

//! Two candidates never lead at once: campaigns in one process, and commands of `elect run` beside them.

use elect::Campaign;

use super::{block_on, campaign};
use crate::cli::see::{Arena, Ground, on_each_cluster, on_each_store};
use crate::prelude::*;

on_each_store! {
    campaigns_and_commands_take_turns
    the_next_one_leads_as_soon_as_a_resign_has_returned
}

const TURNS: usize = 4;

/// A leader's own record of its term.
#[derive(Debug)]
struct Term {
    token: u64,
    begin: Boottime,
    end: Boottime,
}

/// Two campaigns in this process, and commands of `elect run` beside them.
fn campaigns_and_commands_take_turns(arena: &Arena) {
    let (oracle, terms, url) = (Oracle::new(), Mutex::new(Vec::new()), arena.url());
    thread::scope(|scope| {
        for label in ["one", "two"] {
            let campaign = campaign(&url, label);
            let terms = &terms;
            scope.spawn(move || {
                for _ in 0..TURNS {
                    let term = block_on(lead_once(&campaign));
                    terms.lock().expect("no panic").push(term);
                }
            });
        }
        for turn in 0..TURNS {
            let brief = oracle.stamper(&format!("run {turn}")).lasting(Duration::from_millis(20));
            let run = arena.elect("run").args(["-e", "job", "--"]).args(brief.command());
            run.run().exits(0);
        }
    });
    let mut terms = terms.into_inner().expect("no panic");
    let runs = oracle.assert_sound().into_iter();
    terms.extend(runs.map(|run| Term { token: run.token, begin: run.first, end: run.last }));
    terms.sort_by_key(|term| term.begin);
    assert_eq!(terms.len(), 3 * TURNS, "{terms:?}");
    for pair in terms.windows(2) {
        assert!(pair[0].end <= pair[1].begin && pair[0].token < pair[1].token, "{pair:?}");
    }
}

async fn lead_once(campaign: &Campaign) -> Term {
    let leadership = campaign.lead().await.expect("leadership");
    let (validity, begin) = (leadership.validity(), now());
    for _ in 0..20 {
        assert!(validity.is_valid());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let (token, end) = (leadership.token(), now());
    leadership.resign().await.expect("a resign");
    Term { token, begin, end }
}

fn the_next_one_leads_as_soon_as_a_resign_has_returned(arena: &Arena) {
    let (one, two) = (campaign(&arena.url(), "one"), campaign(&arena.url(), "two"));
    block_on(async {
        let leadership = one.lead().await.expect("leadership");
        let (token, validity) = (leadership.token(), leadership.validity());
        assert_eq!(arena.status()["leader"]["id"], leadership.id());
        assert!(leadership.id().starts_with("one-"));
        assert!(two.try_lead().await.expect("an answer").is_none());
        assert!(validity.is_valid() && !validity.remaining().is_zero());
        leadership.resign().await.expect("a resign");
        assert!(!validity.is_valid() && validity.remaining().is_zero());
        let next = two.try_lead().await.expect("an answer").expect("no other candidate leads");
        assert!(next.token() > token);
        let validity = next.validity();
        drop(next);
        let why = validity.lost().await;
        assert!(why.contains("its program has resigned") && !validity.is_valid(), "{why}");
        one.lead().await.expect("leadership").resign().await.expect("a resign");
    });
}

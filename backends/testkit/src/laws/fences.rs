//! Law 14: a fence refuses every token that is smaller than the greatest so far.

use elect_api::{ElectionName, Fenced, Key, Scope, Store, Token, fence};

use crate::{Contender, Shared, apart, election, expect_empty, expect_led_by, poll_n};

/// More await points than a call of any store has.
const CUTS: usize = 12;

fn resource(name: &str) -> Key {
    name.parse().expect("a good name")
}

async fn come(store: &dyn Store, token: u64) -> Fenced {
    let outcome = fence(store, &election(), &resource("disk"), Token::new(token)).await;
    outcome.unwrap_or_else(|error| panic!("{token} cannot come: {error}: {error:?}"))
}

fn stale(greatest: u64) -> Fenced {
    Fenced::Stale(Token::new(greatest))
}

/// The greatest token so far passes, even again. A smaller one is refused, whatever connection it comes over. The
/// election needs no candidate.
pub async fn a_fence_refuses_smaller_tokens(bench: Shared) {
    let (one, other) = (bench.connect().await, bench.connect().await);
    for (token, outcome) in [
        (5, Fenced::Passed),
        (5, Fenced::Passed),
        (4, stale(5)),
        (0, stale(5)),
        (17, Fenced::Passed),
        (5, stale(17)),
        (17, Fenced::Passed),
        (u64::MAX, Fenced::Passed),
        (17, stale(u64::MAX)),
    ] {
        assert_eq!(come(one.as_ref(), token).await, outcome, "of {token}");
        if outcome == Fenced::Passed && token > 0 {
            assert_eq!(come(other.as_ref(), token - 1).await, stale(token), "after {token}");
        }
    }
    assert_eq!(one.list(Scope::Entered).await.expect("a list"), []);
    expect_empty(&bench).await;
}

/// Once a token has passed, all smaller ones are refused, whatever other clients do at the same time.
pub async fn fences_at_the_same_time_refuse_smaller_tokens(bench: Shared) {
    const COMERS: u64 = 4;
    const TURNS: u64 = 6;
    let mut threads = Vec::new();
    for comer in 0..COMERS {
        let bench = Shared::clone(&bench);
        threads.push(apart(move || async move {
            let store = bench.connect().await;
            for turn in 0..TURNS {
                let token = 10 + turn * COMERS + comer;
                let greatest = match patiently(store.as_ref(), token).await {
                    Fenced::Passed => token,
                    Fenced::Stale(greatest) => greatest.get(),
                };
                assert!(greatest >= token, "{token} was refused for {greatest}");
                match patiently(store.as_ref(), greatest - 1).await {
                    Fenced::Stale(now) => assert!(now.get() >= greatest, "{now} after {greatest}"),
                    Fenced::Passed => panic!("{} came after {greatest}", greatest - 1),
                }
            }
        }));
    }
    for thread in threads {
        thread.join().expect("a comer");
    }
    let last = 9 + COMERS * TURNS;
    assert_eq!(come(bench.connect().await.as_ref(), last - 1).await, stale(last));
}

/// Asks again while a busy store gives no answer.
pub(super) async fn patiently(store: &dyn Store, token: u64) -> Fenced {
    loop {
        match fence(store, &election(), &resource("disk"), Token::new(token)).await {
            Ok(outcome) => return outcome,
            Err(error) => assert!(!error.is_permanent(), "{error:?}"),
        }
    }
}

/// A fence blocks no candidate, is no entry, and stays when all candidates are gone.
pub async fn a_fence_is_no_entry_and_outlasts_all(bench: Shared) {
    let store = bench.connect().await;
    let mut line = Contender::in_line(&bench, &["a", "b"]).await;
    let token = line[0].lead().await.get();
    assert_eq!(come(store.as_ref(), token).await, Fenced::Passed);
    expect_led_by(&bench, &["a", "b"]).await;
    assert_eq!(line[1].read_cell().await, None);
    line.remove(0).crash().await;
    let next = line[0].wait_until_leading().await.get();
    // Until the new leader's token has passed, the old one may.
    assert_eq!(come(store.as_ref(), token).await, Fenced::Passed);
    assert_eq!(come(store.as_ref(), next).await, Fenced::Passed);
    assert_eq!(come(store.as_ref(), token).await, stale(next));
    line[0].resign().await;
    expect_empty(&bench).await;
    let names = store.list(Scope::Entered).await.expect("a list");
    assert!(names.iter().all(|name| *name == election()), "{names:?}");
    assert_eq!(come(bench.connect().await.as_ref(), token).await, stale(next));
}

/// Elections and resources with a common prefix in their names have separate fences.
pub async fn each_resource_of_each_election_has_its_own_fence(bench: Shared) {
    let store = bench.connect().await;
    let elections = ["job", "job.b"].map(|name| name.parse::<ElectionName>().expect("a name"));
    let resources = ["disk", "disk.new", "disk=", "d", "7"].map(resource);
    let mut token = 100;
    for election in &elections {
        for resource in &resources {
            // If another fence's token were recorded here, this one would be refused.
            token -= 1;
            let outcome = fence(store.as_ref(), election, resource, Token::new(token)).await;
            assert_eq!(outcome.expect("an answer"), Fenced::Passed, "{election} {resource}");
        }
    }
    let again = fence(store.as_ref(), &elections[0], &resources[0], Token::new(98)).await;
    assert_eq!(again.expect("an answer"), stale(99));
}

/// Wherever a call was dropped, the next attempt records its token. Once a greater token is recorded, the dropped
/// one never appears.
pub async fn a_fence_cut_anywhere_may_be_passed_again(bench: Shared) {
    let mut token = 10;
    for cut in 1..=CUTS {
        for again in [0, 1] {
            let store = bench.connect().await;
            let (election, disk) = (election(), resource("disk"));
            let lost = fence(store.as_ref(), &election, &disk, Token::new(token));
            drop(poll_n(cut, lost).await);
            let next = token + again;
            assert_eq!(come(store.as_ref(), next).await, Fenced::Passed, "{next}, cut at {cut}");
            assert_eq!(come(store.as_ref(), next - 1).await, stale(next), "cut at {cut}");
            token += 2;
        }
    }
}

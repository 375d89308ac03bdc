//! Law 8: where leases end by time, a lease ends not before its time, and for good.
//!
//! Where leases have no limit, each function proves that none ends with time.

use std::time::Duration;

use elect_api::{Boottime, Lease, Standing, Token, Validity};

use crate::contender::in_words;
use crate::{Contender, Shared, election, expect_led_by, line_up};

async fn is_timed(bench: &Shared) -> bool {
    matches!(bench.connect().await.profile().lease, Lease::Timed(_))
}

/// Lets a sixth of the TTL pass: the longest time that the engine leaves between two refreshes.
async fn a_while(bench: &Shared) {
    bench.advance(bench.ttl() / 6).await;
}

/// Refreshes the leader, and returns until when no other candidate can lead. `None` means for ever.
async fn safe_until(leader: &mut Contender) -> Option<Boottime> {
    match leader.refresh().await {
        Standing::Leading { validity: Validity::Window { anchor, window }, .. } => {
            Some(anchor + window)
        }
        Standing::Leading { validity: Validity::Unlimited, .. } => None,
        other => panic!("{} was to lead but {}", leader.candidate().id, in_words(&other)),
    }
}

/// Refreshes the waiter again and again, as the engine does, until it leads. It must not lead before `safe_until`.
async fn outlast(bench: &Shared, waiter: &mut Contender, safe_until: Option<Boottime>) -> Token {
    // Where candidates judge the lease, they begin to count at their second refresh.
    for _ in 0..24 {
        a_while(bench).await;
        match waiter.refresh().await {
            Standing::Leading { token, .. } => {
                let early = safe_until.is_none_or(|end| bench.now() < end);
                assert!(!early, "leads while the other's lease ran");
                return token;
            }
            Standing::Waiting { .. } => {}
            other => panic!("a waiter {}", in_words(&other)),
        }
    }
    panic!("a lease that is not renewed is not over after four times its length");
}

/// The next candidate leads after the lease, with a greater token and not too soon. Leases without limit stay.
pub async fn a_lease_that_is_not_renewed_ends_after_its_ttl(bench: Shared) {
    let mut line = Contender::in_line(&bench, &["a", "b"]).await;
    let old = line[0].lead().await;
    let end = safe_until(&mut line[0]).await;
    if is_timed(&bench).await {
        assert!(outlast(&bench, &mut line[1], end).await > old);
        expect_led_by(&bench, &["b"]).await;
    } else {
        bench.advance(bench.ttl() * 4).await;
        line[1].wait_behind(1).await;
        assert_eq!(line[0].lead().await, old);
    }
}

/// A lease that is renewed does not end, however long it lasts.
pub async fn a_lease_that_is_renewed_is_not_over(bench: Shared) {
    let mut line = Contender::in_line(&bench, &["a", "b"]).await;
    let token = line[0].lead().await;
    for _ in 0..14 {
        a_while(&bench).await;
        assert_eq!(line[0].lead().await, token);
        line[1].wait_behind(1).await;
    }
    expect_led_by(&bench, &["a", "b"]).await;
}

/// A leader that is too late finds that its lease is gone, however often it asks. It leads again only with another
/// token.
pub async fn an_old_leader_is_gone_after_its_lease(bench: Shared) {
    if !is_timed(&bench).await {
        return a_lease_that_is_not_renewed_ends_after_its_ttl(bench).await;
    }
    let mut line = Contender::in_line(&bench, &["a", "b"]).await;
    let end = safe_until(&mut line[0]).await;
    let token = outlast(&bench, &mut line[1], end).await;
    for _ in 0..3 {
        match line[0].refresh().await {
            Standing::Gone(why) => assert!(!why.is_empty(), "no reason is given"),
            other => panic!("a leader whose lease has ended {}", in_words(&other)),
        }
    }
    assert_eq!(line[1].lead().await, token);
    line[0].resign().await;
    line[0].wait_behind(1).await;
    assert_eq!(line[1].lead().await, token, "the old leader's resign took the new one's lease");
}

/// Each proof is anchored at the start of its own call, or before. It is never anchored before the previous one.
pub async fn a_proof_counts_from_before_its_request(bench: Shared) {
    let mut leader = Contender::new(&bench, "a").await;
    let mut last = None;
    for _ in 0..4 {
        let now = bench.now();
        match leader.seat().refresh(now).await.expect("a standing").standing {
            Standing::Leading { validity: Validity::Window { anchor, window }, .. } => {
                assert!(anchor <= now, "{anchor:?} is later than the call, {now:?}");
                assert!(last.is_none_or(|last| anchor >= last), "proofs go back");
                assert!(!window.is_zero());
                last = Some(anchor);
            }
            Standing::Leading { validity: Validity::Unlimited, .. } => {
                assert!(
                    !is_timed(&bench).await,
                    "a lease without limit in a store that has limits"
                );
            }
            other => panic!("a lone leader {}", in_words(&other)),
        }
        bench.advance(Duration::from_millis(5)).await;
    }
}

/// The time that passes during a request counts toward the lease.
pub async fn a_slow_store_does_not_lengthen_a_lease(bench: Shared) {
    let mut leader = Contender::new(&bench, "a").await;
    leader.lead().await;
    let stall = bench.stall(&election()).await;
    let now = bench.now();
    let slow = async {
        bench.advance(bench.ttl() / 6).await;
        drop(stall);
    };
    let (standing, ()) = tokio::join!(leader.seat().refresh(now), slow);
    if let Standing::Leading { validity: Validity::Window { anchor, .. }, .. } =
        standing.expect("a standing").standing
    {
        assert!(anchor <= now, "{anchor:?} is later than the send at {now:?}");
    }
    assert!(line_up(&bench).await.shows("a"));
}

/// More await points than a call of any store has.
const CUTS: usize = 6;

/// The error of stores that count in whole seconds.
const ROUNDING: Duration = Duration::from_secs(1);

/// After a renewal was cut short, the next proof is a renewal of its own. The store's lease lasts as long as the proof
/// says.
pub async fn a_proof_after_a_lost_reply_is_no_older_one(bench: Shared) {
    let mut leader = Contender::new(&bench, "a").await;
    leader.lead().await;
    for cut in 1..=CUTS {
        leader.refresh_cut(cut).await;
        a_while(&bench).await;
        let claimed = safe_until(&mut leader).await;
        let survey = bench.connect().await.survey(&election()).await.expect("a survey");
        let remaining = survey.leader.expect("a leader").remaining;
        assert!(remaining.is_none() || claimed.is_some(), "a limit that the proof does not have");
        if let (Some(claimed), Some(remaining)) = (claimed, remaining) {
            let end = bench.now() + remaining + ROUNDING;
            assert!(end >= claimed, "ends at {end:?}, not {claimed:?}; cut after {cut} polls");
        }
    }
}

/// A newcomer that waits briefly learns that a leader which renews its lease is alive.
pub async fn a_leader_that_renews_its_lease_is_known_to_live(bench: Shared) {
    let mut leader = Contender::new(&bench, "a").await;
    leader.lead().await;
    let mut newcomer = Contender::new(&bench, "b").await;
    for look in 0..3 {
        match newcomer.refresh().await {
            Standing::Waiting { alive: true, .. } => return,
            Standing::Waiting { .. } => assert!(look < 2, "a leader that lives may be dead"),
            other => panic!("beside a leader a newcomer {}", in_words(&other)),
        }
        a_while(&bench).await;
        leader.lead().await;
    }
}

/// A newcomer behind a dead leader never reads that any leader is alive. It leads after one lease and two refreshes at
/// the latest.
pub async fn no_newcomer_is_told_that_a_dead_leader_lives(bench: Shared) {
    let mut leader = Contender::new(&bench, "a").await;
    leader.lead().await;
    if is_timed(&bench).await {
        bench.advance(bench.ttl() * 2).await;
    } else {
        leader.crash().await;
    }
    let mut newcomer = Contender::new(&bench, "b").await;
    for _ in 0..=8 {
        match newcomer.refresh().await {
            Standing::Leading { .. } => return,
            Standing::Waiting { ahead, alive, .. } => {
                assert!(!alive || ahead == 0, "it is told that a dead leader lives");
            }
            other => panic!("a newcomer {}", in_words(&other)),
        }
        a_while(&bench).await;
    }
    panic!("a leader that is dead for long is not followed");
}

/// A waiter that stops asking is passed over once its own lease is over. Without a limit its process has to die first.
pub async fn a_waiter_that_asks_no_more_is_passed_over(bench: Shared) {
    let mut line = Contender::in_line(&bench, &["a", "b", "c"]).await;
    if is_timed(&bench).await {
        for _ in 0..14 {
            a_while(&bench).await;
            line[0].lead().await;
            line[2].refresh().await;
        }
    } else {
        line.remove(1).crash().await;
    }
    expect_led_by(&bench, &["a", "c"]).await;
    line[0].resign().await;
    line.last_mut().expect("one that asked").lead().await;
}

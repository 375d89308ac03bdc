//! Makes all candidates of an election agree on its division: whole, or into how many slots or shards.
//!
//! The control cell of the election keeps the division. A candidate that finds another division there than its own
//! settles it as follows:
//!
//! 1. It looks for candidates with another division than its own, first in the election, then in each part of the kept
//!    division. If there is one, the new candidate is refused.
//! 2. It writes its own division, in place of exactly the cell that it has read. It adds that the division is not
//!    proven yet, and how many parts may have candidates.
//! 3. It looks again. If it finds such a candidate now, it puts the old cell back, and is refused.
//! 4. It writes that the division is proven.
//!
//! Only a proven division is valid. A candidate that finds an unproven one, even its own, settles it itself. A
//! candidate that has entered reads the cell that comes with its refresh. If the cell shows another division, the
//! candidate settles again before it starts anything.
//!
//! So of two candidates that disagree, at most one starts anything. Suppose that both have started. Each had entered,
//! and a later refresh had shown it its own division, proven. Let A be the one whose cell was written later. That cell
//! was written after B's last read before B started. Otherwise B would have been shown this cell or a later one. So B
//! had its entry when the cell was written. The candidate that proved it looked after the write, in the election and in
//! all parts that B can be in. A candidate that moves from the election into a part enters the part before it leaves
//! the election. The search goes in the opposite order. So it found B, unless B had gone, and A's division was not
//! proven.
//!
//! A crash in the middle leaves an unproven division, and does no harm. Of two candidates that come at once, both may
//! be refused.

use elect_api::{
    Candidate, Cell, Division, ElectionName, ElectionNameError, Error, ErrorKind, If, Store,
    Survey, Written,
};

use futures_util::future::join_all;

use super::control::Control;

/// How often others may write between the read and the write of a candidate before that is an error.
const RACES: u32 = 20;
/// The number of parts that are looked at together.
const AT_ONCE: usize = 64;

/// The outcome of settling the division.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// The election is divided as the candidate wants.
    Ours,
    /// A candidate with another division takes part. The text says which.
    Disputed(String),
}

/// Makes sure that `candidate` may take part with its division.
///
/// # Errors
/// Those of the store's cells and surveys; `Unfit` for a store that keeps no control cell.
///
/// # Cancellation
/// The outcome is unknown. The call may be repeated, and finds out.
pub async fn settle(
    store: &dyn Store,
    election: &ElectionName,
    candidate: &Candidate,
) -> Result<Agreement, Error> {
    let ours = candidate.division;
    if let Some(why) = belongs(store, election).await? {
        return Ok(Agreement::Disputed(why));
    }
    for _ in 0..RACES {
        let kept = store.read(election, Cell::Control).await?;
        let control = Control::read(kept.bytes.as_deref())?;
        if control.is_divided(ours) {
            return Ok(Agreement::Ours);
        }
        let parts = control.parts_in_use();
        if let Some(why) = dissent(store, election, parts, candidate).await? {
            return Ok(Agreement::Disputed(why));
        }
        let claim = control.clone().claimed(ours).to_bytes();
        let write = async |control: &[u8], version| {
            store.write(election, Cell::Control, control, If::Version(version)).await
        };
        let Written::Yes(version) = write(&claim, kept.version).await? else { continue };
        if let Some(why) = dissent(store, election, parts, candidate).await? {
            // If this write fails, the claim stays unproven.
            let _ = write(&control.to_bytes(), version).await;
            return Ok(Agreement::Disputed(why));
        }
        let proven = control.divided(ours).to_bytes();
        if let Written::Yes(_) = write(&proven, version).await? {
            return Ok(Agreement::Ours);
        }
    }
    let what = format!("others write the control cell of {election} all the time");
    Err(Error::new(ErrorKind::Unreachable, what))
}

/// Returns the error text if `election` is the name of a part of a divided election. No candidate may join under such a
/// name.
async fn belongs(store: &dyn Store, election: &ElectionName) -> Result<Option<String>, Error> {
    let Some(whole) = Division::whole(election) else { return Ok(None) };
    let control = Control::read(store.read(&whole, Cell::Control).await?.bytes.as_deref())?;
    let division = control.division();
    Ok((!division.is_whole()).then(|| {
        format!(
            "{election} is a part of {whole}, which has {division}: take part in that, or take another name"
        )
    }))
}

/// Returns the error text if a candidate takes part with another division.
async fn dissent(
    store: &dyn Store,
    election: &ElectionName,
    parts: u16,
    candidate: &Candidate,
) -> Result<Option<String>, Error> {
    let mut found = other_than(candidate, &store.survey(election).await?);
    let numbers: Vec<u16> = (0..parts).collect();
    for some in numbers.chunks(AT_ONCE) {
        if found.is_some() {
            break;
        }
        let names = some.iter().map(|&number| Division::part(election, number));
        // A part name that is too long here was too long for the candidate that made the division, too.
        let names: Result<Vec<_>, ElectionNameError> = names.collect();
        let Ok(names) = names else { break };
        let surveys = names.iter().map(|name| store.survey(name));
        for survey in join_all(surveys).await {
            found = found.or(other_than(candidate, &survey?));
        }
    }
    Ok(found.map(|(id, theirs)| {
        let ours = candidate.division;
        format!(
            "{id} takes part in {election} with {theirs}, and this candidate has {ours}: give all candidates the same, or wait until the others have left"
        )
    }))
}

fn other_than(candidate: &Candidate, survey: &Survey) -> Option<(String, Division)> {
    let others = survey.entries().map(|entry| &entry.candidate);
    let mut others = others.filter(|other| other.id != candidate.id);
    let other = others.find(|other| other.division != candidate.division)?;
    Some((other.id.clone(), other.division))
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::pin;
    use std::sync::{Arc, Mutex};
    use std::task::Poll;
    use std::time::Duration;

    use async_trait::async_trait;
    use elect_api::{Keys, Profile, Removal, Scope, Seat, Versioned};
    use elect_testkit::sim::{Clock, Kind, ManualClock, Options, Sim};
    use elect_testkit::{election, poll_n, run};
    use tokio::task::yield_now;

    use super::*;

    const TTL: Duration = Duration::from_secs(12);

    fn candidate(id: &str, division: Division) -> Candidate {
        Candidate { host: "h".to_owned(), division, ..Candidate::foreign(id) }
    }

    /// A store in which others may act before each request.
    struct Slow(Box<dyn Store>);

    #[async_trait]
    impl Store for Slow {
        fn profile(&self) -> Profile {
            self.0.profile()
        }

        async fn open(
            &self,
            election: &ElectionName,
            candidate: &Candidate,
            ttl: Duration,
        ) -> Result<Box<dyn Seat>, Error> {
            self.0.open(election, candidate, ttl).await
        }

        async fn survey(&self, election: &ElectionName) -> Result<Survey, Error> {
            yield_now().await;
            self.0.survey(election).await
        }

        async fn read(&self, election: &ElectionName, cell: Cell<'_>) -> Result<Versioned, Error> {
            yield_now().await;
            self.0.read(election, cell).await
        }

        async fn write(
            &self,
            election: &ElectionName,
            cell: Cell<'_>,
            bytes: &[u8],
            condition: If,
        ) -> Result<Written, Error> {
            yield_now().await;
            let written = self.0.write(election, cell, bytes, condition).await;
            yield_now().await;
            written
        }

        async fn remove(&self, election: &ElectionName, what: Removal<'_>) -> Result<(), Error> {
            self.0.remove(election, what).await
        }

        async fn list(&self, scope: Scope) -> Result<Vec<ElectionName>, Error> {
            self.0.list(scope).await
        }

        async fn keys(&self, election: &ElectionName) -> Result<Keys, Error> {
            self.0.keys(election).await
        }
    }

    struct Ground {
        sim: Sim,
        clock: Arc<ManualClock>,
    }

    impl Ground {
        fn new() -> Self {
            let clock = Arc::new(ManualClock::default());
            let sim = Sim::new(Options::new(Kind::Queue), Arc::clone(&clock) as Arc<dyn Clock>);
            Self { sim, clock }
        }

        fn store(&self) -> Slow {
            Slow(self.sim.connect())
        }

        async fn kept(&self) -> Control {
            let kept = self.store().read(&election(), Cell::Control).await.expect("a cell");
            Control::read(kept.bytes.as_deref()).expect("a cell of ours")
        }

        async fn settle(&self, candidate: &Candidate) -> Agreement {
            settle(&self.store(), &election(), candidate).await.expect("an agreement")
        }

        /// Opens a seat in that election, and enters it.
        async fn enter(
            &self,
            election: &ElectionName,
            candidate: &Candidate,
        ) -> (Box<dyn Seat>, Versioned) {
            let mut seat = self.store().open(election, candidate, TTL).await.expect("a seat");
            let refreshed = seat.refresh(self.clock.now()).await.expect("a standing");
            (seat, refreshed.control)
        }

        /// Takes part as an engine does, and returns whether it would start something. It keeps its entry then.
        async fn take_part(&self, candidate: Candidate, seed: u64) -> bool {
            let store = self.store();
            let chance = Mutex::new(fastrand::Rng::with_seed(seed));
            let settle = async || loop {
                // A request without an answer in time is dropped, and sent again.
                let patience = chance.lock().expect("ours alone").usize(1..40);
                let whole = election();
                let settling = settle(&store, &whole, &candidate);
                if let Some(outcome) = poll_n(patience, settling).await {
                    return outcome.expect("an answer") == Agreement::Ours;
                }
            };
            if !candidate.division.is_whole() && !settle().await {
                return false;
            }
            yield_now().await;
            let (mut door, mut control) = self.enter(&election(), &candidate).await;
            loop {
                let known = Control::read(control.bytes.as_deref()).expect("a cell of ours");
                if known.is_divided(candidate.division) {
                    break;
                }
                yield_now().await;
                if !settle().await {
                    door.resign(None).await.expect("an answer");
                    return false;
                }
                yield_now().await;
                control = door.refresh(self.clock.now()).await.expect("a standing").control;
            }
            if !candidate.division.is_whole() {
                let part = Division::part(&election(), candidate.division.parts() - 1);
                let _part = self.enter(&part.expect("a name"), &candidate).await;
                yield_now().await;
                door.resign(None).await.expect("an answer");
            }
            true
        }
    }

    /// Runs both futures, one step of one of them at a time.
    async fn interleaved<T>(
        seed: u64,
        one: impl Future<Output = T>,
        other: impl Future<Output = T>,
    ) -> (T, T) {
        let mut chance = fastrand::Rng::with_seed(seed);
        let (mut one, mut other) = (pin!(one), pin!(other));
        let (mut first, mut second) = (None, None);
        poll_fn(|context| {
            context.waker().wake_by_ref();
            if first.is_none() && (chance.bool() || second.is_some()) {
                if let Poll::Ready(value) = one.as_mut().poll(context) {
                    first = Some(value);
                }
            } else if second.is_none()
                && let Poll::Ready(value) = other.as_mut().poll(context)
            {
                second = Some(value);
            }
            match (first.take(), second.take()) {
                (Some(one), Some(other)) => Poll::Ready((one, other)),
                (some, another) => {
                    (first, second) = (some, another);
                    Poll::Pending
                }
            }
        })
        .await
    }

    #[test]
    fn of_two_disagreeing_candidates_at_most_one_starts() {
        let ways = [Division::Whole, Division::Slots(2), Division::Slots(5), Division::Shards(2)];
        let mut started = [0; 2];
        for seed in 0..500 {
            let ours = ways[fastrand::Rng::with_seed(seed).usize(0..ways.len())];
            for theirs in ways.into_iter().filter(|&theirs| theirs != ours) {
                let outcome = run("two who disagree", async {
                    let ground = Ground::new();
                    let one = ground.take_part(candidate("a", ours), seed);
                    let other = ground.take_part(candidate("b", theirs), seed + 1);
                    interleaved(seed, one, other).await
                });
                assert!(outcome != (true, true), "{ours} and {theirs}, seed {seed}");
                started[usize::from(outcome != (false, false))] += 1;
            }
        }
        assert!(started[1] > started[0], "hardly any candidate ever starts: {started:?}");
    }

    #[test]
    fn a_candidate_that_agrees_enters_and_others_are_told_both_numbers() {
        run("the numbers", async {
            let ground = Ground::new();
            let first = candidate("a", Division::Slots(3));
            assert_eq!(ground.settle(&first).await, Agreement::Ours);
            assert!(ground.kept().await.is_divided(Division::Slots(3)));
            let part = Division::part(&election(), 2).expect("a name");
            let (mut seat, _) = ground.enter(&part, &first).await;
            assert_eq!(ground.settle(&candidate("b", Division::Slots(3))).await, Agreement::Ours);
            for (other, words) in [(Division::Slots(5), "5 slots"), (Division::Whole, "neither")] {
                let Agreement::Disputed(why) = ground.settle(&candidate("b", other)).await else {
                    panic!("{other} beside 3 slots");
                };
                assert!(why.contains("a takes part") && why.contains("3 slots"), "{why}");
                assert!(why.contains(words), "{why}");
                assert!(ground.kept().await.is_divided(Division::Slots(3)));
            }
            seat.resign(None).await.expect("an answer");
            assert_eq!(ground.settle(&candidate("b", Division::Slots(5))).await, Agreement::Ours);
            assert!(ground.kept().await.is_divided(Division::Slots(5)));
        });
    }

    /// Wherever the crash happens, the next candidate looks for entries in the parts of the earlier division.
    #[test]
    fn a_division_that_a_crash_left_unproven_is_none() {
        for cut in 1..40 {
            run("a crash", async {
                let ground = Ground::new();
                let leader = candidate("a", Division::Slots(5));
                assert_eq!(ground.settle(&leader).await, Agreement::Ours);
                let store = ground.store();
                let crashing = candidate("b", Division::Slots(3));
                let cut_off = poll_n(cut, settle(&store, &election(), &crashing)).await;
                if ground.kept().await.is_divided(Division::Slots(3)) {
                    return;
                }
                // It may start what the old division told it to, as long as the cell shows only that.
                let part = Division::part(&election(), 4).expect("a name");
                let _seat = ground.enter(&part, &leader).await;
                assert!(cut_off.is_none(), "cut at {cut}");
                let next = ground.settle(&candidate("c", Division::Slots(3))).await;
                assert_ne!(next, Agreement::Ours, "cut at {cut}");
            });
        }
    }
}

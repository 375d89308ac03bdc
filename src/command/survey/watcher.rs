//! Surveys again and again, at a pace, until a condition is met.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use elect_api::{Boottime, ElectionName, Leader, Store, Wake};

use super::ElectionSnapshot;
use super::snapshot::{Reach, Snapshot, is_final, survey_all};
use super::vigil::Vigil;
use crate::command::attempts::insist;
use crate::command::runtime::BootClock;
use crate::election::driver::Clock as _;
use crate::guard;
use crate::report::{Log, Renewals, chain};

/// The least time between two questions. Changes that follow each other faster are seen together.
const LEAST: Duration = Duration::from_millis(20);
/// The pause after the first failure. It doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// The longest pause after a failure.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// A silence of this length is an outage. Until then another member of the store may answer.
const OUTAGE: Duration = Duration::from_secs(3);
/// The largest number of elections for which the store is asked for a wake, which is expensive. The others are surveyed
/// at intervals.
const MOST_WAKES: usize = 16;

/// How often the store is asked without a wake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::command) enum Rhythm {
    /// At long intervals, as a wake may be lost.
    Calm,
    /// As often as [`pace`] says, because a renewal wakes no watcher. A leader that has stopped its renewals is
    /// [suspected](crate::report::Suspicion) soon. Slots and shards are surveyed as well.
    Live,
}

/// The outcome of one question to the store.
#[derive(Debug)]
pub(in crate::command) enum Answer {
    /// The store has answered.
    Seen(Snapshot),
    /// The store has not answered.
    Silent(Silence),
}

/// A store that does not answer.
#[derive(Clone, Debug)]
pub(in crate::command) struct Silence {
    /// The reason, for people.
    pub(in crate::command) reason: String,
    /// True if the silence has lasted so long that people should know.
    pub(in crate::command) is_outage: bool,
}

/// Surveys the same elections again and again.
pub(in crate::command) struct Watcher {
    /// The next survey. It is kept while no caller awaits it, and goes on where it was.
    step: Pin<Box<dyn Future<Output = (Surveyor, anyhow::Result<Answer>)>>>,
}

impl Watcher {
    /// Makes a watcher of the named elections, or of all if none is named. It asks nothing before the first
    /// [`Watcher::next`].
    ///
    /// # Errors
    /// No file descriptor is left.
    pub(in crate::command) fn over(
        store: Box<dyn Store>,
        named: Vec<ElectionName>,
        rhythm: Rhythm,
    ) -> anyhow::Result<Self> {
        let surveyor = Surveyor {
            location: store.profile().location,
            store,
            named,
            rhythm,
            clock: BootClock::new()?,
            wakes: BTreeMap::new(),
            renewals: BTreeMap::new(),
            vigil: Vigil::default(),
            due: None,
            silent_since: None,
            pause: Duration::ZERO,
        };
        Ok(Self { step: Box::pin(surveyor.step()) })
    }

    /// Returns the first answer, or the next one once it is due.
    ///
    /// # Errors
    /// The store refuses access, and further questions do not help.
    ///
    /// # Cancellation
    /// The future may be dropped at any time. The next call goes on with it.
    pub(in crate::command) async fn next(&mut self) -> anyhow::Result<Answer> {
        let (surveyor, answer) = self.step.as_mut().await;
        self.step = Box::pin(surveyor.step());
        answer
    }
}

struct Surveyor {
    store: Box<dyn Store>,
    location: String,
    named: Vec<ElectionName>,
    rhythm: Rhythm,
    clock: BootClock,
    /// The wake that tells of a change, for each election that has one.
    wakes: BTreeMap<ElectionName, Wake>,
    /// The renewals of each election's leader that were seen so far.
    renewals: BTreeMap<ElectionName, Renewals>,
    vigil: Vigil,
    /// The earliest and the latest time of the next survey. `None` for at once.
    due: Option<(Boottime, Boottime)>,
    silent_since: Option<Boottime>,
    pause: Duration,
}

impl Surveyor {
    async fn step(mut self) -> (Self, anyhow::Result<Answer>) {
        if let Some((earliest, latest)) = self.due {
            tokio::select! {
                () = woken(&mut self.wakes) => self.clock.until(Some(earliest)).await,
                () = self.clock.until(Some(latest)) => {}
            }
        }
        let sent = guard::now();
        let answer = match self.survey().await {
            Ok(snapshot) => Ok(Answer::Seen(self.seen(sent, snapshot))),
            Err(error) if is_final(&error) => Err(error),
            Err(error) => Ok(Answer::Silent(self.silent(sent, &error))),
        };
        (self, answer)
    }

    /// Asks for wakes first, so that a change during the survey is noticed.
    async fn survey(&mut self) -> anyhow::Result<Snapshot> {
        let (store, location) = (self.store.as_ref(), &self.location);
        for name in &self.named {
            if self.wakes.len() < MOST_WAKES && !self.wakes.contains_key(name) {
                let wake = insist(location, 1, async || store.changed(name).await).await?;
                self.wakes.insert(name.clone(), wake);
            }
        }
        let reach = match self.rhythm {
            Rhythm::Calm => Reach::Whole,
            Rhythm::Live => Reach::Parts,
        };
        survey_all(store, &self.named, 1, reach).await
    }

    fn seen(&mut self, sent: Boottime, mut snapshot: Snapshot) -> Snapshot {
        (self.silent_since, self.pause) = (None, Duration::ZERO);
        let judged = snapshot.judge(&mut self.vigil);
        let latest = match self.rhythm {
            Rhythm::Calm => Duration::from_secs(5),
            Rhythm::Live => {
                self.suspect(&mut snapshot);
                let elections = || snapshot.elections.iter().flat_map(ElectionSnapshot::elections);
                let leaders = elections().filter_map(|seen| seen.survey.leader.as_ref());
                pace(leaders).max(LEAST * u32::try_from(elections().count()).unwrap_or(u32::MAX))
            }
        };
        let latest = judged.map_or(sent + latest, |judged| judged.min(sent + latest));
        self.due = Some((sent + LEAST, latest.max(guard::now() + LEAST)));
        snapshot
    }

    fn suspect(&mut self, snapshot: &mut Snapshot) {
        let mut before = std::mem::take(&mut self.renewals);
        for seen in &mut snapshot.elections {
            let mut parts = std::mem::take(&mut seen.parts);
            for seen in std::iter::once(&mut *seen).chain(&mut parts) {
                let mut renewals = before.remove(&seen.election).unwrap_or_default();
                let leader = seen.survey.leader.as_ref();
                seen.suspicion = renewals.take_in(leader, seen.asked, seen.answered);
                self.renewals.insert(seen.election.clone(), renewals);
            }
            seen.parts = parts;
        }
    }

    fn silent(&mut self, sent: Boottime, error: &anyhow::Error) -> Silence {
        let now = guard::now();
        // The wakes may have ended with the connection, or hang on it.
        self.wakes.clear();
        self.pause = (self.pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
        let due = now + self.pause.mul_f64(0.5 + fastrand::f64() / 2.0);
        self.due = Some((due, due));
        let since = *self.silent_since.get_or_insert(sent);
        Silence { reason: chain(error.as_ref()), is_outage: now.since(since) >= OUTAGE }
    }
}

/// Waits for the first wakes, and removes them.
async fn woken(wakes: &mut BTreeMap<ElectionName, Wake>) {
    poll_fn(|context| {
        let before = wakes.len();
        wakes.retain(|_, wake| wake.as_mut().poll(context).is_pending());
        if wakes.len() < before { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

/// The bounds of [`pace`].
const SHORTEST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(2);

/// Returns the pause before the next survey of these leaders: a twelfth of the shortest time that a lease has left,
/// between a quarter of a second and two seconds. A leader on etcd renews every sixth of its lease, so each renewal is
/// seen.
pub(in crate::command) fn pace<'a>(leaders: impl Iterator<Item = &'a Leader>) -> Duration {
    let shortest = leaders.filter_map(|leader| leader.remaining).min();
    shortest.map_or(LONGEST, |left| (left / 12).clamp(SHORTEST, LONGEST))
}

/// The time that the first survey may take, even if the caller has less.
const FIRST_SURVEY: Duration = Duration::from_secs(2);

/// The outcome of a wait for a condition.
#[derive(Debug)]
pub(in crate::command) enum Awaited {
    /// This snapshot meets the condition.
    Met(ElectionSnapshot),
    /// The time ran out. This is the last snapshot.
    Unmet(ElectionSnapshot),
    /// The time ran out before the first answer, for this reason.
    Unknown(String),
}

/// Waits until the only election of a watcher meets a condition, or until `end`; without an end if `None`. A store that
/// falls silent is asked until it answers, and the log says so once. Even a caller without time gets one short survey.
///
/// # Errors
/// The store refuses access.
pub(in crate::command) async fn until(
    mut watcher: Watcher,
    end: Option<Boottime>,
    log: &Log,
    mut is_met: impl FnMut(&ElectionSnapshot) -> bool,
) -> anyhow::Result<Awaited> {
    let clock = BootClock::new()?;
    // The last snapshot, and the last failure.
    let (mut seen, mut trouble): (Option<ElectionSnapshot>, Option<String>) = (None, None);
    let mut has_complained = false;
    let earliest_end = guard::now() + FIRST_SURVEY;
    loop {
        let is_due = seen.is_some() || trouble.is_some();
        let end = end.map(|end| if is_due { end } else { end.max(earliest_end) });
        let answer = tokio::select! {
            biased;
            answer = watcher.next() => answer?,
            () = clock.until(end) => break,
        };
        match answer {
            Answer::Seen(snapshot) => {
                for now in snapshot.elections {
                    if is_met(&now) {
                        return Ok(Awaited::Met(now));
                    }
                    seen = Some(now);
                }
            }
            Answer::Silent(silence) => {
                if silence.is_outage && !std::mem::replace(&mut has_complained, true) {
                    log.warn(format_args!("waiting for the store: {}", silence.reason));
                }
                trouble = Some(silence.reason);
            }
        }
    }
    let silence = || trouble.unwrap_or_else(|| "the store is silent".to_owned());
    Ok(seen.map_or_else(|| Awaited::Unknown(silence()), Awaited::Unmet))
}

#[cfg(test)]
mod tests {
    use elect_api::{Candidate, Entry, Token};

    use super::*;

    fn leader(remaining: Option<u64>) -> Leader {
        let entry = Entry::new(Candidate::foreign("one"), None, 0);
        let remaining = remaining.map(Duration::from_secs);
        Leader { remaining, ..Leader::new(entry, Token::new(1)) }
    }

    #[test]
    fn the_shortest_lease_sets_the_pace_within_bounds() {
        for (remaining, millis) in [
            (vec![], 2_000),
            (vec![None], 2_000),
            (vec![Some(3_600), None], 2_000),
            (vec![Some(60), Some(12), None], 1_000),
            (vec![Some(12), Some(0)], 250),
        ] {
            let leaders: Vec<Leader> = remaining.iter().copied().map(leader).collect();
            assert_eq!(pace(leaders.iter()), Duration::from_millis(millis), "{remaining:?}");
        }
    }
}

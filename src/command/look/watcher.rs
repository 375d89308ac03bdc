//! Looking at elections, once or again and again, at a pace and until something is so.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use elect_api::{Boottime, ElectionName, Leader, Store, Wake};

use super::ElectionSnapshot;
use super::snapshot::{Reach, Snapshot, is_final, look};
use super::vigil::Vigil;
use crate::command::attempts::insist;
use crate::command::runtime::BootClock;
use crate::election::driver::Clock as _;
use crate::guard;
use crate::report::{Log, Renewals, chain};

/// At least so long after a question comes the next: changes that follow each other faster are seen together.
const LEAST: Duration = Duration::from_millis(20);
/// The pause after the first failure; it doubles with each further one, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// A silence that lasts so long is an outage. Until then another member of the store may answer.
const OUTAGE: Duration = Duration::from_secs(3);
/// How many elections the store is asked to wake us for: look-outs are dear. The others are looked at by time.
const LOOK_OUTS: usize = 16;

/// How often the store is asked though it has not woken us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::command) enum Rhythm {
    /// Now and then, as a wake may be lost.
    Calm,
    /// So often that what was seen last stays true: leases go on without a word from the store. And so often
    /// that a leader is [suspected](crate::report::Suspicion) that renews its lease no more. Slots and shards are
    /// looked at as well.
    Live,
}

/// What comes of a look.
#[derive(Debug)]
pub(in crate::command) enum Look {
    /// The store has answered.
    Seen(Snapshot),
    /// It has not.
    Silent(Silence),
}

/// The store does not answer.
#[derive(Clone, Debug)]
pub(in crate::command) struct Silence {
    /// Why, in words.
    pub(in crate::command) reason: String,
    /// Whether it has lasted so long that people should know.
    pub(in crate::command) is_outage: bool,
}

/// Looks on.
pub(in crate::command) struct Watcher {
    /// The next look, which goes on where it was when nobody waited for it.
    step: Pin<Box<dyn Future<Output = (Looker, anyhow::Result<Look>)>>>,
}

impl Watcher {
    /// Over the elections that are named, or else all. Nothing is asked before the first
    /// [`Watcher::next`].
    ///
    /// # Errors
    /// When no descriptor is left.
    pub(in crate::command) fn over(
        store: Box<dyn Store>,
        named: Vec<ElectionName>,
        rhythm: Rhythm,
    ) -> anyhow::Result<Self> {
        let looker = Looker {
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
        Ok(Self { step: Box::pin(looker.step()) })
    }

    /// The first look, or the next, once it is time for it.
    ///
    /// # Errors
    /// The store refuses us: looking again does not help.
    ///
    /// # Cancellation
    /// May be dropped at any time: the next call goes on.
    pub(in crate::command) async fn next(&mut self) -> anyhow::Result<Look> {
        let (looker, look) = self.step.as_mut().await;
        self.step = Box::pin(looker.step());
        look
    }
}

struct Looker {
    store: Box<dyn Store>,
    location: String,
    named: Vec<ElectionName>,
    rhythm: Rhythm,
    clock: BootClock,
    /// What tells of a change, for each election that somebody looks out over.
    wakes: BTreeMap<ElectionName, Wake>,
    /// What was seen of each election's leader so far, if that is looked at.
    renewals: BTreeMap<ElectionName, Renewals>,
    vigil: Vigil,
    /// When to look next: the earliest and the latest; at once if `None`.
    due: Option<(Boottime, Boottime)>,
    silent_since: Option<Boottime>,
    pause: Duration,
}

impl Looker {
    async fn step(mut self) -> (Self, anyhow::Result<Look>) {
        if let Some((earliest, latest)) = self.due {
            tokio::select! {
                () = woken(&mut self.wakes) => self.clock.until(Some(earliest)).await,
                () = self.clock.until(Some(latest)) => {}
            }
        }
        let sent = guard::now();
        let look = match self.look().await {
            Ok(snapshot) => Ok(Look::Seen(self.seen(sent, snapshot))),
            Err(error) if is_final(&error) => Err(error),
            Err(error) => Ok(Look::Silent(self.silent(sent, &error))),
        };
        (self, look)
    }

    /// Looks out before it looks, so that no change comes in between.
    async fn look(&mut self) -> anyhow::Result<Snapshot> {
        let (store, location) = (self.store.as_ref(), &self.location);
        for name in &self.named {
            if self.wakes.len() < LOOK_OUTS && !self.wakes.contains_key(name) {
                let wake = insist(location, 1, async || store.changed(name).await).await?;
                self.wakes.insert(name.clone(), wake);
            }
        }
        let reach = match self.rhythm {
            Rhythm::Calm => Reach::Whole,
            Rhythm::Live => Reach::Parts,
        };
        look(store, &self.named, 1, reach).await
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
        // They may have broken off with the connection, or hang on it.
        self.wakes.clear();
        self.pause = (self.pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
        let due = now + self.pause.mul_f64(0.5 + fastrand::f64() / 2.0);
        self.due = Some((due, due));
        let since = *self.silent_since.get_or_insert(sent);
        Silence { reason: chain(error.as_ref()), is_outage: now.since(since) >= OUTAGE }
    }
}

/// Ends when some have come, and takes them away.
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

/// How soon to look again at whoever leads, so that what was seen stays true, and renewals are seen one by one: a
/// leader of ours renews its lease every sixth of it, so twice as often. From a quarter of a second to two seconds.
pub(in crate::command) fn pace<'a>(leaders: impl Iterator<Item = &'a Leader>) -> Duration {
    let shortest = leaders.filter_map(|leader| leader.remaining).min();
    shortest.map_or(LONGEST, |left| (left / 12).clamp(SHORTEST, LONGEST))
}

/// How long the first look may take, however little time there is.
const FIRST_LOOK: Duration = Duration::from_secs(2);

/// What comes of waiting until an election is so.
#[derive(Debug)]
pub(in crate::command) enum Awaited {
    /// It is so, and this was seen.
    So(ElectionSnapshot),
    /// The time was over before. This was seen last.
    NotSo(ElectionSnapshot),
    /// The time was over before the store had answered once, and why.
    Unknown(String),
}

/// Waits until the only election of a look-out is so, or until `end`; without end if `None`. A store that falls
/// silent is asked until it answers, and the log says so once. One look is owed to whoever has no time at all, if it
/// does not take long.
///
/// # Errors
/// The store refuses us.
pub(in crate::command) async fn until(
    mut watcher: Watcher,
    end: Option<Boottime>,
    log: &Log,
    mut is_met: impl FnMut(&ElectionSnapshot) -> bool,
) -> anyhow::Result<Awaited> {
    let clock = BootClock::new()?;
    // What was seen last, and what was wrong last.
    let (mut seen, mut trouble): (Option<ElectionSnapshot>, Option<String>) = (None, None);
    let mut has_complained = false;
    let patience = guard::now() + FIRST_LOOK;
    loop {
        let is_due = seen.is_some() || trouble.is_some();
        let end = end.map(|end| if is_due { end } else { end.max(patience) });
        let look = tokio::select! {
            biased;
            look = watcher.next() => look?,
            () = clock.until(end) => break,
        };
        match look {
            Look::Seen(snapshot) => {
                for now in snapshot.elections {
                    if is_met(&now) {
                        return Ok(Awaited::So(now));
                    }
                    seen = Some(now);
                }
            }
            Look::Silent(silence) => {
                if silence.is_outage && !std::mem::replace(&mut has_complained, true) {
                    log.warn(format_args!("waiting for the store: {}", silence.reason));
                }
                trouble = Some(silence.reason);
            }
        }
    }
    let silence = || trouble.unwrap_or_else(|| "the store is silent".to_owned());
    Ok(seen.map_or_else(|| Awaited::Unknown(silence()), Awaited::NotSo))
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

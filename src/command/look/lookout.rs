use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use elect_api::{Boottime, ElectionName, Store, Wake};

use super::pace::pace;
use super::sight::{Reach, Seen, Sight, is_final, look};
use crate::command::attempts::insist;
use crate::command::candidacy::BootClock;
use crate::election::driver::Clock as _;
use crate::guard;
use crate::report::{Renewals, chain};

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
    Seen(Sight),
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
pub(in crate::command) struct Lookout {
    /// The next look, which goes on where it was when nobody waited for it.
    step: Pin<Box<dyn Future<Output = (Looker, anyhow::Result<Look>)>>>,
}

impl Lookout {
    /// Over the elections that are named, or else all. Nothing is asked before the first
    /// [`Lookout::next`].
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
            Ok(sight) => Ok(Look::Seen(self.seen(sent, sight))),
            Err(error) if is_final(&error) => Err(error),
            Err(error) => Ok(Look::Silent(self.silent(sent, &error))),
        };
        (self, look)
    }

    /// Looks out before it looks, so that no change comes in between.
    async fn look(&mut self) -> anyhow::Result<Sight> {
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

    fn seen(&mut self, sent: Boottime, mut sight: Sight) -> Sight {
        (self.silent_since, self.pause) = (None, Duration::ZERO);
        let latest = match self.rhythm {
            Rhythm::Calm => Duration::from_secs(5),
            Rhythm::Live => {
                self.suspect(&mut sight);
                let elections = || sight.elections.iter().flat_map(Seen::elections);
                let leaders = elections().filter_map(|seen| seen.survey.leader.as_ref());
                pace(leaders).max(LEAST * u32::try_from(elections().count()).unwrap_or(u32::MAX))
            }
        };
        self.due = Some((sent + LEAST, (sent + latest).max(guard::now() + LEAST)));
        sight
    }

    fn suspect(&mut self, sight: &mut Sight) {
        let mut before = std::mem::take(&mut self.renewals);
        for seen in &mut sight.elections {
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

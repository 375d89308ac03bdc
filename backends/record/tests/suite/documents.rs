//! Documents in memory. A test can count, delay and hold the requests, and act just before them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{
    Boottime, Cadence, Candidate, ElectionName, Error, ErrorKind, Lease, Order, Profile, Seat,
    Standing, Store, Token,
};
use elect_record::{
    Ask, Data, Document, Documents, Folder, IsNews, Listing, Name, Purpose, Record, RecordStore,
    Removed, Reply, Stored, Swapped,
};
use elect_testkit::election;
use tokio::sync::watch;

pub(crate) const TTL: Duration = Duration::from_secs(12);

/// An action of a person by hand.
pub(crate) type ByHand = Box<dyn FnOnce(&mut Inner) + Send>;

/// The number of requests of each kind that were carried out.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) reads: u32,
    pub(crate) lists: u32,
    pub(crate) writes: u32,
    pub(crate) watches: u32,
    pub(crate) hushes: u32,
}

/// What is wrong with a store that answers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Illness {
    /// Lists leave waiters out.
    HidesWaiters,
    /// No record is written: there is always said to be another version.
    IsAhead,
    /// Each change costs something for each candidate that watches any document.
    WakesAll,
}

#[derive(Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub(crate) struct Inner {
    pub(crate) folder: Folder,
    watched: BTreeMap<Name, watch::Sender<()>>,
    all_watched: watch::Sender<()>,
    pub(crate) counts: Counts,
    /// The duration of each request.
    pub(crate) latency: Duration,
    /// The next swap of this document and purpose is held back until it is delivered.
    pub(crate) hold: Option<(Name, Purpose)>,
    held: Vec<Ask>,
    /// An action by hand right before such a swap is carried out.
    pub(crate) before: Option<(Name, Purpose, ByHand)>,
    /// This many swaps of fences and values find that another program has written them meanwhile.
    pub(crate) busy: u32,
    pub(crate) damaged: bool,
    pub(crate) illness: Option<Illness>,
    /// No change is reported.
    pub(crate) is_mute: bool,
    /// There is no queue, so a request for a waiter or a list is an error.
    pub(crate) races: bool,
    pub(crate) longest_history: Option<usize>,
}

impl Inner {
    /// Carries out a request, and tells the watches of a change.
    pub(crate) fn answer(&mut self, ask: &Ask) -> Option<Reply> {
        let before = self.folder.revision();
        let reply = self.folder.answer(ask);
        if let Ask::Swap(name, ..) | Ask::Remove(name, _) = ask
            && self.folder.revision() > before
        {
            self.changed(*name);
        }
        reply
    }

    fn changed(&mut self, name: Name) {
        self.all_watched.send_replace(());
        if let Some(watched) = self.watched.get(&name) {
            watched.send_replace(());
        }
    }

    /// The number of watches that are under way.
    pub(crate) fn watches(&self) -> usize {
        self.watched.values().map(watch::Sender::receiver_count).sum()
    }

    pub(crate) fn remove(&mut self, name: Name) {
        self.folder.remove(name);
        self.changed(name);
    }

    pub(crate) fn put(&mut self, name: Name, document: Document) {
        self.folder.write(name, document);
        self.changed(name);
    }

    pub(crate) fn record(&self) -> Record {
        self.folder.record().cloned().unwrap_or_default()
    }

    pub(crate) fn write(&mut self, change: impl FnOnce(&mut Record)) {
        let mut record = self.record();
        change(&mut record);
        self.put(Name::Record, Document::Record(record));
    }

    pub(crate) fn waiters(&self) -> Vec<Name> {
        self.folder.list().waiters.iter().map(|listed| Name::Waiter(listed.nonce)).collect()
    }

    fn list(&self) -> Listing {
        let mut listing = self.folder.list();
        if self.illness == Some(Illness::HidesWaiters) {
            listing.waiters.clear();
        }
        listing.record = listing.record.filter(|_| !self.damaged);
        listing
    }
}

#[derive(Clone, Default)]
pub(crate) struct Fake(Arc<Mutex<Inner>>);

impl Fake {
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut Inner) -> T) -> T {
        act(&mut self.0.lock().expect("as it was made"))
    }

    pub(crate) fn store(&self) -> RecordStore {
        RecordStore::new(self.clone())
    }

    pub(crate) async fn seat(&self, id: &str) -> Box<dyn Seat> {
        let candidate = Candidate { host: "h".into(), ..Candidate::foreign(id) };
        self.store().open(&election(), &candidate, TTL).await.expect("as it was made")
    }

    /// Carries out the swaps that were held.
    pub(crate) fn deliver(&self) {
        self.with(|inner| {
            for ask in std::mem::take(&mut inner.held) {
                inner.answer(&ask);
            }
        });
    }

    pub(crate) fn leader(&self) -> Option<String> {
        self.with(|inner| inner.record().holder.map(|holder| holder.candidate.id))
    }

    /// Carries out a request, with half of the latency before and half after.
    async fn ask<T>(
        &self,
        count: fn(&mut Counts) -> &mut u32,
        act: impl FnOnce(&mut Inner) -> T,
    ) -> T {
        let latency = self.with(|inner| {
            *count(&mut inner.counts) += 1;
            inner.latency
        });
        if latency.is_zero() {
            return self.with(act);
        }
        tokio::time::sleep(latency / 2).await;
        let reply = self.with(act);
        tokio::time::sleep(latency / 2).await;
        reply
    }

    /// Refuses a request that is not allowed in a race.
    fn is_there(&self, in_races: bool) -> Result<(), Error> {
        if self.with(|inner| inner.races) && !in_races {
            return Err(Error::new(ErrorKind::Unfit, "a race has no waiters, and no list of them"));
        }
        Ok(())
    }

    /// Whether the next swap is held. First carries out the action that must come before it.
    fn holds(&self, name: Name, purpose: Purpose, swap: &Ask) -> bool {
        self.with(|inner| {
            if inner.before.as_ref().is_some_and(|(n, p, _)| (*n, *p) == (name, purpose)) {
                let (_, _, act) = inner.before.take().expect("as it was made");
                act(inner);
            }
            if name == Name::Data && inner.busy > 0 {
                inner.busy -= 1;
                inner.put(name, Document::Data(Data::default()));
            }
            let is_held = inner.hold == Some((name, purpose));
            if is_held {
                inner.hold = None;
                inner.held.push(swap.clone());
            }
            is_held
        })
    }

    /// Waits until a watched document has changed.
    async fn change(&self, changes: &mut watch::Receiver<()>) {
        let _ = changes.changed().await;
        if self.with(|inner| inner.is_mute) {
            std::future::pending::<()>().await;
        }
    }
}

#[async_trait]
impl Documents for Fake {
    fn profile(&self) -> Profile {
        let lease = Lease::Timed(Cadence::RECORD);
        let order = if self.with(|inner| inner.races) { Order::Race } else { Order::Queue };
        Profile::new("fake", "here".into(), lease, order)
    }

    async fn read(
        &self,
        _: &ElectionName,
        name: Name,
        _: Purpose,
    ) -> Result<Option<Stored>, Error> {
        self.is_there(!matches!(name, Name::Waiter(_)))?;
        Ok(self.ask(|counts| &mut counts.reads, |inner| inner.folder.read(name).cloned()).await)
    }

    async fn swap(
        &self,
        _: &ElectionName,
        name: Name,
        expected: u64,
        document: &Document,
        purpose: Purpose,
    ) -> Result<Swapped, Error> {
        let ask = Ask::Swap(name, expected, Box::new(document.clone()));
        if self.holds(name, purpose, &ask) {
            std::future::pending::<()>().await;
        }
        if let (Document::Record(record), Some(most)) =
            (document, self.with(|inner| inner.longest_history))
            && record.history.as_ref().is_some_and(|text| text.bytes.len() > most)
        {
            return Err(Error::new(ErrorKind::Unfit, "the document is too long"));
        }
        let swap = |inner: &mut Inner| match inner.illness {
            Some(Illness::IsAhead) if name == Name::Record => None,
            _ => inner.answer(&ask),
        };
        match self.ask(|counts| &mut counts.writes, swap).await {
            Some(Reply::Swapped(swapped)) => Ok(swapped),
            _ => Ok(Swapped::No),
        }
    }

    async fn remove(
        &self,
        _: &ElectionName,
        name: Name,
        version: u64,
        _: Purpose,
    ) -> Result<Removed, Error> {
        let remove = |inner: &mut Inner| inner.answer(&Ask::Remove(name, version));
        match self.ask(|counts| &mut counts.writes, remove).await {
            Some(Reply::Removed(removed)) => Ok(removed),
            other => panic!("a removal is {other:?}"),
        }
    }

    async fn list(&self, _: &ElectionName, _: Purpose) -> Result<Listing, Error> {
        self.is_there(false)?;
        Ok(self.ask(|counts| &mut counts.lists, |inner| inner.list()).await)
    }

    async fn records(&self) -> Result<Vec<(ElectionName, Record)>, Error> {
        Ok(self.with(|inner| {
            inner.folder.record().map(|record| (election(), record.clone())).into_iter().collect()
        }))
    }

    fn wakes_all(&self) -> bool {
        self.with(|inner| inner.illness == Some(Illness::WakesAll))
    }

    async fn hush(&self) {
        self.with(|inner| inner.counts.hushes += 1);
    }

    async fn wait(
        &self,
        _: &ElectionName,
        name: Name,
        mut version: u64,
        is_news: IsNews<'_>,
    ) -> Result<(), Error> {
        let mut changes = self.with(|inner| {
            inner.counts.watches += 1;
            inner.watched.entry(name).or_default().subscribe()
        });
        loop {
            let found = self.with(|inner| inner.folder.read(name).cloned());
            let present = found.as_ref().map_or(0, |found| found.version);
            let is_whole = name != Name::Record || !self.with(|inner| inner.damaged);
            if is_whole
                && present != version
                && is_news(name, found.as_ref().map(|found| &found.document))
            {
                return Ok(());
            }
            version = present;
            self.change(&mut changes).await;
        }
    }

    async fn wait_for_any(
        &self,
        _: &ElectionName,
        mut revision: u64,
        is_news: IsNews<'_>,
    ) -> Result<(), Error> {
        let mut changes = self.with(|inner| {
            inner.counts.watches += 1;
            inner.all_watched.subscribe()
        });
        loop {
            let news = self.with(|inner| inner.answer(&Ask::AwaitAny(revision)));
            let Some(Reply::Changed(all)) = news else {
                self.change(&mut changes).await;
                continue;
            };
            for (changed, name, document) in all {
                if is_news(name, document.as_ref()) {
                    return Ok(());
                }
                revision = changed;
            }
        }
    }
}

pub(crate) fn at(seconds: u64) -> Boottime {
    Boottime::from_boot(Duration::from_secs(seconds))
}

pub(crate) async fn leads(seat: &mut Box<dyn Seat>, second: u64) -> bool {
    let refreshed = seat.refresh(at(second)).await.expect("a standing");
    matches!(refreshed.standing, Standing::Leading { .. })
}

/// The token of the seat, which leads.
pub(crate) async fn wins(seat: &mut Box<dyn Seat>, second: u64) -> Token {
    match seat.refresh(at(second)).await.expect("a standing").standing {
        Standing::Leading { token, .. } => token,
        _ => panic!("it does not lead"),
    }
}

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
    Data, Document, Documents, IsNews, Listed, Listing, Name, Purpose, Record, RecordStore,
    Removed, Stored, Swapped,
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
}

/// What is wrong with a store that answers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Illness {
    /// Lists leave waiters out.
    HidesWaiters,
    /// No record is written: there is always said to be another version.
    IsAhead,
}

#[derive(Default)]
pub(crate) struct Inner {
    revision: u64,
    pub(crate) docs: BTreeMap<Name, Stored>,
    /// The revision of each removal.
    removed: BTreeMap<Name, u64>,
    watched: BTreeMap<Name, watch::Sender<()>>,
    all_watched: watch::Sender<()>,
    pub(crate) counts: Counts,
    /// The duration of each request.
    pub(crate) latency: Duration,
    /// The next swap of this document and purpose is held back until it is delivered.
    pub(crate) hold: Option<(Name, Purpose)>,
    held: Vec<(Name, u64, Document)>,
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
    pub(crate) fn version(&self, name: Name) -> u64 {
        self.docs.get(&name).map_or(0, |stored| stored.version)
    }

    fn changed(&mut self, name: Name) {
        self.all_watched.send_replace(());
        if let Some(watched) = self.watched.get(&name) {
            watched.send_replace(());
        }
    }

    pub(crate) fn swap(&mut self, name: Name, expected: u64, document: &Document) -> Swapped {
        if self.version(name) != expected {
            return Swapped::No;
        }
        self.revision += 1;
        let version = self.revision;
        self.docs.insert(name, Stored { version, document: document.clone() });
        self.changed(name);
        Swapped::Yes(version)
    }

    pub(crate) fn remove(&mut self, name: Name) {
        self.revision += 1;
        self.docs.remove(&name);
        self.removed.insert(name, self.revision);
        self.changed(name);
    }

    pub(crate) fn record(&self) -> Record {
        match self.docs.get(&Name::Record).map(|stored| &stored.document) {
            Some(Document::Record(record)) => record.clone(),
            _ => Record::default(),
        }
    }

    pub(crate) fn write(&mut self, change: impl FnOnce(&mut Record)) {
        let (version, mut record) = (self.version(Name::Record), self.record());
        change(&mut record);
        let swapped = self.swap(Name::Record, version, &Document::Record(record));
        assert!(matches!(swapped, Swapped::Yes(_)));
    }

    pub(crate) fn list(&self) -> Listing {
        let mut listing = Listing { revision: self.revision, ..Listing::default() };
        for (name, stored) in &self.docs {
            match (name, &stored.document) {
                (Name::Waiter(nonce), Document::Waiter(waiter))
                    if self.illness != Some(Illness::HidesWaiters) =>
                {
                    let (nonce, version, waiter) = (*nonce, stored.version, waiter.clone());
                    listing.waiters.push(Listed { nonce, version, waiter });
                }
                (Name::Record, Document::Record(record)) if !self.damaged => {
                    listing.record = Some((stored.version, record.clone()));
                }
                _ => {}
            }
        }
        listing
    }

    /// The documents that were written or removed since.
    fn changes(&self, since: u64) -> Vec<(Name, Option<Document>)> {
        let written = self.docs.iter().filter(|(_, stored)| stored.version > since);
        let written = written.map(|(name, stored)| (*name, Some(stored.document.clone())));
        let removed =
            self.removed.iter().filter(|(name, at)| **at > since && !self.docs.contains_key(name));
        written.chain(removed.map(|(name, _)| (*name, None))).collect()
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
    pub(crate) fn deliver(&self) -> Vec<Swapped> {
        self.with(|inner| {
            let held = std::mem::take(&mut inner.held);
            held.iter()
                .map(|(name, expected, document)| inner.swap(*name, *expected, document))
                .collect()
        })
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
    fn holds(&self, name: Name, purpose: Purpose, expected: u64, document: &Document) -> bool {
        self.with(|inner| {
            if inner.before.as_ref().is_some_and(|(n, p, _)| (*n, *p) == (name, purpose)) {
                let (_, _, act) = inner.before.take().expect("as it was made");
                act(inner);
            }
            if name == Name::Data && inner.busy > 0 {
                inner.busy -= 1;
                inner.swap(name, inner.version(name), &Document::Data(Data::default()));
            }
            let is_held = inner.hold == Some((name, purpose));
            if is_held {
                inner.hold = None;
                inner.held.push((name, expected, document.clone()));
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
        Ok(self.ask(|counts| &mut counts.reads, |inner| inner.docs.get(&name).cloned()).await)
    }

    async fn swap(
        &self,
        _: &ElectionName,
        name: Name,
        expected: u64,
        document: &Document,
        purpose: Purpose,
    ) -> Result<Swapped, Error> {
        if self.holds(name, purpose, expected, document) {
            std::future::pending::<()>().await;
        }
        if let (Document::Record(record), Some(most)) =
            (document, self.with(|inner| inner.longest_history))
            && record.history.as_ref().is_some_and(|text| text.bytes.len() > most)
        {
            return Err(Error::new(ErrorKind::Unfit, "the document is too long"));
        }
        let swap = |inner: &mut Inner| match name {
            Name::Record if inner.illness == Some(Illness::IsAhead) => Swapped::No,
            _ => inner.swap(name, expected, document),
        };
        Ok(self.ask(|counts| &mut counts.writes, swap).await)
    }

    async fn remove(
        &self,
        _: &ElectionName,
        name: Name,
        version: u64,
        _: Purpose,
    ) -> Result<Removed, Error> {
        let remove = |inner: &mut Inner| match inner.version(name) {
            0 => Removed::Yes,
            present if present == version => {
                inner.remove(name);
                Removed::Yes
            }
            _ => Removed::No,
        };
        Ok(self.ask(|counts| &mut counts.writes, remove).await)
    }

    async fn list(&self, _: &ElectionName, _: Purpose) -> Result<Listing, Error> {
        self.is_there(false)?;
        Ok(self.ask(|counts| &mut counts.lists, |inner| inner.list()).await)
    }

    async fn records(&self) -> Result<Vec<(ElectionName, Record)>, Error> {
        Ok(self.with(|inner| {
            let is_there = inner.version(Name::Record) > 0;
            is_there.then(|| (election(), inner.record())).into_iter().collect()
        }))
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
            let found = self.with(|inner| inner.docs.get(&name).cloned());
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
            let (present, all) = self.with(|inner| (inner.revision, inner.changes(revision)));
            for (name, document) in all {
                if is_news(name, document.as_ref()) {
                    return Ok(());
                }
            }
            revision = present;
            self.change(&mut changes).await;
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

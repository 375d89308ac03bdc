//! A table in memory as a bench for the laws.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{Boottime, Candidate, ElectionName, Error, ErrorKind, Seat, Store};
use elect_record::RecordStore;
use elect_record::table::{
    Body, Found, Heard, Key, MemoryTable, Put, Range, Rows, Table, TableDocuments, Tag,
};
use elect_testkit::sim::{Clock, ManualClock};
use elect_testkit::table::by_hand;
use elect_testkit::{Bench, Stall};
use tokio::sync::watch;

/// A table in memory whose answers a test can stop, and whose writes it sees.
#[derive(Clone, Default)]
pub(crate) struct Stallable {
    pub(crate) table: MemoryTable,
    pub(crate) stalled: watch::Sender<bool>,
    /// Whether it tells of no change.
    pub(crate) is_mute: bool,
    /// Whether it fails to tell of changes.
    pub(crate) fails_to_tell: bool,
    /// No answer tells what came of an attempt to make the table.
    pub(crate) fails_to_prepare: bool,
    /// How many rows were read alone.
    pub(crate) reads: Arc<AtomicU64>,
    /// All bodies that were written.
    pub(crate) written: Arc<Mutex<Vec<Body>>>,
    /// Wakes those who wait for a leader to leave, where it tells of no other change.
    pub(crate) left: Option<watch::Sender<()>>,
    /// The greatest number of those who waited so at once, and how often one began to.
    pub(crate) most_waited: Arc<AtomicU64>,
    pub(crate) waits: Arc<AtomicU64>,
}

impl Stallable {
    async fn gate(&self) {
        let mut stalled = self.stalled.subscribe();
        let _ = stalled.wait_for(|stalled| !stalled).await;
    }
}

#[async_trait]
impl Table for Stallable {
    fn profile(&self) -> elect_api::Profile {
        self.table.profile()
    }

    fn may_lose(&self) -> bool {
        self.table.may_lose()
    }

    fn tells(&self) -> bool {
        !self.is_mute
    }

    async fn get(&self, key: Key<'_>) -> Result<Found, Error> {
        self.gate().await;
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.table.get(key).await
    }

    async fn put(
        &self,
        key: Key<'_>,
        epoch: &str,
        expected: Option<&Tag>,
        body: &Body,
    ) -> Result<Put, Error> {
        self.gate().await;
        self.written.lock().expect("no panic").push(body.clone());
        let put = self.table.put(key, epoch, expected, body).await?;
        if let (Put::Done(_), Some(false), Some(left)) = (&put, body.leads, &self.left) {
            left.send_replace(());
        }
        Ok(put)
    }

    async fn prepare(&self) -> Result<(), Error> {
        if self.fails_to_prepare {
            return Err(Error::new(ErrorKind::Ambiguous, "no answer"));
        }
        self.table.prepare().await
    }

    async fn delete(&self, key: Key<'_>, tag: &Tag) -> Result<bool, Error> {
        self.gate().await;
        self.table.delete(key, tag).await
    }

    async fn scan(&self, range: Range<'_>) -> Result<Rows, Error> {
        self.gate().await;
        self.table.scan(range).await
    }

    async fn changed(&self, range: Range<'_>) -> Result<(), Error> {
        if self.is_mute {
            return std::future::pending().await;
        }
        if self.fails_to_tell {
            return Err(Error::new(ErrorKind::Unreachable, "no notices"));
        }
        self.table.changed(range).await
    }

    async fn vacated(&self, election: &str) -> Result<(), Error> {
        if !self.is_mute {
            return self.changed(Range::Row(Key { election, document: Key::LEADER })).await;
        }
        let Some(left) = &self.left else { return std::future::pending().await };
        let mut wakes = left.subscribe();
        self.waits.fetch_add(1, Ordering::Relaxed);
        let waiting = u64::try_from(left.receiver_count()).expect("few");
        self.most_waited.fetch_max(waiting, Ordering::Relaxed);
        let _ = wakes.changed().await;
        Ok(())
    }

    fn heard(&self, key: Key<'_>) -> Heard {
        if self.is_mute || self.fails_to_tell { Heard::default() } else { self.table.heard(key) }
    }
}

pub(crate) struct TableBench {
    table: Stallable,
    clock: ManualClock,
}

impl TableBench {
    pub(crate) fn new(table: MemoryTable) -> Self {
        let table = Stallable { table, ..Stallable::default() };
        Self { table, clock: ManualClock::default() }
    }

    /// A table that tells of no change.
    pub(crate) fn mute(table: MemoryTable) -> Self {
        let table = Stallable { table, is_mute: true, ..Stallable::default() };
        Self { table, clock: ManualClock::default() }
    }

    fn documents(&self) -> TableDocuments<MemoryTable> {
        TableDocuments::new(self.table.table.clone())
    }

    fn store(&self) -> RecordStore {
        RecordStore::new(TableDocuments::new(self.table.clone()))
    }
}

#[async_trait]
impl Bench for TableBench {
    async fn connect(&self) -> Box<dyn Store> {
        Box::new(self.store())
    }

    fn now(&self) -> Boottime {
        self.clock.now()
    }

    async fn advance(&self, span: Duration) {
        self.clock.advance(span);
    }

    async fn crash(&self, store: Box<dyn Store>, seat: Box<dyn Seat>) {
        by_hand::crash(self.documents(), store, seat).await;
    }

    async fn wipe(&self, election: &ElectionName) {
        by_hand::wipe(&self.documents(), election).await;
    }

    async fn evict(&self, election: &ElectionName, candidate: &Candidate) {
        by_hand::evict(&self.documents(), election, candidate).await;
    }

    async fn stall(&self, _: &ElectionName) -> Stall {
        self.table.stalled.send_replace(true);
        Box::new(Stalled(self.table.stalled.clone()))
    }
}

struct Stalled(watch::Sender<bool>);

impl Drop for Stalled {
    fn drop(&mut self) {
        self.0.send_replace(false);
    }
}

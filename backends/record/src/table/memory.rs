//! A table in memory, for tests and simulations. A test can make it lose writes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{Cadence, Error, Lease, Order, Profile};
use tokio::sync::watch;

use super::{Body, Epoch, Found, Heard, Key, Put, Range, Row, Rows, Table, Tag};

/// A table in memory. Clones share the rows.
#[derive(Clone, Default)]
pub struct MemoryTable {
    inner: Arc<Mutex<Inner>>,
    /// The number of changes so far.
    changes: watch::Sender<u64>,
}

type Content = BTreeMap<(String, String), Row>;

#[derive(Clone, Default)]
struct Inner {
    rows: Content,
    /// The rows before each of the newest writes, the oldest first.
    past: Vec<Content>,
    writes: u64,
    /// 0 while no write was ever lost.
    losses: u64,
    may_lose: bool,
}

/// The number of writes that a [lossy](MemoryTable::lossy) table can lose.
const MOST_LOST: usize = 64;

impl MemoryTable {
    /// A table that can lose its newest writes.
    pub fn lossy() -> Self {
        let table = Self::default();
        table.with(|inner| inner.may_lose = true);
        table
    }

    /// Loses this many of the newest writes, at most 64, and begins another epoch. A fail-over to a replica
    /// that lags does so.
    pub fn lose(&self, writes: usize) {
        self.with(|inner| {
            let kept = inner.past.len().saturating_sub(writes);
            if let Some(before) = inner.past.drain(kept..).next() {
                inner.rows = before;
            }
            inner.losses += 1;
        });
    }

    /// Loses all writes, and begins another epoch. A restart of a store without a disk does so.
    pub fn lose_all(&self) {
        self.with(|inner| {
            inner.rows.clear();
            inner.past.clear();
            inner.losses += 1;
        });
    }

    fn with<R>(&self, f: impl FnOnce(&mut Inner) -> R) -> R {
        f(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Inner {
    fn epoch(&self) -> Epoch {
        if !self.may_lose {
            return Epoch::only();
        }
        let age = if self.losses == 0 { Duration::MAX } else { Duration::ZERO };
        Epoch { name: format!("e{}", self.losses), age }
    }

    fn change(&mut self) {
        self.writes += 1;
        if self.may_lose {
            let excess = (self.past.len() + 1).saturating_sub(MOST_LOST);
            self.past.drain(..excess);
            self.past.push(self.rows.clone());
        }
    }

    fn tag(&self, key: Key<'_>) -> Option<&Tag> {
        self.rows.get(&owned(key)).map(|row| &row.tag)
    }
}

#[async_trait]
impl Table for MemoryTable {
    fn profile(&self) -> Profile {
        Profile::new("memory", "memory:".to_owned(), Lease::Timed(Cadence::RECORD), Order::Queue)
    }

    fn may_lose(&self) -> bool {
        self.with(|inner| inner.may_lose)
    }

    fn tells(&self) -> bool {
        true
    }

    async fn get(&self, key: Key<'_>) -> Result<Found, Error> {
        Ok(self.with(|inner| Found {
            epoch: inner.epoch(),
            row: inner.rows.get(&owned(key)).cloned(),
        }))
    }

    async fn put(
        &self,
        key: Key<'_>,
        epoch: &str,
        expected: Option<&Tag>,
        body: &Body,
    ) -> Result<Put, Error> {
        let put = self.with(|inner| {
            if inner.epoch().name != epoch || inner.tag(key) != expected {
                return Put::Conflict;
            }
            inner.change();
            let tag = Tag(inner.writes.to_string());
            let body = Body {
                has_same_cells: false,
                is_renewal: false,
                has_request: false,
                leads: None,
                ..body.clone()
            };
            inner.rows.insert(owned(key), Row { tag: tag.clone(), body });
            Put::Done(tag)
        });
        self.changes.send_modify(|count| *count += 1);
        Ok(put)
    }

    async fn delete(&self, key: Key<'_>, tag: &Tag) -> Result<bool, Error> {
        let is_gone = self.with(|inner| match inner.tag(key) {
            None => true,
            Some(other) if other != tag => false,
            Some(_) => {
                inner.change();
                inner.rows.remove(&owned(key));
                true
            }
        });
        self.changes.send_modify(|count| *count += 1);
        Ok(is_gone)
    }

    async fn scan(&self, range: Range<'_>) -> Result<Rows, Error> {
        Ok(self.with(|inner| {
            let is_in = |(election, document): &(&String, &String)| {
                range.contains(Key { election, document })
            };
            let rows =
                inner.rows.iter().map(|((election, document), row)| ((election, document), row));
            let rows = rows.filter(|(key, _)| is_in(key)).map(|((election, document), row)| {
                (election.clone(), document.clone(), row.clone())
            });
            Rows { epoch: inner.epoch(), rows: rows.collect() }
        }))
    }

    async fn changed(&self, _range: Range<'_>) -> Result<(), Error> {
        let mut changes = self.changes.subscribe();
        // The table itself keeps the sender.
        let _ = changes.changed().await;
        Ok(())
    }

    fn heard(&self, _key: Key<'_>) -> Heard {
        // It tells of all changes, except for losses.
        let mark = *self.changes.borrow() + (self.with(|inner| inner.losses) << 32);
        Heard { row: Some(mark), requests: Some(mark) }
    }
}

fn owned(key: Key<'_>) -> (String, String) {
    (key.election.to_owned(), key.document.to_owned())
}

//! A seat reads and writes the cells of leaders.

use elect_api::{Cell, Error, WatchedCell, Written, never};

use super::{EntryState, EtcdSeat};
use crate::cells::{self, Found};
use crate::error::{Doing, Failure, Setback, odd};
use crate::link::Attempt;
use crate::queue::{self, Ask, By};
use crate::reply::{self, whole};
use crate::watch::{self, Begin, Event};

/// More than the number of writes that a seat may have under way.
const TRIES: usize = 8;

impl EtcdSeat {
    pub(super) async fn read_up(&mut self, cell: Cell<'_>) -> Result<WatchedCell, Error> {
        let attempt = self.link.attempt(self.keyspace.above(cell)).await?;
        let cell = self.read_watched(&attempt, cell).await;
        attempt.conclude(cell).await
    }

    pub(super) async fn write_down(
        &mut self,
        cell: Cell<'_>,
        bytes: &[u8],
    ) -> Result<Written, Error> {
        let revision = match &self.stage {
            EntryState::In(entry) if entry.leads() => entry.revision(),
            EntryState::Lost(why) => return Ok(Written::Gone(why.clone())),
            EntryState::In(_) | EntryState::Out | EntryState::Entering => {
                return Ok(Written::Gone("we do not lead".into()));
            }
        };
        let attempt = self.link.attempt(self.keyspace.above(cell)).await?;
        let written = self.write_at(&attempt, revision, cell, bytes).await;
        attempt.conclude(written).await
    }

    /// Writes a cell if the entry created at `revision` is there.
    ///
    /// An earlier call that was dropped may have sent a write. That write is carried out before this one, or not at
    /// all: each replaces the text that was known when it was sent.
    async fn write_at(
        &mut self,
        attempt: &Attempt,
        revision: i64,
        cell: Cell<'_>,
        bytes: &[u8],
    ) -> Result<Written, Setback> {
        let key = self.keyspace.cell(cell);
        for _ in 0..TRIES {
            let known = self.seen.get(&key).copied().unwrap_or(0);
            let ask = Ask::Cell { key: key.clone(), seen: known, text: bytes.to_vec() };
            let how = (attempt.store_check(), By::Read);
            let txn = queue::prove(&self.keyspace, self.mark(), revision, ask, how);
            let reply = attempt.client().txn(txn).await.and_then(whole);
            let reply = reply.map_err(|cause| Failure { doing: Doing::writing(cell), cause })?;
            if reply.succeeded() {
                let written = reply::revision_of(&reply);
                self.seen.insert(key, written);
                return Ok(Written::Yes(written.unsigned_abs()));
            }
            attempt.admit_missing(&reply)?;
            let seen = reply::cell_seen(&reply);
            if seen == known {
                return Ok(Written::Gone(self.lose()));
            }
            self.seen.insert(key.clone(), seen);
        }
        Err(odd(&format!("{cell} changes as we write it: trying again helps")))
    }

    /// Reads the cell from the store, and watches it if its changes wake.
    async fn read_watched(
        &mut self,
        attempt: &Attempt,
        cell: Cell<'_>,
    ) -> Result<WatchedCell, Failure> {
        let Found { cell: found, seen } =
            cells::read(&attempt.client(), &self.keyspace, cell).await?;
        let key = self.keyspace.cell(cell);
        self.seen.insert(key.clone(), i64::try_from(found.version).unwrap_or(i64::MAX));
        let wake = if cell.is_watched() {
            let change = vec![Event::Change(key)];
            watch::watch_for(&mut self.read, attempt, seen, change, Begin::AtOnce)
        } else {
            never()
        };
        Ok(WatchedCell { bytes: found.bytes, wake })
    }
}

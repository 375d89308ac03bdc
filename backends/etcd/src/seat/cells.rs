//! A seat reads and writes the cells of leaders.

use elect_api::{Cell, Error, ErrorKind, Note, Written, never};

use super::{EtcdSeat, Stage};
use crate::cells::{self, Found};
use crate::error::{Doing, Failure, Setback};
use crate::link::Attempt;
use crate::queue::{self, Ask, By};
use crate::reply::{self, whole};
use crate::watch::{self, Event, Stand};

/// More than the writes that a seat may have under way.
const TRIES: usize = 8;

impl EtcdSeat {
    pub(super) async fn read_up(&mut self, cell: Cell<'_>) -> Result<Note, Error> {
        let attempt = self.link.attempt(self.keyspace.above(cell)).await?;
        match self.look(&attempt, cell).await {
            Ok(note) => {
                attempt.succeed();
                Ok(note)
            }
            Err(failure) => Err(attempt.fail(&failure).await),
        }
    }

    pub(super) async fn write_down(
        &mut self,
        cell: Cell<'_>,
        bytes: &[u8],
    ) -> Result<Written, Error> {
        let revision = match &self.stage {
            Stage::In(entry) if entry.leads() => entry.revision(),
            Stage::Lost(why) => return Ok(Written::Gone(why.clone())),
            Stage::In(_) | Stage::Out | Stage::Entering => {
                return Ok(Written::Gone("we do not lead".into()));
            }
        };
        let attempt = self.link.attempt(self.keyspace.above(cell)).await?;
        let key = self.keyspace.cell(cell);
        // What an earlier call has sent, and was dropped since, may be carried out before this or not at all:
        // each takes the place of what was there when it was sent.
        for _ in 0..TRIES {
            let known = self.seen.get(&key).copied().unwrap_or(0);
            let ask = Ask::Cell { key: key.clone(), seen: known, text: bytes.to_vec() };
            let txn = queue::prove(
                &self.keyspace,
                self.mark(),
                revision,
                ask,
                (attempt.badge(), By::Read),
            );
            let reply = match attempt.client().txn(txn).await.and_then(whole) {
                Ok(reply) => reply,
                Err(cause) => {
                    let doing = Doing::writing(cell);
                    return Err(attempt.fail(&Failure { doing, cause }).await);
                }
            };
            if reply.succeeded() {
                attempt.succeed();
                let written = reply::revision_of(&reply);
                self.seen.insert(key, written);
                return Ok(Written::Yes(written.unsigned_abs()));
            }
            if let Err(Setback::Foreign(error)) = attempt.admit_missing(&reply) {
                return Err(attempt.refuse(error));
            }
            let seen = reply::cell_seen(&reply);
            if seen == known {
                attempt.succeed();
                return Ok(Written::Gone(self.lose()));
            }
            self.seen.insert(key.clone(), seen);
        }
        attempt.succeed();
        let what = format!("{cell} changes as we write it: trying again helps");
        Err(Error::new(ErrorKind::Unreachable, what))
    }

    /// What the store has under the key of a cell.
    async fn look(&mut self, attempt: &Attempt, cell: Cell<'_>) -> Result<Note, Failure> {
        let Found { cell: found, seen } =
            cells::read(&attempt.client(), &self.keyspace, cell).await?;
        let key = self.keyspace.cell(cell);
        self.seen.insert(key.clone(), i64::try_from(found.version).unwrap_or(i64::MAX));
        let wake = if cell.is_watched() {
            let change = vec![Event::Change(key)];
            watch::look_out(&mut self.read, attempt, seen, change, Stand::AtOnce)
        } else {
            never()
        };
        Ok(Note { bytes: found.bytes, wake })
    }
}

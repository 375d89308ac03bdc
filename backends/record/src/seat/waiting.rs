//! The candidate's waiter: the document that says that the candidate waits, and since when. Also the removal of dead
//! waiters.

use std::time::Duration;

use elect_api::{Boottime, Cell, Error, Standing, first_of, never};

use super::{RecordSeat, millis, of_record};
use crate::documents::{Document, Listing, Name, Purpose, Swapped};
use crate::election::{Known, wake};
use crate::guards::{Guard, is_off};
use crate::line::{CLOSE, Position};
use crate::{Listed, Waiter};

/// The number of waiters that renew at each poll. The others renew once in a lease.
pub(super) const NEAR: usize = 3;
/// How long the waiters of the others count, in leases.
const FAR_TTL: u32 = 4;

/// The candidate's waiter, as it was written last.
pub(super) struct OwnWaiter {
    pub(super) waiter: Waiter,
    version: u64,
    renewed: Boottime,
}

/// The state of the candidate's waiter.
pub(super) enum Kept {
    /// It exists, or is not needed.
    There,
    /// It has returned to an earlier place than a newcomer's. The candidate must look again who is before it.
    Back,
    /// Another candidate or a person has removed it.
    Removed,
}

impl RecordSeat {
    /// Removes the waiters of dead candidates, once in a lease, as there may be no waiter behind them to do so. Its
    /// outcome does not affect the leadership.
    pub(super) async fn sweep(&mut self, now: Boottime) {
        if !self.election.queues() || now.since(self.swept) < self.ttl {
            return;
        }
        // Set before the call. So a call without an answer costs one renewal, and not the next one as well.
        self.swept = now;
        let listing = self.election.list(Purpose::Poll).await;
        let Ok(Listing { record: Some((_, record)), waiters, .. }) = listing else { return };
        let position = self.line.locate(now, &record, &waiters, self.nonce);
        let _ = self.remove_dead(&position).await;
    }

    pub(super) async fn remove_dead(&self, position: &Position) -> Result<(), Error> {
        for (nonce, version) in &position.dead {
            let (election, name) = (&self.election, Name::Waiter(*nonce));
            election.documents.remove(&election.name, name, *version, Purpose::Poll).await?;
        }
        Ok(())
    }

    /// Makes the candidate's waiter, unless the candidate can take the record at once, or renews it.
    pub(super) async fn keep_waiting(
        &mut self,
        now: Boottime,
        waiters: &[Listed],
        position: &Position,
        is_vacant: bool,
    ) -> Result<Kept, Error> {
        let found = waiters.iter().find(|other| other.nonce == self.nonce);
        let ttl = if position.ahead < NEAR { self.ttl } else { self.ttl.saturating_mul(FAR_TTL) };
        let (ttl, ahead) = (millis(ttl), u64::try_from(position.ahead).ok());
        match (found, &self.waiter) {
            (None, Some(ours)) if ours.waiter.rank.is_some() => return Ok(Kept::Removed),
            (None, _) if is_vacant && position.ahead == 0 => {}
            (None, _) => {
                let waiter = Waiter {
                    rank: None,
                    arrived: self.arrived,
                    ahead,
                    beat: 0,
                    ttl,
                    candidate: self.candidate.clone(),
                    joined: self.joined,
                };
                if let Some(version) = self.write_waiter(now, 0, waiter.clone()).await? {
                    let rank = Some(self.rank.unwrap_or(version));
                    self.write_waiter(now, version, Waiter { rank, ..waiter }).await?;
                }
                // The waiters behind now wait for this one, so this one must not wait for them.
                if self.rank.is_some() {
                    return Ok(Kept::Back);
                }
            }
            (Some(Listed { version, waiter, .. }), ours) => {
                let is_near = position.ahead < NEAR;
                // A poll out of turn, such as the one after the entry, renews nothing.
                let pause = if is_near { self.ttl / 12 } else { self.ttl };
                let is_due = ours.as_ref().is_none_or(|OwnWaiter { waiter, renewed, .. }| {
                    let is_true = ttl == waiter.ttl && (!is_near || ahead == waiter.ahead);
                    !is_true || now.since(*renewed) >= pause
                });
                let known = ours.as_ref().and_then(|ours| ours.waiter.rank);
                let rank = known.or(waiter.rank).or(self.rank).unwrap_or(*version);
                if is_due || waiter.rank.is_none() {
                    let beat = waiter.beat.wrapping_add(1);
                    let waiter = Waiter { rank: Some(rank), ahead, beat, ttl, ..waiter.clone() };
                    self.write_waiter(now, *version, waiter).await?;
                } else if let Some(ours) = &mut self.waiter {
                    (ours.waiter, ours.version) = (waiter.clone(), *version);
                }
            }
        }
        Ok(Kept::There)
    }

    /// Writes the candidate's waiter. Returns its new version, or `None` if it had another version than expected.
    async fn write_waiter(
        &mut self,
        now: Boottime,
        expected: u64,
        waiter: Waiter,
    ) -> Result<Option<u64>, Error> {
        let election = &self.election;
        let document = Document::Waiter(waiter.clone());
        let name = Name::Waiter(self.nonce);
        self.has_entered = true;
        let purpose = if expected == 0 { Purpose::Enter } else { Purpose::Renew };
        let swap = election.documents.swap(&election.name, name, expected, &document, purpose);
        let Swapped::Yes(version) = swap.await? else { return Ok(None) };
        self.waiter = Some(OwnWaiter { waiter, version, renewed: now });
        Ok(Some(version))
    }

    /// Renews the candidate's waiter at the known version. Returns false if it has another version.
    pub(super) async fn renew_waiter(&mut self, now: Boottime) -> Result<bool, Error> {
        let Some(OwnWaiter { waiter, version, .. }) = &self.waiter else { return Ok(false) };
        let waiter = Waiter { beat: waiter.beat.wrapping_add(1), ..waiter.clone() };
        Ok(self.write_waiter(now, *version, waiter).await?.is_some())
    }

    /// Returns whether the candidate's waiter is there as it was written last.
    pub(super) async fn has_its_waiter(&self) -> Result<bool, Error> {
        let Some(ours) = &self.waiter else { return Ok(false) };
        let found = self.election.waiter(self.nonce, Purpose::Poll).await?;
        Ok(found.is_some_and(|(version, _)| version == ours.version))
    }

    /// Returns how long a waiter with this many before it leaves a vacant record to them.
    pub(super) fn turn(&self, ahead: usize) -> Duration {
        let ahead = u32::try_from(ahead).unwrap_or(u32::MAX);
        (self.ttl / 6).saturating_mul(ahead)
    }

    pub(super) fn wait(&mut self, now: Boottime, known: &Known, position: &Position) -> Standing {
        // The candidate that has made the record since may have left it already.
        self.wait_for(now, known, position, known.version == 0)
    }

    /// Waits for another leader, or for any change of the record.
    pub(super) fn wait_for(
        &mut self,
        now: Boottime,
        known: &Known,
        position: &Position,
        any_change: bool,
    ) -> Standing {
        let holder = known.record.holder.as_ref();
        let ahead = position.ahead + usize::from(holder.is_some());
        let alive = position.lives || holder.is_some() && self.holder.lives();
        if let Some(standing) = self.stand_back(now, known, position, (ahead, alive)) {
            return standing;
        }
        // Too many are before it for a notice to concern it, and its next refresh lists anyway.
        if ahead > CLOSE && self.election.documents.wakes_all() {
            return Standing::Waiting { ahead, alive, wake: never() };
        }
        let (nonce, control) = (holder.map(|holder| holder.nonce), self.control.version);
        let mut wakes = vec![if position.ahead == 0 || is_off(Guard::OneWake) {
            wake(self.election.watch_turn(
                known.version,
                of_record(move |record| {
                    let other = record.holder.as_ref().map(|holder| holder.nonce) != nonce;
                    any_change || other || record.cell(Cell::Control).version != control
                }),
            ))
        } else {
            wake(self.election.watch_requests(known.version, control))
        }];
        if let Some((before, version)) = position.before {
            let is_gone = |found: Option<&Document>| found.is_none();
            wakes.push(self.election.wake(Name::Waiter(before), version, is_gone));
        }
        Standing::Waiting { ahead, alive, wake: first_of(wakes) }
    }
}

//! Our waiter: the document that says that we wait, and since when. And those of the dead.

use std::time::Duration;

use elect_api::{Boottime, Cell, Error, Standing, first_of};

use super::{RecordSeat, millis};
use crate::documents::{Document, Listing, Name, Purpose, Swapped};
use crate::election::Known;
use crate::guards::{Guard, is_off};
use crate::line::Position;
use crate::{Listed, Waiter};

/// How many candidates renew their waiters each time they look; the others do it once in a lease.
pub(super) const NEAR: usize = 3;
/// How long the waiters of the others count, in leases.
const FAR_TTL: u32 = 4;

/// Our waiter, as we wrote it last.
pub(super) struct Ours {
    pub(super) waiter: Waiter,
    version: u64,
    renewed: Boottime,
}

/// What was found of our waiter.
pub(super) enum Kept {
    /// It is there, or is not needed.
    There,
    /// It has come back to an earlier place than that of a newcomer: who is before it is to be seen.
    Back,
    /// Somebody has removed it.
    Removed,
}

impl RecordSeat {
    /// Removes the waiters of those who are dead, once in a lease: there may be nobody behind them who does. What comes
    /// of it does not matter to who leads.
    pub(super) async fn sweep(&mut self, now: Boottime) {
        if !self.election.queues() || now.since(self.swept) < self.ttl {
            return;
        }
        // Before the call: one that is never answered costs a renewal, and not the next one as well.
        self.swept = now;
        let listing = self.election.look(Purpose::Look).await;
        let Ok(Listing { record: Some((_, record)), waiters, .. }) = listing else { return };
        let position = self.line.look(now, &record, &waiters, self.nonce);
        let _ = self.remove_dead(&position).await;
    }

    pub(super) async fn remove_dead(&self, position: &Position) -> Result<(), Error> {
        for (nonce, version) in &position.dead {
            let (election, name) = (&self.election, Name::Waiter(*nonce));
            election.documents.remove(&election.name, name, *version, Purpose::Look).await?;
        }
        Ok(())
    }

    /// Makes our waiter, unless we can take the record at once, or renews it.
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
                // Those behind it wait for it now, and it must not wait for them.
                if self.rank.is_some() {
                    return Ok(Kept::Back);
                }
            }
            (Some(Listed { version, waiter, .. }), ours) => {
                let is_near = position.ahead < NEAR;
                let is_due = ours.as_ref().is_none_or(|ours| {
                    is_near || ttl != ours.waiter.ttl || now.since(ours.renewed) >= self.ttl
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

    /// Writes our waiter; its version, unless it had another one than this.
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
        self.waiter = Some(Ours { waiter, version, renewed: now });
        Ok(Some(version))
    }

    /// Renews our waiter as we know it; false if it is another one.
    pub(super) async fn renew_waiter(&mut self, now: Boottime) -> Result<bool, Error> {
        let Some(Ours { waiter, version, .. }) = &self.waiter else { return Ok(false) };
        let waiter = Waiter { beat: waiter.beat.wrapping_add(1), ..waiter.clone() };
        Ok(self.write_waiter(now, *version, waiter).await?.is_some())
    }

    /// Whether our waiter is there as we wrote it.
    pub(super) async fn has_its_waiter(&self) -> Result<bool, Error> {
        let Some(ours) = &self.waiter else { return Ok(false) };
        let found = self.election.waiter(self.nonce, Purpose::Look).await?;
        Ok(found.is_some_and(|(version, _)| version == ours.version))
    }

    /// For how long somebody with so many before it lets them take what is vacant.
    pub(super) fn turn(&self, ahead: usize) -> Duration {
        let ahead = u32::try_from(ahead).unwrap_or(u32::MAX);
        (self.ttl / 6).saturating_mul(ahead)
    }

    pub(super) fn wait(&mut self, now: Boottime, known: &Known, position: &Position) -> Standing {
        let holder = known.record.holder.as_ref();
        let ahead = position.ahead + usize::from(holder.is_some());
        let alive = position.lives || holder.is_some() && self.holder.lives();
        if let Some(standing) = self.stand_back(now, known, position, (ahead, alive)) {
            return standing;
        }
        let (nonce, control) = (holder.map(|holder| holder.nonce), self.control.version);
        let is_next = position.ahead == 0 || is_off(Guard::OneWake);
        // Who has made it since may have left it already.
        let is_new = known.version == 0;
        let mut wakes = vec![self.wake_by_record(known.version, move |record| {
            let other = record.holder.as_ref().map(|holder| holder.nonce) != nonce;
            is_next && (is_new || other) || record.cell(Cell::Control).version != control
        })];
        if let Some((before, version)) = position.before {
            let is_gone = |found: Option<&Document>| found.is_none();
            wakes.push(self.election.wake(Name::Waiter(before), version, is_gone));
        }
        Standing::Waiting { ahead, alive, wake: first_of(wakes) }
    }
}

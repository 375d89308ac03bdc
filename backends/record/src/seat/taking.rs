//! A vacant record: how a candidate finds that a lease is over, and takes the record.

use std::time::Duration;

use elect_api::{Boottime, Error, ErrorKind, Standing, awake, stamp};

use super::{Mark, RecordSeat, State, millis};
use crate::documents::{Purpose, Swapped};
use crate::election::Known;
use crate::guards::{Guard, is_off};
use crate::line::Position;
use crate::table::LONGEST_LEASE;
use crate::{Holder, Record};

/// How often a candidate that was overtaken polls again at once. A store that goes on saying so is not well.
const MOST_OVERTAKEN: u32 = 4;

/// How far a token is ahead of the clock if the store may have lost the newest tokens: a day of microseconds. Tokens
/// follow the versions, and these the clocks of the candidates. So the lost ones are less, if no clock is a day fast.
const LEAP: u64 = 24 * 60 * 60 * 1_000_000;

impl RecordSeat {
    /// Returns whether the record has no holder, or one whose lease is over.
    pub(super) fn is_vacant(&mut self, now: Boottime, known: &Known) -> bool {
        let (record, is_there) = (&known.record, !self.is_lost(known));
        if is_there {
            let mark = |holder: &Holder| (record.token, holder.nonce, holder.beat);
            self.held = record.holder.as_ref().map(|holder| (mark(holder), holder.ttl()));
        }
        let mut held = self.held.filter(|_| is_there || !is_off(Guard::Removed));
        let doubt = &record.doubt;
        if doubt.is_some() {
            // A leader that the store has forgotten may have any nonce and the longest lease.
            let mark = held.map_or((record.token, 0, 0), |(mark, _)| mark);
            held = Some((mark, LONGEST_LEASE));
        }
        let is_vacant = held.is_none_or(|(mark, ttl)| {
            // A gap between two polls counts only up to this limit, because a suspended machine may not know how long
            // it slept. The candidate polls six times in a lease of its own. The mark also changes when the record
            // disappears, as the lease may have been renewed once more just before that.
            let mark = (mark, is_there, doubt.clone());
            self.holder.is_over(now, mark, ttl, (ttl / 3).max(self.ttl / 5))
        });
        if !is_there {
            self.holder.doubt();
        }
        let since = self.vacant_since.filter(|(token, _)| *token == record.token);
        self.vacant_since = is_vacant.then(|| since.unwrap_or((record.token, now)));
        is_vacant
    }

    /// Whether the record that named a known holder is gone. A record that was made anew since, for requests or fences,
    /// does not name the last holder. Other programs do not write such a record when they give a lease up.
    fn is_lost(&self, Known { version, record }: &Known) -> bool {
        let is_anew = |((token, nonce, _), _): (Mark, Duration)| {
            let follows = record.token > token || record.last == Some(nonce);
            nonce != 0 && record.holder.is_none() && !follows
        };
        *version == 0 || self.held.is_some_and(is_anew)
    }

    /// Takes the record in place of the known version.
    pub(super) async fn take(
        &mut self,
        now: Boottime,
        mut known: Known,
        position: &Position,
    ) -> Result<Standing, Error> {
        // If the record of a holder is gone, only this flag says that a value of that holder may be under way.
        let may_have_values = self.held.is_some() && self.is_lost(&known);
        // The candidate has waited for any leader that the store has forgotten.
        let is_doubted = known.record.doubt.is_some() && !is_off(Guard::TokenLeap);
        let floor = if is_doubted { stamp::micros().saturating_add(LEAP) } else { 0 };
        if known.version == 0 {
            // If the winning swap made the record, a late copy of that swap could bring a dead entry back.
            known.record = self.election.new_record(known.record).await?;
            known.record.believe();
            // The record that is made here is not doubted, so it says itself how great the next token is.
            known.record.token = known.record.token.max(floor);
            let made = self.election.swap(&known, &known.record, Purpose::Enter).await?;
            match made {
                Swapped::Yes(version) => known.version = version,
                Swapped::No => return Ok(self.overtaken(now, &known, position)),
            }
        }
        known.record.has_epochs |= may_have_values;
        let Known { version, record } = &known;
        self.state = State::Trying { version: *version, token: record.token };
        let Some(token) = record.token.checked_add(1).map(|token| token.max(*version).max(floor))
        else {
            let what =
                format!("no token is greater than that of the record of {}", self.election.name);
            return Err(Error::new(ErrorKind::Unfit, what));
        };
        let arrival = self.waiter.as_ref().and_then(|ours| ours.waiter.rank).unwrap_or(*version);
        let holder = Holder {
            nonce: self.nonce,
            beat: 1,
            ttl: millis(self.ttl),
            candidate: self.candidate.clone(),
            joined: self.joined,
            since: stamp::display(),
            arrival: self.arrived.unwrap_or(arrival),
            renewed: None,
        };
        let last = record.holder.as_ref().map(|holder| holder.nonce).or(record.last);
        let mut claim =
            Record { token, holder: Some(holder), last, entered: true, ..record.clone() };
        claim.believe();
        self.proved = now;
        match self.election.swap(&known, &claim, Purpose::Enter).await? {
            Swapped::Yes(version) => {
                self.overtaken = 0;
                self.lead(now, Known { version, record: claim }).await
            }
            // An earlier copy of this swap may have come in between: the next poll tells.
            Swapped::No => Ok(self.overtaken(now, &known, position)),
        }
    }

    /// The standing after another writer was faster, who may have written something else than a lease. The next poll
    /// comes at once, unless that happens again and again.
    fn overtaken(&mut self, now: Boottime, known: &Known, position: &Position) -> Standing {
        if self.overtaken >= MOST_OVERTAKEN {
            // The faster one may have led and left already, and be the last to write.
            return self.wait_for(now, known, position, true);
        }
        self.overtaken += 1;
        Standing::Waiting { ahead: position.ahead.max(1), alive: false, wake: awake() }
    }
}

use std::collections::BTreeMap;
use std::time::Duration;

use super::Leads;
use crate::sim::StoreTime;
use crate::sim::message::{Bid, Line, Place, Reply, Slip};
use crate::switches::{Part, is_off};

/// Entries by the revision that created them. The lowest leads.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    entries: BTreeMap<u64, QueuedBid>,
}

#[derive(Clone, Debug)]
struct QueuedBid {
    bid: Bid,
    ttl: Duration,
    entered: StoreTime,
    led_since: Option<StoreTime>,
    /// When the lease ends, by what the members have told each other.
    ends: StoreTime,
    /// When the member will tell the others that it has heard of the candidate.
    told: Option<StoreTime>,
    /// Its member died. The candidate talks to another one, which asks about it at once.
    reconnects: bool,
}

impl QueuedBid {
    /// Returns when the lease ends, if the candidate is not heard of again.
    fn end(&self) -> StoreTime {
        match self.told {
            Some(told) if told <= self.ends => told.plus(self.ttl),
            _ => self.ends,
        }
    }

    fn heard(&mut self, now: StoreTime, tells_every: Option<Duration>) {
        match tells_every {
            Some(span) if !self.reconnects => {
                self.tell(now);
                self.told = Some(self.told.unwrap_or_else(|| now.next_multiple_of(span)));
            }
            _ => (self.ends, self.told, self.reconnects) = (now.plus(self.ttl), None, false),
        }
    }

    /// Takes in what was told until `now`.
    fn tell(&mut self, now: StoreTime) {
        if self.told.is_some_and(|told| told <= now) {
            (self.ends, self.told) = (self.end(), None);
        }
    }
}

/// The parts of a reply beside the place: the control cell, and the term of the store's leader where the
/// store shows it.
type Shown = (Slip, Option<u64>);

impl Queue {
    fn find(&self, nonce: u64) -> Option<u64> {
        self.entries.iter().find(|(_, entry)| entry.bid.nonce == nonce).map(|(key, _)| *key)
    }

    pub(super) fn has(&self, nonce: u64) -> bool {
        self.find(nonce).is_some()
    }

    /// Returns the token of the leader.
    pub(super) fn first(&self) -> Option<u64> {
        self.entries.keys().next().copied()
    }

    pub(super) fn nonces(&self) -> impl Iterator<Item = u64> {
        self.entries.values().map(|entry| entry.bid.nonce)
    }

    pub(super) fn enter(
        &mut self,
        revision: u64,
        now: StoreTime,
        bid: &Bid,
        ttl: Duration,
        shown: Shown,
    ) -> Reply {
        let entry = QueuedBid {
            bid: bid.clone(),
            ttl,
            entered: now,
            led_since: None,
            ends: now.plus(ttl),
            told: None,
            reconnects: false,
        };
        self.entries.insert(revision, entry);
        self.place(revision, true, shown)
    }

    pub(super) fn has_candidate(&self, id: &str) -> bool {
        self.entries.values().any(|entry| entry.bid.candidate.id == id)
    }

    pub(super) fn prolong(&mut self, from: StoreTime) {
        for entry in self.entries.values_mut() {
            (entry.ends, entry.told) = (entry.end().max(from.plus(entry.ttl)), None);
        }
    }

    pub(super) fn lose_member(&mut self, now: StoreTime, candidate: &str) {
        for entry in self.entries.values_mut() {
            if entry.bid.candidate.id.starts_with(candidate) {
                entry.tell(now);
                (entry.told, entry.reconnects) = (None, true);
            }
        }
    }

    pub(super) fn renew(&mut self, now: StoreTime, nonce: u64, tells_every: Option<Duration>) {
        let key = self.find(nonce);
        if let Some(entry) = key.and_then(|key| self.entries.get_mut(&key)) {
            entry.heard(now, tells_every);
        }
    }

    /// Returns the place of the entry with this nonce, which existed before.
    pub(super) fn find_place(&self, nonce: u64, shown: Shown) -> Reply {
        match self.find(nonce) {
            Some(key) => self.place(key, false, shown),
            None => Reply::Ended { others: self.entries.len(), control: shown.0 },
        }
    }

    fn place(&self, key: u64, is_new: bool, (control, term): Shown) -> Reply {
        let mut before = self.entries.range(..key);
        let before = if is_off(Part::OneWake) { before.next() } else { before.next_back() };
        Reply::Placed(Place {
            token: key,
            ahead: self.entries.range(..key).count(),
            before: before.map(|(_, entry)| entry.bid.nonce),
            ttl: self.entries.get(&key).map(|entry| entry.ttl).unwrap_or_default(),
            control,
            is_new,
            term,
        })
    }

    pub(super) fn remove(&mut self, nonce: u64) -> Option<u64> {
        let key = self.find(nonce)?;
        self.entries.remove(&key).map(|entry| entry.bid.nonce)
    }

    pub(super) fn remove_at(&mut self, token: u64) -> Option<u64> {
        self.entries.remove(&token).map(|entry| entry.bid.nonce)
    }

    pub(super) fn remove_of(&mut self, candidate: &str) -> Vec<u64> {
        let theirs = self.entries.values().map(|entry| &entry.bid);
        let theirs = theirs.filter(|bid| bid.candidate.id.starts_with(candidate));
        let nonces: Vec<u64> = theirs.map(|bid| bid.nonce).collect();
        self.entries.retain(|_, entry| !nonces.contains(&entry.bid.nonce));
        nonces
    }

    pub(super) fn remove_one_ending(&mut self, at: StoreTime) -> Option<u64> {
        let key = self.entries.iter().find(|(_, entry)| entry.end() == at).map(|(key, _)| *key)?;
        self.entries.remove(&key).map(|entry| entry.bid.nonce)
    }

    pub(super) fn first_end(&self) -> Option<StoreTime> {
        self.entries.values().map(QueuedBid::end).min()
    }

    pub(super) fn leads(&mut self, now: StoreTime) -> Option<Leads> {
        let mut first = self.entries.first_entry()?;
        let token = *first.key();
        let entry = first.get_mut();
        entry.led_since.get_or_insert(now);
        let Bid { nonce, candidate, .. } = &entry.bid;
        Some(Leads {
            token,
            nonce: *nonce,
            candidate: candidate.id.clone(),
            lease_end: entry.end(),
        })
    }

    /// Describes the election for people. A store whose members tell each other only now and then does not
    /// show renewals.
    pub(super) fn line(&self, now: StoreTime, tells_every: Option<Duration>) -> Line {
        let mut entries = self.entries.iter();
        let Some((&token, first)) = entries.next() else { return Line::default() };
        Line {
            leader: Some((first.bid.arrival(token), token, first.end().since(now))),
            renewed: tells_every.is_none().then(|| now.plus(first.ttl).since(first.end())),
            led_after: first.led_since.unwrap_or(now).since(first.entered),
            waiting: entries.map(|(place, entry)| entry.bid.arrival(*place)).collect(),
        }
    }
}

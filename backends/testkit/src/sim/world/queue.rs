use std::collections::BTreeMap;
use std::time::Duration;

use super::Leads;
use crate::sim::StoreTime;
use crate::sim::message::{Arrival, Bid, Line, Place, Reply};

/// Entries by the revision that made them; the lowest leads.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    entries: BTreeMap<u64, Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    bid: Bid,
    ttl: Duration,
    entered: StoreTime,
    led_since: Option<StoreTime>,
    ends: StoreTime,
}

impl Queue {
    fn find(&self, nonce: u64) -> Option<u64> {
        self.entries.iter().find(|(_, entry)| entry.bid.nonce == nonce).map(|(key, _)| *key)
    }

    pub(super) fn has(&self, nonce: u64) -> bool {
        self.find(nonce).is_some()
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
    ) -> Reply {
        let entry =
            Entry { bid: bid.clone(), ttl, entered: now, led_since: None, ends: now.plus(ttl) };
        self.entries.insert(revision, entry);
        self.place(revision)
    }

    pub(super) fn renew(&mut self, now: StoreTime, nonce: u64) -> Reply {
        let Some(key) = self.find(nonce) else {
            return Reply::Ended { others: self.entries.len() };
        };
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.ends = now.plus(entry.ttl);
        }
        self.place(key)
    }

    fn place(&self, key: u64) -> Reply {
        let before = self.entries.range(..key).next_back();
        Reply::Placed(Place {
            token: key,
            ahead: self.entries.range(..key).count(),
            before: before.map(|(_, entry)| entry.bid.nonce),
            ttl: self.entries.get(&key).map(|entry| entry.ttl).unwrap_or_default(),
        })
    }

    pub(super) fn remove(&mut self, nonce: u64) -> Option<u64> {
        let key = self.find(nonce)?;
        self.entries.remove(&key).map(|entry| entry.bid.nonce)
    }

    pub(super) fn remove_of(&mut self, candidate: &str) -> Vec<u64> {
        let theirs = self.entries.values().map(|entry| &entry.bid);
        let theirs = theirs.filter(|bid| bid.candidate.id.starts_with(candidate));
        let nonces: Vec<u64> = theirs.map(|bid| bid.nonce).collect();
        self.entries.retain(|_, entry| !nonces.contains(&entry.bid.nonce));
        nonces
    }

    pub(super) fn remove_one_ending(&mut self, at: StoreTime) -> Option<u64> {
        let key = self.entries.iter().find(|(_, entry)| entry.ends == at).map(|(key, _)| *key)?;
        self.entries.remove(&key).map(|entry| entry.bid.nonce)
    }

    pub(super) fn first_end(&self) -> Option<StoreTime> {
        self.entries.values().map(|entry| entry.ends).min()
    }

    pub(super) fn leads(&mut self, now: StoreTime) -> Option<Leads> {
        let mut first = self.entries.first_entry()?;
        let token = *first.key();
        let entry = first.get_mut();
        entry.led_since.get_or_insert(now);
        Some(Leads { token, candidate: entry.bid.candidate.id.clone(), lease_end: entry.ends })
    }

    pub(super) fn line(&self, now: StoreTime) -> Line {
        let mut entries = self.entries.iter();
        let Some((&token, first)) = entries.next() else { return Line::default() };
        Line {
            leader: Some((Arrival::from(&first.bid), token, first.ends.since(now))),
            led_after: first.led_since.unwrap_or(now).since(first.entered),
            waiting: entries.map(|(_, entry)| Arrival::from(&entry.bid)).collect(),
        }
    }
}

use std::time::Duration;

use super::Leads;
use crate::sim::StoreTime;
use crate::sim::message::{Bid, Holder, Line, Record};

/// A record, and what the store knows of it besides.
#[derive(Clone, Debug, Default)]
pub(super) struct Held {
    version: u64,
    holder: Option<Holding>,
}

#[derive(Clone, Debug)]
struct Holding {
    bid: Bid,
    token: u64,
    ttl: Duration,
    ends: StoreTime,
}

impl Held {
    pub(super) fn view(&self) -> Record {
        let holder = self.holder.as_ref().map(|holding| Holder {
            nonce: holding.bid.nonce,
            token: holding.token,
            ttl: holding.ttl,
        });
        Record { version: self.version, holder, ..Record::default() }
    }

    pub(super) fn token(&self) -> Option<u64> {
        self.holder.as_ref().map(|holding| holding.token)
    }

    pub(super) fn nonce(&self) -> Option<u64> {
        self.holder.as_ref().map(|holding| holding.bid.nonce)
    }

    pub(super) fn end(&self) -> Option<StoreTime> {
        self.holder.as_ref().map(|holding| holding.ends)
    }

    pub(super) fn is_of(&self, candidate: &str) -> bool {
        self.holder.as_ref().is_some_and(|holding| holding.bid.candidate.id.starts_with(candidate))
    }

    pub(super) fn vacate(&mut self, revision: u64) {
        *self = Self { version: revision, holder: None };
    }

    /// The token stays with the holder, however often it renews.
    pub(super) fn write(&mut self, revision: u64, now: StoreTime, bid: Option<(&Bid, Duration)>) {
        self.version = revision;
        let old = self.holder.take();
        self.holder = bid.map(|(bid, ttl)| {
            let same = old.filter(|old| old.bid.nonce == bid.nonce);
            let token = same.map_or(revision, |old| old.token);
            Holding { bid: bid.clone(), token, ttl, ends: now.plus(ttl) }
        });
    }

    pub(super) fn prolong(&mut self, from: StoreTime) {
        if let Some(holding) = &mut self.holder {
            holding.ends = holding.ends.max(from.plus(holding.ttl));
        }
    }

    pub(super) fn leads(&self) -> Option<Leads> {
        let holding = self.holder.as_ref()?;
        Some(Leads {
            token: holding.token,
            candidate: holding.bid.candidate.id.clone(),
            lease_end: holding.ends,
        })
    }

    pub(super) fn line(&self, now: StoreTime) -> Line {
        let leader = self
            .holder
            .as_ref()
            .map(|holding| (holding.bid.arrival(0), holding.token, holding.ends.since(now)));
        let renewed = self.holder.as_ref().map(|holding| now.plus(holding.ttl).since(holding.ends));
        Line { leader, renewed, ..Line::default() }
    }
}

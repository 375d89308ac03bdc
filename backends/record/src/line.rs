use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use elect_api::Boottime;

use crate::patience::Patience;
use crate::{Listed, Record, Waiter};

/// No waiter counts for longer, whatever it says: four of the longest leases that elect asks for.
const LONGEST_TTL: Duration = Duration::from_secs(4 * 24 * 60 * 60);

/// Who waits, and for how long each of them has not been heard of.
#[derive(Default)]
pub(crate) struct Line {
    heard: BTreeMap<u64, Patience<u64>>,
}

/// Where we are in it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    /// How many waiters are before us.
    pub(crate) ahead: usize,
    /// Whether one of them was seen to renew its waiter.
    pub(crate) lives: bool,
    /// Whether our waiter is there, and counts.
    pub(crate) is_listed: bool,
    /// The nonce and the version of the one right before us.
    pub(crate) before: Option<(u64, u64)>,
    /// Nonce and version of those who have not been heard of for their whole TTL.
    pub(crate) dead: Vec<(u64, u64)>,
}

impl Line {
    /// Looks who is before the waiter with this nonce; before a newcomer, if it is not there.
    pub(crate) fn look(
        &mut self,
        now: Boottime,
        record: &Record,
        waiters: &[Listed],
        ours: u64,
    ) -> Position {
        let place = |nonce: u64, waiter: &Waiter| (waiter.rank.unwrap_or(u64::MAX), nonce);
        let us = waiters.iter().find(|other| other.nonce == ours);
        let our_place = us.map_or((u64::MAX, u64::MAX), |us| place(us.nonce, &us.waiter));
        let is_listed = us.is_some_and(|us| us.waiter.rank.is_some());
        let mut position = Position { is_listed, ..Position::default() };
        let mut nearest = None;
        for Listed { nonce, version, waiter } in waiters {
            // Who leads does not renew it.
            if *nonce == ours || record.is_held_by(*nonce) {
                continue;
            }
            let heard = self.heard.entry(*nonce).or_default();
            let is_before = place(*nonce, waiter) < our_place;
            if is_over(heard, now, waiter) {
                // Each removes whoever holds it up, and a leader the rest.
                if is_before || record.is_held_by(ours) {
                    position.dead.push((*nonce, *version));
                }
            } else if waiter.rank.is_some() && is_before && record.counts(*nonce) {
                position.ahead += 1;
                position.lives |= heard.lives();
                nearest = nearest.max(Some((place(*nonce, waiter), *version)));
            }
        }
        let there: BTreeSet<u64> = waiters.iter().map(|other| other.nonce).collect();
        self.heard.retain(|nonce, _| there.contains(nonce));
        position.before = nearest.map(|((_, nonce), version)| (nonce, version));
        position
    }

    /// Whether a waiter that is looked at alone has not been heard of for its whole TTL.
    pub(crate) fn is_dead(&mut self, now: Boottime, nonce: u64, waiter: &Waiter) -> bool {
        is_over(self.heard.entry(nonce).or_default(), now, waiter)
    }

    /// Whether a waiter was seen to renew itself.
    pub(crate) fn lives(&self, nonce: u64) -> bool {
        self.heard.get(&nonce).is_some_and(Patience::lives)
    }

    /// Nobody counts as living who is not seen to be from now on.
    pub(crate) fn doubt(&mut self) {
        self.heard.values_mut().for_each(Patience::doubt);
    }
}

fn is_over(heard: &mut Patience<u64>, now: Boottime, waiter: &Waiter) -> bool {
    heard.is_over(now, waiter.beat, waiter.ttl().min(LONGEST_TTL), Duration::MAX)
}

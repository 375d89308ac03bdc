use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use elect_api::Boottime;

use crate::unchanged::Unchanged;
use crate::{Listed, Record, Waiter};

/// The longest time for which a waiter counts, whatever TTL it claims: four of the longest leases
/// that elect requests.
const LONGEST_TTL: Duration = Duration::from_secs(4 * 24 * 60 * 60);

/// The number of waiters before a candidate that it knows by name, if it has a list.
pub(crate) const CLOSE: usize = 32;

/// The waiters, and for how long each of them has not renewed.
#[derive(Default)]
pub(crate) struct Line {
    heard: BTreeMap<u64, Unchanged<u64>>,
}

/// The position of this candidate in the queue.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    /// The number of waiters before this candidate.
    pub(crate) ahead: usize,
    /// Whether one of them was seen to renew its document.
    pub(crate) lives: bool,
    /// Whether this candidate's waiter exists and counts.
    pub(crate) is_listed: bool,
    /// The nonce and the version of the waiter right before this candidate.
    pub(crate) before: Option<(u64, u64)>,
    /// The nonces of the waiters right before this candidate, as many as [`CLOSE`].
    pub(crate) close: Vec<u64>,
    /// The nonce and the version of each waiter that did not renew for its whole TTL.
    pub(crate) dead: Vec<(u64, u64)>,
}

impl Line {
    /// Finds the position of the waiter with the nonce `ours`. A waiter that is not listed comes
    /// after all others.
    pub(crate) fn locate(
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
        let mut before = Vec::new();
        for Listed { nonce, version, waiter } in waiters {
            // A leader does not renew its waiter.
            if *nonce == ours || record.is_held_by(*nonce) {
                continue;
            }
            let heard = self.heard.entry(*nonce).or_default();
            let is_before = place(*nonce, waiter) < our_place;
            if is_over(heard, now, waiter) {
                // Each candidate removes the dead before it, and a leader removes all others.
                if is_before || record.is_held_by(ours) {
                    position.dead.push((*nonce, *version));
                }
            } else if waiter.rank.is_some() && is_before && record.counts(*nonce) {
                position.ahead += 1;
                position.lives |= heard.lives();
                before.push((place(*nonce, waiter), *version));
            }
        }
        let there: BTreeSet<u64> = waiters.iter().map(|other| other.nonce).collect();
        self.heard.retain(|nonce, _| there.contains(nonce));
        before.sort_unstable_by(|one, other| other.cmp(one));
        position.before = before.first().map(|((_, nonce), version)| (*nonce, *version));
        position.close = before.into_iter().take(CLOSE).map(|((_, nonce), _)| nonce).collect();
        position
    }

    /// Returns whether a waiter, which is read alone, has not renewed for its whole TTL.
    pub(crate) fn is_dead(&mut self, now: Boottime, nonce: u64, waiter: &Waiter) -> bool {
        is_over(self.heard.entry(nonce).or_default(), now, waiter)
    }

    /// Returns whether a waiter was seen to renew its document.
    pub(crate) fn lives(&self, nonce: u64) -> bool {
        self.heard.get(&nonce).is_some_and(Unchanged::lives)
    }

    /// Forgets all renewals seen so far. From now on a waiter counts as alive only after a new
    /// renewal.
    pub(crate) fn doubt(&mut self) {
        self.heard.values_mut().for_each(Unchanged::doubt);
    }
}

fn is_over(heard: &mut Unchanged<u64>, now: Boottime, waiter: &Waiter) -> bool {
    heard.is_over(now, waiter.beat, waiter.ttl().min(LONGEST_TTL), Duration::MAX)
}

//! How entries end: by time, by somebody's hand, or with their candidate.

use elect_api::ElectionName;

use super::record::Held;
use super::{Contest, World};
use crate::sim::message::Cause;
use crate::sim::{Expiry, Kind, StoreTime};

impl World {
    /// From `from` on all leases that last run for their whole time anew.
    pub(in crate::sim) fn prolong(&mut self, from: StoreTime) {
        for contest in self.elections.values_mut() {
            match contest {
                Contest::Queue(queue) => queue.prolong(from),
                Contest::Record(held) => held.prolong(from),
            }
        }
    }

    /// What the member that this candidate talks to has not told yet, it never will.
    pub(in crate::sim) fn lose_member(&mut self, now: StoreTime, candidate: &str) {
        self.settle(now);
        for contest in self.elections.values_mut() {
            if let Contest::Queue(queue) = contest {
                queue.lose_member(now, candidate);
            }
        }
    }

    /// Ends, each at its own time, all leases that are over at `now`.
    pub fn settle(&mut self, now: StoreTime) {
        while let Some((at, election)) = self.first_end().filter(|(at, _)| *at <= now) {
            self.revision += 1;
            match self.elections.get_mut(&election) {
                Some(Contest::Queue(queue)) => self.ended.extend(queue.remove_one_ending(at)),
                Some(Contest::Record(held)) => held.vacate(self.revision),
                None => {}
            }
            self.note(at, &election, Cause::Expired);
        }
    }

    /// When the next lease ends, if none is renewed before.
    pub fn next_end(&self) -> Option<StoreTime> {
        self.first_end().map(|(at, _)| at)
    }

    fn first_end(&self) -> Option<(StoreTime, ElectionName)> {
        let ends = self.elections.iter().filter_map(|(election, contest)| {
            let at = match contest {
                Contest::Queue(queue) => queue.first_end(),
                Contest::Record(held) if self.options.kind == Kind::Record(Expiry::Store) => {
                    held.end()
                }
                Contest::Record(_) => None,
            };
            at.map(|at| (at, election))
        });
        ends.min().map(|(at, election)| (at, election.clone()))
    }

    /// Removes the entries of all candidates whose id begins so; how many there were.
    pub fn remove(&mut self, now: StoreTime, election: &ElectionName, candidate: &str) -> usize {
        self.settle(now);
        let gone: Vec<u64> = match self.elections.get_mut(election) {
            Some(Contest::Queue(queue)) => queue.remove_of(candidate),
            Some(Contest::Record(held)) if held.is_of(candidate) => {
                self.revision += 1;
                let nonce = held.nonce();
                held.vacate(self.revision);
                nonce.into_iter().collect()
            }
            _ => Vec::new(),
        };
        self.revision += 1;
        self.ended.extend(&gone);
        self.note(now, election, Cause::Removed);
        gone.len()
    }

    /// Removes the entry that has this token.
    pub(super) fn take_out(&mut self, now: StoreTime, election: &ElectionName, token: u64) {
        let gone = match self.elections.get_mut(election) {
            Some(Contest::Queue(queue)) => queue.remove_at(token),
            Some(Contest::Record(held)) if held.token() == Some(token) => {
                let nonce = held.nonce();
                held.vacate(self.revision + 1);
                nonce
            }
            _ => None,
        };
        self.revision += u64::from(gone.is_some());
        self.ended.extend(gone);
        self.note(now, election, Cause::Removed);
    }

    /// What the store makes of the death of the client that has this nonce, or is about to have it:
    /// its entry goes, and nothing that it has sent makes another.
    pub fn bury(&mut self, now: StoreTime, election: &ElectionName, nonce: u64) {
        self.settle(now);
        self.ended.insert(nonce);
        self.revision += 1;
        match self.elections.get_mut(election) {
            Some(Contest::Queue(queue)) => _ = queue.remove(nonce),
            // A swap that is under way expects the version that the record has now.
            Some(Contest::Record(held)) if held.nonce().is_none_or(|holder| holder == nonce) => {
                held.vacate(self.revision);
            }
            None if self.options.kind != Kind::Queue => {
                let mut held = Held::default();
                held.vacate(self.revision);
                self.elections.insert(election.clone(), Contest::Record(held));
            }
            _ => {}
        }
        self.note(now, election, Cause::Removed);
    }

    /// Removes all that there is of an election.
    pub fn wipe(&mut self, now: StoreTime, election: &ElectionName) {
        self.settle(now);
        self.revision += 1;
        self.cells.remove(election);
        if let Some(Contest::Queue(queue)) = self.elections.remove(election) {
            self.ended.extend(queue.nonces());
        }
        self.note(now, election, Cause::Removed);
    }
}

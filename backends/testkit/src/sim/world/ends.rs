//! The ends of entries: by time, by another client, or with their candidate.

use elect_api::ElectionName;

use super::World;
use crate::sim::StoreTime;
use crate::sim::message::Cause;

impl World {
    /// Gives all leases that still run their whole TTL anew, from `from` on.
    pub(in crate::sim) fn prolong(&mut self, from: StoreTime) {
        for queue in self.elections.values_mut() {
            queue.prolong(from);
        }
    }

    /// Loses all that this candidate's member has not told the other members yet.
    pub(in crate::sim) fn lose_member(&mut self, now: StoreTime, candidate: &str) {
        self.end_leases(now);
        for queue in self.elections.values_mut() {
            queue.lose_member(now, candidate);
        }
    }

    /// Ends all leases that are over at `now`, each as of its own time.
    pub fn end_leases(&mut self, now: StoreTime) {
        while let Some((at, election)) = self.first_end().filter(|(at, _)| *at <= now) {
            self.revision += 1;
            if let Some(queue) = self.elections.get_mut(&election) {
                self.ended.extend(queue.remove_one_ending(at));
            }
            self.note(at, &election, Cause::Expired);
        }
    }

    /// Returns when the next lease ends, if none is renewed before.
    pub fn next_end(&self) -> Option<StoreTime> {
        self.first_end().map(|(at, _)| at)
    }

    fn first_end(&self) -> Option<(StoreTime, ElectionName)> {
        let ends = self.elections.iter();
        let ends = ends.filter_map(|(election, queue)| Some((queue.first_end()?, election)));
        ends.min().map(|(at, election)| (at, election.clone()))
    }

    /// Removes the entries of all candidates whose id begins like this, and returns how many there
    /// were.
    pub fn remove(&mut self, now: StoreTime, election: &ElectionName, candidate: &str) -> usize {
        self.end_leases(now);
        if let Some(folder) = self.folders.get_mut(election) {
            let gone = folder.evict(candidate);
            self.note(now, election, Cause::Removed);
            return gone;
        }
        let queue = self.elections.get_mut(election);
        let gone: Vec<u64> = queue.map(|queue| queue.remove_of(candidate)).unwrap_or_default();
        self.revision += 1;
        self.ended.extend(&gone);
        self.note(now, election, Cause::Removed);
        gone.len()
    }

    /// Removes the entry that has this token.
    pub(super) fn take_out(&mut self, now: StoreTime, election: &ElectionName, token: u64) {
        let gone = self.elections.get_mut(election).and_then(|queue| queue.remove_at(token));
        self.revision += u64::from(gone.is_some());
        self.ended.extend(gone);
        self.note(now, election, Cause::Removed);
    }

    /// Handles the death of the client that has this nonce, or is about to use it. Its entry goes,
    /// and none of its requests creates another.
    pub fn bury(&mut self, now: StoreTime, election: &ElectionName, nonce: u64) {
        self.end_leases(now);
        self.ended.insert(nonce);
        self.revision += 1;
        if let Some(queue) = self.elections.get_mut(election) {
            queue.remove(nonce);
        }
        if let Some(folder) = self.folders.get_mut(election) {
            folder.bury(nonce);
        }
        self.note(now, election, Cause::Removed);
    }

    /// Removes all that there is of an election.
    pub fn wipe(&mut self, now: StoreTime, election: &ElectionName) {
        self.end_leases(now);
        self.revision += 1;
        self.cells.remove(election);
        if let Some(folder) = self.folders.remove(election) {
            self.revision = self.revision.max(folder.revision());
        }
        if let Some(queue) = self.elections.remove(election) {
            self.ended.extend(queue.nonces());
        }
        self.note(now, election, Cause::Removed);
    }
}

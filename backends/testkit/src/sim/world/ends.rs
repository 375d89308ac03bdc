//! The ends of entries: by time, by another client, or with their candidate.

use std::time::Duration;

use elect_api::ElectionName;

use super::World;
use crate::sim::message::Cause;

impl World {
    /// Gives all leases that still run their whole TTL anew, from `from` on.
    pub(in crate::sim) fn prolong(&mut self, from: Duration) {
        for queue in self.queues.values_mut() {
            queue.begin_term(from);
        }
    }

    /// Loses all that this candidate's member has not told the other members yet.
    pub(in crate::sim) fn lose_member(&mut self, now: Duration, candidate: &str) {
        self.end_leases(now);
        for queue in self.queues.values_mut() {
            queue.lose_member(now, candidate);
        }
    }

    /// Ends all leases that are over at `now`, each as of its own time.
    pub fn end_leases(&mut self, now: Duration) {
        while let Some((at, election)) = self.first_end().filter(|(at, _)| *at <= now) {
            self.queue_of(&election).advance(at);
            self.note(at, &election, Cause::Expired);
        }
    }

    /// Returns when the next lease ends, if none is renewed before.
    pub fn next_end(&self) -> Option<Duration> {
        self.first_end().map(|(at, _)| at)
    }

    fn first_end(&self) -> Option<(Duration, ElectionName)> {
        let ends = self.queues.iter();
        let ends = ends.filter_map(|(election, queue)| Some((queue.next_end()?, election)));
        ends.min().map(|(at, election)| (at, election.clone()))
    }

    /// Removes the entries of all candidates whose id begins like this, and returns how many there
    /// were.
    pub fn remove(&mut self, now: Duration, election: &ElectionName, candidate: &str) -> usize {
        self.end_leases(now);
        if let Some(folder) = self.folders.get_mut(election) {
            let gone = folder.evict(candidate);
            self.note(now, election, Cause::Removed);
            return gone;
        }
        let theirs = self.nonces(election, |_, bid| bid.candidate.id.starts_with(candidate));
        self.end_all(now, election, &theirs);
        theirs.len()
    }

    /// Removes the entry that has this token.
    pub(super) fn take_out(&mut self, now: Duration, election: &ElectionName, token: u64) {
        let gone = self.nonces(election, |number, _| number == token);
        self.end_all(now, election, &gone);
    }

    /// Ends the entries with these nonces.
    fn end_all(&mut self, now: Duration, election: &ElectionName, nonces: &[u64]) {
        for nonce in nonces {
            self.queue_of(election).end(*nonce);
        }
        self.note(now, election, Cause::Removed);
    }

    /// Handles the death of the client that has this nonce, or is about to use it. Its entry goes,
    /// and none of its requests creates another.
    pub fn bury(&mut self, now: Duration, election: &ElectionName, nonce: u64) {
        self.end_leases(now);
        if let Some(folder) = self.folders.get_mut(election) {
            folder.bury(nonce);
        }
        self.end_all(now, election, &[nonce]);
    }

    /// Removes all that there is of an election.
    pub fn wipe(&mut self, now: Duration, election: &ElectionName) {
        self.end_leases(now);
        self.revision += 1;
        self.cells.remove(election);
        if let Some(folder) = self.folders.remove(election) {
            self.revision = self.revision.max(folder.revision());
        }
        self.known.remove(election);
        let all = self.nonces(election, |_, _| true);
        self.end_all(now, election, &all);
    }
}

use std::time::Duration;

use elect_api::Candidate;
use elect_record::{Ask, Document, Folder, Holder, Listed, Name, Record, Reply, Swapped};

use super::Leads;

/// The documents of one election, and what the history needs besides.
#[derive(Clone, Debug)]
pub(super) struct Election {
    folder: Folder,
    /// When other candidates may take the record, if it is not renewed.
    lease_end: Duration,
}

impl Election {
    /// Creates an election without documents, whose versions will be greater than `revision`.
    pub(super) fn after(revision: u64) -> Self {
        Self { folder: Folder::after(revision), lease_end: Duration::ZERO }
    }

    /// As [`Folder::answer`].
    pub(super) fn answer(&mut self, now: Duration, ask: &Ask) -> Option<Reply> {
        // As Kubernetes does: a write without a change writes nothing, and does not invalidate a
        // write that arrives late.
        if let Ask::Swap(name, expected, document) = ask
            && let Some(found) = self.folder.read(*name)
            && (found.version, &found.document) == (*expected, &**document)
        {
            return Some(Reply::Swapped(Swapped::Yes(*expected)));
        }
        let before = self.beat();
        let reply = self.folder.answer(ask);
        if let Some(holder) = self.holder()
            && self.beat() != before
        {
            self.lease_end = now + holder.ttl();
        }
        reply
    }

    pub(super) fn revision(&self) -> u64 {
        self.folder.revision()
    }

    pub(super) fn record(&self) -> Option<&Record> {
        self.folder.record()
    }

    fn holder(&self) -> Option<&Holder> {
        self.record()?.holder.as_ref()
    }

    /// What a renewal or another holder changes: token, nonce and beat.
    fn beat(&self) -> Option<(u64, u64, u64)> {
        let record = self.record()?;
        record.holder.as_ref().map(|holder| (record.token, holder.nonce, holder.beat))
    }

    /// Changes the record, if there is one.
    fn change(&mut self, change: impl FnOnce(&mut Record)) {
        if let Some(mut record) = self.record().cloned() {
            change(&mut record);
            self.folder.write(Name::Record, Document::Record(record));
        }
    }

    /// Removes the record's holder. Writes that were sent to the record before are refused.
    fn vacate(&mut self) {
        self.change(|record| {
            record.last = record.holder.take().map(|holder| holder.nonce).or(record.last);
        });
    }

    /// Handles the death of the candidate with this nonce.
    pub(super) fn bury(&mut self, nonce: u64) {
        if self.holder().is_none_or(|holder| holder.nonce == nonce) {
            self.vacate();
        } else {
            self.change(|_| ());
        }
        self.folder.remove(Name::Waiter(nonce));
    }

    /// Removes the entries of all candidates whose id begins like this, and returns how many there
    /// were.
    pub(super) fn evict(&mut self, candidate: &str) -> usize {
        let is_theirs = |them: &Candidate| them.id.starts_with(candidate);
        let leader = self.holder().map(|holder| holder.nonce);
        let leads = self.holder().is_some_and(|holder| is_theirs(&holder.candidate));
        if leads {
            self.vacate();
        }
        let mut gone = usize::from(leads);
        for Listed { nonce, waiter, .. } in self.folder.list().waiters {
            if is_theirs(&waiter.candidate) {
                self.folder.remove(Name::Waiter(nonce));
                gone += usize::from(leader != Some(nonce));
            }
        }
        gone
    }

    pub(super) fn leads(&self) -> Option<Leads> {
        Some(Leads {
            token: self.record()?.token,
            nonce: self.holder()?.nonce,
            candidate: self.holder()?.candidate.id.clone(),
            lease_end: self.lease_end,
        })
    }
}

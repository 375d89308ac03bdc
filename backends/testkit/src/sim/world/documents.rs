//! The documents of one election.

use std::collections::BTreeMap;

use elect_record::{Document, Listed, Listing, Name, Record, Removed, Stored, Swapped};

use super::Leads;
use crate::sim::StoreTime;

/// They, and what the history wants to know besides.
#[derive(Clone, Debug, Default)]
pub(super) struct Folder {
    documents: BTreeMap<Name, Stored>,
    /// Which were removed, and by which revision.
    removed: BTreeMap<Name, u64>,
    /// The revision that wrote or removed one of them last.
    revision: u64,
    /// When others may take the record, if nobody renews it.
    lease_end: StoreTime,
}

impl Folder {
    pub(super) fn read(&self, name: Name) -> Option<&Stored> {
        self.documents.get(&name)
    }

    pub(super) fn version(&self, name: Name) -> u64 {
        self.read(name).map_or(0, |stored| stored.version)
    }

    pub(super) fn record(&self) -> Option<&Record> {
        match &self.read(Name::Record)?.document {
            Document::Record(record) => Some(record),
            _ => None,
        }
    }

    /// Those that were written or removed since, in this order.
    pub(super) fn changes_since(&self, revision: u64) -> Vec<(u64, Name, Option<Document>)> {
        if self.revision <= revision {
            return Vec::new();
        }
        let written = self.documents.iter().filter(|(_, stored)| stored.version > revision);
        let written =
            written.map(|(name, stored)| (stored.version, *name, Some(stored.document.clone())));
        let removed = self.removed.iter().filter(|(_, removed)| **removed > revision);
        let mut changes: Vec<_> =
            written.chain(removed.map(|(name, removed)| (*removed, *name, None))).collect();
        changes.sort_by_key(|(revision, ..)| *revision);
        changes
    }

    /// Writes one in place of this version of it, by this revision.
    pub(super) fn swap(
        &mut self,
        revision: u64,
        now: StoreTime,
        name: Name,
        expected: u64,
        document: &Document,
    ) -> Swapped {
        match self.read(name) {
            found if found.map_or(0, |found| found.version) != expected => return Swapped::No,
            // As Kubernetes does: such a write is none, and keeps nothing away that comes late.
            Some(found) if found.document == *document => return Swapped::Yes(expected),
            _ => {}
        }
        if let Document::Record(record) = document
            && let Some(holder) = &record.holder
        {
            let beat = |record: &Record| {
                record.holder.as_ref().map(|holder| (record.token, holder.nonce, holder.beat))
            };
            if self.record().and_then(beat) != beat(record) {
                self.lease_end = now.plus(holder.ttl());
            }
        }
        self.revision = revision;
        self.removed.remove(&name);
        self.documents.insert(name, Stored { version: revision, document: document.clone() });
        Swapped::Yes(revision)
    }

    /// Removes one if it has this version.
    pub(super) fn remove_version(&mut self, revision: u64, name: Name, version: u64) -> Removed {
        match self.version(name) {
            0 => Removed::Yes,
            present if present == version => {
                self.remove(revision, name);
                Removed::Yes
            }
            _ => Removed::No,
        }
    }

    /// Removes one, by this revision.
    fn remove(&mut self, revision: u64, name: Name) {
        if self.documents.remove(&name).is_some() {
            self.revision = revision;
            self.removed.insert(name, revision);
        }
    }

    /// Changes the record, if there is one, by this revision.
    fn change(&mut self, revision: u64, change: impl FnOnce(&mut Record)) {
        if let Some(Stored { version, document: Document::Record(record) }) =
            self.documents.get_mut(&Name::Record)
        {
            change(record);
            (*version, self.revision) = (revision, revision);
        }
    }

    /// Nobody holds the record any more, and what was sent to it before comes to nothing.
    fn vacate(&mut self, revision: u64) {
        self.change(revision, |record| {
            record.last = record.holder.take().map(|holder| holder.nonce).or(record.last);
        });
    }

    /// Whoever has this nonce is dead.
    pub(super) fn bury(&mut self, revision: u64, nonce: u64) {
        let holder = self.record().and_then(|record| record.holder.as_ref());
        if holder.is_none_or(|holder| holder.nonce == nonce) {
            self.vacate(revision);
        } else {
            self.change(revision, |_| ());
        }
        self.remove(revision, Name::Waiter(nonce));
    }

    /// Removes the entries of all whose id begins so; how many there were.
    pub(super) fn evict(&mut self, revision: u64, candidate: &str) -> usize {
        let holder = self.record().and_then(|record| record.holder.as_ref());
        let leads = holder.is_some_and(|holder| holder.candidate.id.starts_with(candidate));
        let leader = holder.map(|holder| holder.nonce);
        if leads {
            self.vacate(revision);
        }
        let theirs = |(name, stored): (&Name, &Stored)| match &stored.document {
            Document::Waiter(waiter) if waiter.candidate.id.starts_with(candidate) => Some(*name),
            _ => None,
        };
        let gone: Vec<Name> = self.documents.iter().filter_map(theirs).collect();
        for name in &gone {
            self.remove(revision, *name);
        }
        let waited =
            gone.iter().filter(|name| leader.is_none_or(|leader| **name != Name::Waiter(leader)));
        waited.count() + usize::from(leads)
    }

    pub(super) fn list(&self, revision: u64) -> Listing {
        let mut listing = Listing { revision, ..Listing::default() };
        for (name, stored) in &self.documents {
            match (name, &stored.document) {
                (Name::Waiter(nonce), Document::Waiter(waiter)) => {
                    let (nonce, version, waiter) = (*nonce, stored.version, waiter.clone());
                    listing.waiters.push(Listed { nonce, version, waiter });
                }
                (Name::Record, Document::Record(record)) => {
                    listing.record = Some((stored.version, record.clone()));
                }
                _ => {}
            }
        }
        listing
    }

    pub(super) fn leads(&self) -> Option<Leads> {
        let record = self.record()?;
        Some(Leads {
            token: record.token,
            candidate: record.holder.as_ref()?.candidate.id.clone(),
            lease_end: self.lease_end,
        })
    }
}

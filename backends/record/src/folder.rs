//! The documents of an election in memory, for simulated stores.

use std::collections::BTreeMap;

use crate::{Ask, Document, Listed, Listing, Name, Record, Removed, Reply, Stored, Swapped};

/// The documents of one election, as a pure function of the requests. It has no clock, as the real stores do not use
/// theirs.
#[derive(Clone, Debug, Default)]
pub struct Folder {
    documents: BTreeMap<Name, Stored>,
    /// The revision of the last change of each document, removed documents included.
    changes: BTreeMap<Name, u64>,
    revision: u64,
}

impl Folder {
    /// An empty folder, whose versions will be greater than this.
    #[must_use]
    pub fn after(revision: u64) -> Self {
        Self { revision, ..Self::default() }
    }

    /// Answers a request. `None` if the request waits for a change that has not happened: ask again after each change.
    pub fn answer(&mut self, ask: &Ask) -> Option<Reply> {
        Some(match ask {
            Ask::Await(name, version) if self.version(*name) == *version => return None,
            Ask::Read(name) | Ask::Await(name, _) => {
                Reply::Found(self.read(*name).cloned().map(Box::new))
            }
            Ask::Swap(name, expected, document) => {
                Reply::Swapped(if self.version(*name) == *expected {
                    Swapped::Yes(self.write(*name, (**document).clone()))
                } else {
                    Swapped::No
                })
            }
            Ask::Remove(name, version) => Reply::Removed(match self.version(*name) {
                0 => Removed::Yes,
                known if known == *version => {
                    self.remove(*name);
                    Removed::Yes
                }
                _ => Removed::No,
            }),
            Ask::List => Reply::Listed(Box::new(self.list())),
            Ask::AwaitAny(revision) => match self.changes_since(*revision) {
                changes if changes.is_empty() => return None,
                changes => Reply::Changed(changes),
            },
        })
    }

    /// The greatest version so far, including removed documents.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Reads a document; `None` if there is none.
    pub fn read(&self, name: Name) -> Option<&Stored> {
        self.documents.get(&name)
    }

    /// The record, if there is one.
    pub fn record(&self) -> Option<&Record> {
        match &self.read(Name::Record)?.document {
            Document::Record(record) => Some(record),
            _ => None,
        }
    }

    fn version(&self, name: Name) -> u64 {
        self.read(name).map_or(0, |stored| stored.version)
    }

    /// Writes a document, whatever its version, and returns the new version.
    pub fn write(&mut self, name: Name, document: Document) -> u64 {
        let version = self.change(name);
        self.documents.insert(name, Stored { version, document });
        version
    }

    /// Removes a document, if it exists.
    pub fn remove(&mut self, name: Name) {
        if self.documents.remove(&name).is_some() {
            self.change(name);
        }
    }

    fn change(&mut self, name: Name) -> u64 {
        self.revision += 1;
        self.changes.insert(name, self.revision);
        self.revision
    }

    fn changes_since(&self, revision: u64) -> Vec<(u64, Name, Option<Document>)> {
        let since = self.changes.iter().filter(|(_, changed)| **changed > revision);
        let mut since: Vec<_> = since
            .map(|(name, changed)| {
                (*changed, *name, self.read(*name).map(|stored| stored.document.clone()))
            })
            .collect();
        since.sort_unstable_by_key(|(changed, ..)| *changed);
        since
    }

    /// The record and the waiters.
    pub fn list(&self) -> Listing {
        let mut listing = Listing { revision: self.revision, ..Listing::default() };
        for (name, Stored { version, document }) in &self.documents {
            match (name, document) {
                (Name::Record, Document::Record(record)) => {
                    listing.record = Some((*version, record.clone()));
                }
                (Name::Waiter(nonce), Document::Waiter(waiter)) => {
                    let (nonce, version, waiter) = (*nonce, *version, waiter.clone());
                    listing.waiters.push(Listed { nonce, version, waiter });
                }
                _ => {}
            }
        }
        listing
    }
}

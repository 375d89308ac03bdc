//! Documents that are changed by compare-and-swap, as Kubernetes keeps them: the store knows no time.
//!
//! A pure function of requests. A wait is answered once there is something else to see.

use std::collections::BTreeMap;
use std::time::Duration;

use elect_record::{Document, Listed, Listing, Name, Removed, Stored, Swapped};
use elect_simulation::NodeId;
use elect_simulation::replicas::State;

use super::seat::{Asked, Told};

/// What a candidate asks for.
#[derive(Clone, Debug)]
pub enum Ask {
    /// What a document says.
    Read(Name),
    /// Write it, if it has this version.
    Swap(Name, u64, Box<Document>),
    /// Remove it, if it has this version.
    Remove(Name, u64),
    /// The record and the waiters.
    List,
    /// Answer once a document has another version than this.
    Await(Name, u64),
    /// Answer once one was changed after this revision.
    AwaitAny(u64),
}

/// What the store answers.
#[derive(Clone, Debug)]
pub enum Reply {
    /// What a document says, if it is there.
    Found(Option<Box<Stored>>),
    /// Whether it is written.
    Swapped(Swapped),
    /// Whether it is gone.
    Removed(Removed),
    /// The record and the waiters.
    Listed(Box<Listing>),
    /// What was changed, and by which revision.
    Changed(Vec<(u64, Name, Option<Document>)>),
}

/// The documents of one election.
#[derive(Clone, Debug, Default)]
pub struct Shelf {
    documents: BTreeMap<Name, Stored>,
    /// The revision that changed each document last, those that are gone among them.
    changes: BTreeMap<Name, u64>,
    revision: u64,
    /// Those who wait, with what for.
    waits: Vec<(NodeId, u32, Ask)>,
}

impl Shelf {
    /// `None` where it waits.
    fn answer(&mut self, ask: &Ask) -> Option<Reply> {
        Some(match ask {
            Ask::Await(name, version) if self.version(*name) == *version => return None,
            Ask::Read(name) | Ask::Await(name, _) => Reply::Found(self.found(*name)),
            Ask::Swap(name, expected, document) => {
                let is_expected = self.version(*name) == *expected;
                Reply::Swapped(if is_expected {
                    let version = self.change(*name);
                    let document = (**document).clone();
                    self.documents.insert(*name, Stored { version, document });
                    Swapped::Yes(version)
                } else {
                    Swapped::No
                })
            }
            Ask::Remove(name, version) => Reply::Removed(match self.version(*name) {
                0 => Removed::Yes,
                known if known == *version => {
                    self.change(*name);
                    self.documents.remove(name);
                    Removed::Yes
                }
                _ => Removed::No,
            }),
            Ask::List => Reply::Listed(Box::new(self.listing())),
            Ask::AwaitAny(revision) if self.revision <= *revision => return None,
            Ask::AwaitAny(revision) => Reply::Changed(self.since(*revision)),
        })
    }

    fn version(&self, name: Name) -> u64 {
        self.documents.get(&name).map_or(0, |stored| stored.version)
    }

    fn found(&self, name: Name) -> Option<Box<Stored>> {
        self.documents.get(&name).cloned().map(Box::new)
    }

    fn change(&mut self, name: Name) -> u64 {
        self.revision += 1;
        self.changes.insert(name, self.revision);
        self.revision
    }

    fn since(&self, revision: u64) -> Vec<(u64, Name, Option<Document>)> {
        let mut changed: Vec<_> = self
            .changes
            .iter()
            .filter(|(_, changed)| **changed > revision)
            .map(|(name, changed)| (*changed, *name))
            .collect();
        changed.sort_unstable_by_key(|(changed, _)| *changed);
        let document = |name| self.documents.get(&name).map(|stored| stored.document.clone());
        changed.into_iter().map(|(changed, name)| (changed, name, document(name))).collect()
    }

    fn listing(&self) -> Listing {
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

    /// Answers to those whose wait is over.
    fn ended_waits(&mut self) -> Vec<(NodeId, Told<Reply>)> {
        let mut over = Vec::new();
        for (client, call, ask) in std::mem::take(&mut self.waits) {
            match self.answer(&ask) {
                Some(reply) => over.push((client, Told::Answer(call, reply))),
                None => self.waits.push((client, call, ask)),
            }
        }
        over
    }
}

impl State for Shelf {
    type Ask = Asked<Ask>;
    type Reply = Told<Reply>;

    fn apply(
        &mut self,
        _now: Duration,
        client: NodeId,
        asked: &Asked<Ask>,
    ) -> Vec<(NodeId, Told<Reply>)> {
        let Some(call) = asked.call else { return Vec::new() };
        let Some(reply) = self.answer(&asked.ask) else {
            // A client watches one thing at a time: of what it waited for before it does not want to hear.
            self.waits.retain(|(other, ..)| *other != client);
            self.waits.push((client, call, asked.ask.clone()));
            return Vec::new();
        };
        let mut replies = vec![(client, Told::Answer(call, reply))];
        replies.extend(self.ended_waits());
        replies
    }

    fn next_end(&self) -> Option<Duration> {
        None
    }

    fn settle(&mut self, _now: Duration) -> Vec<(NodeId, Told<Reply>)> {
        Vec::new()
    }

    /// What is watched breaks off.
    fn begin_term(&mut self, _now: Duration) {
        self.waits.clear();
    }

    fn ask_kind(asked: &Asked<Ask>) -> &'static str {
        match asked.ask {
            Ask::Read(_) => "read",
            Ask::Swap(..) => "write",
            Ask::Remove(..) => "removal",
            Ask::List => "list",
            Ask::Await(..) | Ask::AwaitAny(_) => "watch",
        }
    }

    fn reply_kind(_told: &Told<Reply>) -> &'static str {
        "answer"
    }
}

use std::collections::BTreeMap;
use std::time::Duration;

use elect_api::{Candidate, Cell, Key, Keys, Versioned};
use serde::{Deserialize, Serialize};

use crate::text::Text;

/// The record of an election: the holder of the lease, and the cells other than fences and values.
///
/// It is never removed but for a scratch election, so that a late request finds another version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The token of the holder, or of the last one. It is the greatest so far.
    pub token: u64,
    /// The holder of the lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<Holder>,
    /// The nonce of the previous holder, whose waiter may still exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<u64>,
    /// Whether any candidate held it since the election was last forgotten.
    #[serde(default)]
    pub entered: bool,
    /// Whether there is, or may soon be, a document of fences and values.
    #[serde(default)]
    pub has_data: bool,
    /// Whether there ever was such a document, or may soon be. Then a new leader writes its token there before it
    /// reports that it leads.
    #[serde(default)]
    pub has_epochs: bool,
    /// The number of writes that changed nothing else, and only made late requests fail. It is needed because a store
    /// may keep the version of a document that is written without a change.
    #[serde(default)]
    pub overwrites: u64,
    /// The epoch of the store in which the lease was last proven or taken. Empty if the store has only one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub epoch: String,
    /// The epoch of the store, if the record is of an earlier one: the store may have lost later writes of it. It stays
    /// in doubt, whatever is written, until a leader proves its lease or a candidate has waited.
    #[serde(skip)]
    pub doubt: Option<String>,
    /// [`Cell::Control`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<Text>,
    /// [`Cell::Once`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub once: Option<Text>,
    /// [`Cell::Runs`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<Text>,
    /// [`Cell::History`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<Text>,
}

/// The holder of the lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The nonce of its entry; 0 stands for another program.
    pub nonce: u64,
    /// A number that changes with each renewal. Only the holder changes it.
    pub beat: u64,
    /// The time after each renewal in which no other candidate takes the record, in milliseconds.
    pub ttl: u64,
    /// The candidate.
    pub candidate: Candidate,
    /// The time of its arrival, in milliseconds since 1970; for display only.
    pub joined: u64,
    /// The start of its leadership, in milliseconds since 1970; for display only.
    pub since: u64,
    /// Its arrival number.
    pub arrival: u64,
    /// The time of the last renewal, in milliseconds since 1970, if the store itself keeps it; for display only.
    #[serde(skip)]
    pub renewed: Option<u64>,
}

/// A candidate that waits for the lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiter {
    /// The version with which the waiter was made. The waiter with the least rank is next. `None` while the candidate
    /// does not know it; then the waiter does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u64>,
    /// The number of its first arrival, if the candidate has given that place up and come again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrived: Option<u64>,
    /// The number of waiters that it saw before it at its last poll. The waiter behind it learns from this when it is
    /// near the front.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ahead: Option<u64>,
    /// A number that changes with each renewal.
    pub beat: u64,
    /// How long it counts without a renewal, in milliseconds.
    pub ttl: u64,
    /// The candidate.
    pub candidate: Candidate,
    /// The time of its arrival, in milliseconds since 1970; for display only.
    pub joined: u64,
}

/// The fences and the values of an election.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Data {
    /// The token of the leader that may write values.
    pub epoch: u64,
    /// Each fence and each value by its name: `fence:KEY`, `value:KEY`.
    pub texts: BTreeMap<String, Text>,
    /// The reason why the document cannot be read, in words that name it, because it was written by hand. Its fences
    /// and values are then unknown. Only an order to lose them overwrites it.
    #[serde(skip)]
    pub damage: Option<String>,
}

impl Record {
    /// Returns whether an entry with this nonce holds it.
    pub fn is_held_by(&self, nonce: u64) -> bool {
        self.holder.as_ref().is_some_and(|holder| holder.nonce == nonce)
    }

    /// Returns whether this entry of this candidate holds the lease. The id is compared too, because two machines may
    /// draw the same nonce.
    pub(crate) fn is_held_by_candidate(&self, nonce: u64, id: &str) -> bool {
        self.holder
            .as_ref()
            .is_some_and(|holder| holder.nonce == nonce && holder.candidate.id == id)
    }

    /// The content of a cell that the record keeps.
    pub fn cell(&self, cell: Cell<'_>) -> Versioned {
        let text = match cell {
            Cell::Control => &self.control,
            Cell::Once => &self.once,
            Cell::Runs => &self.runs,
            Cell::History => &self.history,
            Cell::Fence(_) | Cell::Value(_) => &None,
        };
        text.as_ref().map(Text::versioned).unwrap_or_default()
    }

    /// Writes a cell and returns its new version, which follows `replaced`, the version of the record.
    pub(crate) fn write(&mut self, cell: Cell<'_>, replaced: u64, bytes: &[u8]) -> u64 {
        let version = replaced.saturating_add(1);
        let text = Some(Text { version, bytes: bytes.to_vec() });
        match cell {
            Cell::Control => self.control = text,
            Cell::Once => self.once = text,
            Cell::Runs => self.runs = text,
            Cell::History => self.history = text,
            Cell::Fence(_) | Cell::Value(_) => {}
        }
        version
    }

    /// Ends the lease of the holder.
    pub(crate) fn vacate(&mut self) {
        self.last = self.holder.take().map(|holder| holder.nonce).or(self.last);
    }

    /// Ends the doubt: the lease is proven or taken in the present epoch.
    pub(crate) fn believe(&mut self) {
        if let Some(epoch) = self.doubt.take() {
            self.epoch = epoch;
        }
    }

    /// Removes all cells, and makes the election look as if no candidate ever entered it.
    pub(crate) fn forget(&mut self) {
        let overwrites = self.overwrites.wrapping_add(1);
        let Self { token, last, has_epochs, epoch, doubt, .. } = std::mem::take(self);
        *self = Self { token, last, has_epochs, overwrites, epoch, doubt, ..Self::default() };
    }

    /// Returns whether a waiter with this nonce counts. The waiter of the present or the last holder does not.
    pub(crate) fn counts(&self, nonce: u64) -> bool {
        !self.is_held_by(nonce) && self.last != Some(nonce)
    }

    /// Returns whether the election keeps a cell, or may keep one.
    pub(crate) fn keeps_something(&self) -> bool {
        self.has_data
            || [&self.control, &self.once, &self.runs, &self.history]
                .iter()
                .any(|text| text.is_some())
    }
}

impl Holder {
    /// The time after each renewal in which no other candidate takes the record.
    pub const fn ttl(&self) -> Duration {
        Duration::from_millis(self.ttl)
    }
}

impl Waiter {
    /// Returns how long it counts without a renewal.
    pub const fn ttl(&self) -> Duration {
        Duration::from_millis(self.ttl)
    }
}

impl Data {
    /// The keys under which fences and values are kept.
    pub(crate) fn keys(&self) -> Keys {
        Keys::named(self.texts.keys().map(String::as_str), ':')
    }

    /// One of the resources that have a fence.
    pub(crate) fn first_fence(&self) -> Option<Key> {
        self.keys().fences.into_iter().next()
    }

    /// The name of a cell in this document; `None` if it is kept elsewhere.
    pub(crate) fn name(cell: Cell<'_>) -> Option<String> {
        match cell {
            Cell::Fence(key) => Some(format!("fence:{key}")),
            Cell::Value(key) => Some(format!("value:{key}")),
            _ => None,
        }
    }
}

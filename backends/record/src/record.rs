use std::collections::BTreeMap;
use std::time::Duration;

use elect_api::{Candidate, Cell, Key, Keys, Versioned};
use serde::{Deserialize, Serialize};

use crate::text::Text;

/// What the store keeps of an election: who leads, and the cells but for fences and values.
///
/// It is never removed: what was sent before finds another version in its place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The token of its holder, or of the last one; the greatest so far.
    pub token: u64,
    /// Who holds the lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<Holder>,
    /// The nonce of the holder before, whose waiter may still be there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<u64>,
    /// Whether anybody ever held it, since it was forgotten.
    #[serde(default)]
    pub entered: bool,
    /// Whether there is, or may soon be, a document of fences and values.
    #[serde(default)]
    pub has_data: bool,
    /// Whether there ever was, or may soon be: then a leader writes its token there before it says that it leads.
    #[serde(default)]
    pub has_epochs: bool,
    /// How often it was written without another change, so that what was under way came to nothing: a store may keep the
    /// version of what is written as it is.
    #[serde(default)]
    pub overwrites: u64,
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

/// Who holds the lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// That of its entry; 0 is that of another program.
    pub nonce: u64,
    /// Another number after each renewal. Nobody but the holder changes it.
    pub beat: u64,
    /// For how long nobody else takes it after each renewal, in milliseconds.
    pub ttl: u64,
    /// Who it is.
    pub candidate: Candidate,
    /// When it arrived, in milliseconds since 1970; for the eye only.
    pub joined: u64,
    /// Since when it leads, in milliseconds since 1970; for the eye only.
    pub since: u64,
    /// The number of its arrival.
    pub arrival: u64,
    /// When it was renewed last, in milliseconds since 1970, where the store itself keeps that; for the eye only.
    #[serde(skip)]
    pub renewed: Option<u64>,
}

/// Somebody who waits for the lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiter {
    /// The version with which it was made: who has the least is next. `None` as long as it does not know it; then it
    /// does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u64>,
    /// The number of its first arrival, where it has given that place up since to come again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrived: Option<u64>,
    /// How many waiters were before it when it looked last. It tells the one behind when that is near enough to look on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ahead: Option<u64>,
    /// Another number after each renewal.
    pub beat: u64,
    /// How long it counts without a renewal, in milliseconds.
    pub ttl: u64,
    /// Who it is.
    pub candidate: Candidate,
    /// When it arrived, in milliseconds since 1970; for the eye only.
    pub joined: u64,
}

/// The fences and the values of an election.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Data {
    /// The token of the leader that may write values.
    pub epoch: u64,
    /// Each fence and each value by its name: `fence:KEY`, `value:KEY`.
    pub texts: BTreeMap<String, Text>,
    /// That what is there cannot be read, in words that name it: somebody has written it by hand. Nothing is known of its
    /// fences and values then, and nothing but an order to lose them writes over it.
    #[serde(skip)]
    pub damage: Option<String>,
}

impl Record {
    /// Whether an entry with this nonce holds it.
    pub fn is_held_by(&self, nonce: u64) -> bool {
        self.holder.as_ref().is_some_and(|holder| holder.nonce == nonce)
    }

    /// Whether the entry with this nonce of this candidate holds it: two machines may draw the same numbers, but no two
    /// candidates have one id.
    pub(crate) fn is_held_by_candidate(&self, nonce: u64, id: &str) -> bool {
        self.holder
            .as_ref()
            .is_some_and(|holder| holder.nonce == nonce && holder.candidate.id == id)
    }

    /// What a cell says that is kept here.
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

    /// Has a cell say this from the version on that follows `replaced`, that of the record.
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

    /// Nobody holds it any more.
    pub(crate) fn vacate(&mut self) {
        self.last = self.holder.take().map(|holder| holder.nonce).or(self.last);
    }

    /// Nothing is kept any more, and nobody ever was in it.
    pub(crate) fn forget(&mut self) {
        let Self { token, last, has_epochs, overwrites, .. } = *self;
        let overwrites = overwrites.wrapping_add(1);
        *self = Self { token, last, has_epochs, overwrites, ..Self::default() };
    }

    /// Whether a waiter with this nonce counts: who leads, or did last, may have left it behind.
    pub(crate) fn counts(&self, nonce: u64) -> bool {
        !self.is_held_by(nonce) && self.last != Some(nonce)
    }

    /// Whether it keeps a cell, or may.
    pub(crate) fn keeps_something(&self) -> bool {
        self.has_data
            || [&self.control, &self.once, &self.runs, &self.history]
                .iter()
                .any(|text| text.is_some())
    }
}

impl Holder {
    /// For how long nobody else takes it after each renewal.
    pub const fn ttl(&self) -> Duration {
        Duration::from_millis(self.ttl)
    }
}

impl Waiter {
    /// How long it counts without a renewal.
    pub const fn ttl(&self) -> Duration {
        Duration::from_millis(self.ttl)
    }
}

impl Data {
    /// Under what fences and values are kept.
    pub(crate) fn keys(&self) -> Keys {
        Keys::named(self.texts.keys().map(String::as_str), ':')
    }

    /// One of the resources that have a fence.
    pub(crate) fn first_fence(&self) -> Option<Key> {
        self.keys().fences.into_iter().next()
    }

    /// Under which name a cell is kept here, if it is.
    pub(crate) fn name(cell: Cell<'_>) -> Option<String> {
        match cell {
            Cell::Fence(key) => Some(format!("fence:{key}")),
            Cell::Value(key) => Some(format!("value:{key}")),
            _ => None,
        }
    }
}

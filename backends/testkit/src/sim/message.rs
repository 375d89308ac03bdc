//! The messages between client and store: values in process, and lines of JSON on a socket.

use std::time::Duration;

use elect_api::{ElectionName, Key};
use elect_record::{Record, Text};
use elect_simulation::queue::{Bid, Queue};
use serde::{Deserialize, Serialize};

/// A request with the properties that a [`Rule`](super::Rule) selects by.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Envelope {
    /// The id of the candidate that sends it, or empty for any other client.
    pub client: String,
    /// Its purpose.
    pub op: Op,
    /// The request itself.
    pub request: Request,
}

/// The purpose of a request, whatever the request is in this kind of store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Op {
    /// Creates an entry, which may lead at once.
    Enter,
    /// Renews and proves an entry, waiting or leading.
    Renew,
    /// Shows a candidate who leads and who waits, in a store of documents.
    Poll,
    /// Gives up an entry.
    Leave,
    /// Gives up the entry of a crashed candidate.
    Redeem,
    /// Waits for a change.
    Watch,
    /// Reads or writes a cell that only a leader writes.
    LeaderCell,
    /// Reads or writes the control cell.
    Control,
    /// Records the token of a resource, or reads or writes a value.
    Data,
    /// Shows the election to people.
    Survey,
}

/// A request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Request {
    /// Lists all elections.
    Elections,
    /// Lists the elections that have a control cell.
    UnderControl,
    /// Lists the elections that keep anything.
    Remembered,
    /// Documents: returns the records of all elections.
    Records,
    /// Is about one election.
    In(ElectionName, Ask),
}

/// A request about one election.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Ask {
    /// Queue: creates this entry, or renews it if it exists. If it existed before and is gone, the reply says so.
    Enter(Bid),
    /// Queue: renews the entry with this nonce.
    Renew(u64),
    /// Queue: renews it, and proves it by a write that changes nothing. No member answers that from old knowledge.
    RenewByWrite(u64),
    /// Queue: ends the entry with this nonce for good, even if its creation is still under way.
    Leave(u64),
    /// Queue: ends the entry that has this token, whichever candidate owns it.
    Remove(u64),
    /// Queue: answers when an entry is gone, or when the control cell has a version other than this.
    AwaitEnd {
        /// The entry's nonce.
        nonce: u64,
        /// The control cell's version.
        control: u64,
    },
    /// Documents: a request of the record adapter.
    Documents(elect_record::Ask),
    /// Queue: returns who leads and who waits.
    Survey,
    /// Queue: removes all that there is of the election, if no candidate is in it.
    Forget {
        /// Whether an election with fences is removed, too.
        fences: bool,
    },
    /// Returns a number for the visible state. It is another one after each change.
    Digest,
    /// Answers when the state has another number than this.
    AwaitChange(u64),
    /// Lists the keys of fences and values.
    Keys,
    /// Reads a cell.
    ReadCell(Name),
    /// Answers when a cell has another version than this.
    AwaitCell(Name, u64),
    /// Writes a cell.
    WriteCell {
        /// The cell to write.
        cell: Name,
        /// The condition of the write.
        when: When,
        /// Its new text.
        text: Vec<u8>,
    },
    /// If the entry with this nonce leads, writes a cell and ends that entry for good, in one step. Otherwise changes
    /// nothing.
    Part {
        /// The nonce of the writer's entry.
        nonce: u64,
        /// The cell to write.
        cell: Name,
        /// Its new text.
        text: Vec<u8>,
    },
}

/// The name of a cell in a message.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Name {
    /// [`Cell::Once`](elect_api::Cell::Once).
    Once,
    /// [`Cell::Runs`](elect_api::Cell::Runs).
    Runs,
    /// [`Cell::History`](elect_api::Cell::History).
    History,
    /// [`Cell::Control`](elect_api::Cell::Control).
    Control,
    /// [`Cell::Fence`](elect_api::Cell::Fence).
    Fence(Key),
    /// [`Cell::Value`](elect_api::Cell::Value).
    Value(Key),
}

/// The condition under which a cell is written.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum When {
    /// The cell has this version. A cell that was never written has version 0.
    Version(u64),
    /// The entry with this nonce leads.
    Ours(u64),
    /// The entry with this token leads, and the cell has this version.
    Leads(u64, u64),
}

/// The store's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// Queue: the entry exists, and its lease begins anew.
    Placed(Place),
    /// Queue: there is no such entry, and there will be none.
    Ended {
        /// How many other entries are in the queue.
        others: usize,
        /// The control cell.
        control: Slip,
    },
    /// Queue: the entry is gone now.
    Left,
    /// Documents: a reply for the record adapter.
    Documents(elect_record::Reply),
    /// The records of all elections.
    Records(Vec<(ElectionName, Record)>),
    /// The cell that was written or read.
    Cell(Slip),
    /// The cell has another version, and was not written.
    Overtaken,
    /// The event that the client waited for has happened.
    Changed,
    /// The election for people: the queue, the present time, and the leader's time from its arrival to its win.
    Survey(Box<Queue>, Duration, Duration),
    /// The number of the visible state.
    Digest(u64),
    /// All elections, by name.
    Elections(Vec<ElectionName>),
    /// All cells of one election, by name.
    Cells(Vec<Name>),
    /// The election has this fence, and is unchanged because fences may not go.
    Fenced(Key),
    /// The connection was refused, and nothing was done.
    Refused,
    /// The connection broke after the request had been sent.
    Broken,
    /// A store of this kind does not know the request.
    Unfit,
}

/// An entry in a queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The revision that created it. It is the token if the entry leads.
    pub token: u64,
    /// How many entries are before it.
    pub ahead: usize,
    /// The nonce of the entry right before it. `None` if this one leads.
    pub before: Option<u64>,
    /// The lease that was granted.
    pub ttl: Duration,
    /// The control cell.
    pub control: Slip,
    /// Whether this very request created it.
    pub is_new: bool,
    /// The term of the store's leader, by the member that answers. `None` where the store shows none.
    pub term: Option<u64>,
}

/// The text of a cell, or nothing if it was never written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Slip(pub Option<Text>);

impl Slip {
    /// Returns its version, another one after each change. 0 for a cell that was never written.
    pub fn version(&self) -> u64 {
        self.0.as_ref().map_or(0, |text| text.version)
    }
}

/// The counts that a store keeps for tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// The greatest number of queued candidates that one entry's end woke at once.
    pub woken_at_once: u32,
    /// How often a candidate created an entry beside another one of its own.
    pub doubles: u32,
    /// How many requests arrived after a later one of the same client.
    pub reordered: u32,
    /// How many requests were carried out.
    pub requests: u32,
}

/// One leadership of a candidate. `T` are instants by the store's clock or by the machine's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leadership<T = Duration> {
    /// The election.
    pub election: ElectionName,
    /// The id of the candidate that led.
    pub candidate: String,
    /// Its fencing token.
    pub token: u64,
    /// The nonce of its entry.
    pub nonce: u64,
    /// The time at which it began to lead.
    pub from: T,
    /// The time at which its lease ends, or would have ended, without another renewal.
    pub lease_end: T,
    /// When it ended and why. `None` while it lasts.
    pub over: Option<(T, Cause)>,
}

/// Why a leadership ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Cause {
    /// The candidate resigned, or its ticket was redeemed.
    Left,
    /// Its lease ended by time.
    Expired,
    /// Another candidate took over the record.
    Replaced,
    /// Its entry was removed by another client.
    Removed,
}

impl<T> Leadership<T> {
    /// Converts all its instants.
    pub fn map<U>(self, change: impl Fn(T) -> U) -> Leadership<U> {
        Leadership {
            election: self.election,
            candidate: self.candidate,
            token: self.token,
            nonce: self.nonce,
            from: change(self.from),
            lease_end: change(self.lease_end),
            over: self.over.map(|(at, cause)| (change(at), cause)),
        }
    }
}

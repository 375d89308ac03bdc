//! What client and store say to each other: the same in process and, as lines of JSON, on a socket.

use std::time::{Duration, SystemTime};

use elect_api::{Candidate, ElectionName, Key};
use elect_record::Record;
use serde::{Deserialize, Serialize};

use super::StoreTime;

/// A request with what a [`Rule`](super::Rule) can tell it by.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Envelope {
    /// The id of the candidate that sends it; empty where it is nobody's in particular.
    pub client: String,
    /// What it is sent for.
    pub op: Op,
    /// The request itself.
    pub request: Request,
}

/// What a request is sent for, whatever it is in this kind of store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Op {
    /// To make an entry, which may be a leader's at once.
    Enter,
    /// To keep an entry, waiting or leading, and to prove it.
    Renew,
    /// To see who leads and who waits, as a candidate: where there are documents.
    Look,
    /// To give an entry up.
    Leave,
    /// To give the entry of a crashed candidate up.
    Redeem,
    /// To be told of a change.
    Watch,
    /// To read or to write a cell that only a leader writes.
    LeaderCell,
    /// To read or to write the control cell.
    Control,
    /// To record the token of a resource, or to read or write a value.
    Data,
    /// To show the election to people.
    Survey,
}

/// A request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Request {
    /// Which elections there are.
    Elections,
    /// Of which elections something was asked.
    UnderControl,
    /// Of which elections something is kept.
    Remembered,
    /// Documents: the records of all elections.
    Records,
    /// Something about one election.
    In(ElectionName, Ask),
}

/// A request about one election.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Ask {
    /// Queue: make this entry. If it is there, renew it; if it has been and is gone, say so.
    Enter(Bid),
    /// Queue: renew the entry with this nonce.
    Renew(u64),
    /// Queue: the same, and prove it by a write that changes nothing: no member answers that from what it knew before.
    RenewByWrite(u64),
    /// Queue: end the entry with this nonce for good, also if its making is still under way.
    Leave(u64),
    /// Queue: end the entry that has this token, whoever has it.
    Remove(u64),
    /// Queue: answer when an entry is gone, or when the control cell has another version than this.
    AwaitEnd {
        /// That of the entry.
        nonce: u64,
        /// That of the control cell.
        control: u64,
    },
    /// Documents: this of them.
    Documents(elect_record::Ask),
    /// Queue: who leads and who waits.
    Survey,
    /// Queue: remove all that there is of the election, if nobody is in it.
    Forget {
        /// Also if it has fences.
        fences: bool,
    },
    /// What there is to see: another number after each change.
    Digest,
    /// Answer when there is something else to see than this.
    AwaitChange(u64),
    /// Under what fences and values are kept.
    Keys,
    /// What a cell says.
    ReadCell(Name),
    /// Answer when a cell has another version than this.
    AwaitCell(Name, u64),
    /// Write a cell.
    WriteCell {
        /// Which.
        cell: Name,
        /// What has to be so.
        when: When,
        /// What it is to say.
        text: Vec<u8>,
    },
    /// Write a cell if the entry with this nonce leads, and end that entry for good in one step; nothing at all if it does not lead.
    Part {
        /// That of the writer's entry.
        nonce: u64,
        /// Which cell.
        cell: Name,
        /// What it is to say.
        text: Vec<u8>,
    },
    /// Answer when the control cell has another version than this.
    AwaitControl(u64),
}

/// Which cell of an election, on its way.
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

/// What has to be so for a cell to be written.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum When {
    /// It has this version; 0 is that of a cell that was never written.
    Version(u64),
    /// The entry with this nonce leads.
    Ours(u64),
    /// The entry with this token leads, and the cell has this version.
    Leads(u64, u64),
}

/// An entry that a candidate wants to have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bid {
    /// Drawn for this one entry; nobody ever uses it again.
    pub nonce: u64,
    /// Who it is.
    pub candidate: Candidate,
    /// When it arrived, by its own wall clock; for the eye only.
    pub joined: SystemTime,
    /// The length of lease that it asks for.
    pub ttl: Duration,
    /// The number of its first place, where it has given that up since to come again.
    pub arrived: Option<u64>,
}

/// What the store answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// Queue: the entry is there, and its lease runs anew.
    Placed(Place),
    /// Queue: there is no such entry, and there will be none.
    Ended {
        /// How many others are in the queue.
        others: usize,
        /// What is asked of them.
        control: Slip,
    },
    /// Queue: there is no such entry any more.
    Left,
    /// Documents: this of them.
    Documents(elect_record::Reply),
    /// The records of all elections.
    Records(Vec<(ElectionName, Record)>),
    /// What a cell says: now that it was written, or if it was only to be read.
    Cell(Slip),
    /// The cell is not written: it has another version.
    Overtaken,
    /// The control cell whose change was waited for has changed.
    Reordered,
    /// What was waited for has happened.
    Changed,
    /// Who leads and who waits.
    Survey(Line),
    /// What there is to see.
    Digest(u64),
    /// All elections, by name.
    Elections(Vec<ElectionName>),
    /// Of one election: all its cells, by name.
    Cells(Vec<Name>),
    /// The election is as it was: it has this fence, and those may not go.
    Fenced(Key),
    /// The connection was refused: nothing was done.
    Refused,
    /// The connection broke, after the request had been sent.
    Broken,
    /// The request makes no sense to a store of this kind.
    Unfit,
}

/// An entry in a queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The revision that made it: the token if it leads.
    pub token: u64,
    /// How many are before it.
    pub ahead: usize,
    /// The nonce of the one right before it; none leads.
    pub before: Option<u64>,
    /// The length of lease that was granted.
    pub ttl: Duration,
    /// What is asked of everybody.
    pub control: Slip,
    /// Whether this very request has made it.
    pub is_new: bool,
    /// The term of the store's leader, as the member knows it that answers; `None` where the store shows none.
    pub term: Option<u64>,
}

/// What a cell says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slip {
    /// Another one after each change; 0 where it was never written.
    pub version: u64,
    /// What it says, if it was.
    #[serde(with = "super::digits")]
    pub text: Option<Vec<u8>>,
}

/// An election, for people.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Who leads, with the token, and how long without a renewal.
    pub leader: Option<(Arrival, u64, Duration)>,
    /// How long ago it was heard of; `None` where the store does not show that.
    pub renewed: Option<Duration>,
    /// Since when it leads, as time after its arrival.
    pub led_after: Duration,
    /// Who waits, the next to lead first.
    pub waiting: Vec<Arrival>,
}

/// A candidate and when it arrived by its own wall clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrival {
    /// Who it is.
    pub candidate: Candidate,
    /// When it arrived.
    pub joined: SystemTime,
    /// The number of its first place.
    pub number: u64,
}

impl Bid {
    /// Who arrived with it, at the place of this number.
    pub fn arrival(&self, place: u64) -> Arrival {
        let number = self.arrived.unwrap_or(place);
        Arrival { candidate: self.candidate.clone(), joined: self.joined, number }
    }
}

/// What a store has counted for tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// How many candidates in the queue heard at once that the same entry has ended, at most.
    pub woken_at_once: u32,
    /// How often a candidate made an entry beside another one of its own.
    pub doubles: u32,
    /// How many requests arrived after one that the same client has sent later.
    pub reordered: u32,
    /// How many requests were carried out.
    pub requests: u32,
}

/// The time that one candidate led, `T` being instants by the store's or by the machine's clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leadership<T = StoreTime> {
    /// Of which election.
    pub election: ElectionName,
    /// The id of the candidate that led.
    pub candidate: String,
    /// Its fencing token.
    pub token: u64,
    /// Since when nobody else has led.
    pub from: T,
    /// When its lease ends, or would have ended, without a further renewal.
    pub lease_end: T,
    /// When it was over and why; `None` while it lasts.
    pub over: Option<(T, Cause)>,
}

/// Why a leader leads no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Cause {
    /// It gave leadership up, or somebody did for it with its ticket.
    Left,
    /// Its lease ended by time.
    Expired,
    /// Another one took the record.
    Replaced,
    /// Somebody else removed its entry.
    Removed,
}

impl<T> Leadership<T> {
    /// The same with other instants.
    pub fn map<U>(self, change: impl Fn(T) -> U) -> Leadership<U> {
        Leadership {
            election: self.election,
            candidate: self.candidate,
            token: self.token,
            from: change(self.from),
            lease_end: change(self.lease_end),
            over: self.over.map(|(at, cause)| (change(at), cause)),
        }
    }
}

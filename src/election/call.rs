//! The calls to a store, and what comes of them.

use std::time::Duration;

use elect_api::{ErrorKind, Token, Validity, Written};

use super::division::Agreement;
use super::ranking::Field;

/// A call to the store: a request, or a few that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// For a seat, with leases of this length.
    Open(Duration),
    /// To keep our place, to win, or to prove that we lead.
    Refresh,
    /// That all who take part agree with us on what the election is divided into.
    Settle,
    /// Whether it is done already, what is to be done once.
    Recall,
    /// To record that it is done.
    Record,
    /// To count the run that is about to start, before anything is started: that there may be one more.
    Attempt(Token),
    /// To tell all who take part that it matters who leads.
    Announce,
    /// Who is there, and who led last.
    Compare,
    /// What is known of the election's history.
    ReadHistory,
    /// To add to it that we have begun.
    WriteHistory,
    /// The same before anything is started, in a way that outlasts a power cut.
    BeginHistory(Token),
    /// To take our place away; and to add to the history in the same step that we have ended like this, if that is
    /// known.
    Resign(Option<EndRecord>),
    /// Who leads and who waits, for people.
    Survey,
}

impl Call {
    /// Its name; stable.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Open(_) => "open",
            Self::Refresh => "refresh",
            Self::Settle => "settle",
            Self::Recall => "recall",
            Self::Record => "record",
            Self::Attempt(_) => "attempt",
            Self::Announce => "announce",
            Self::Compare => "compare",
            Self::ReadHistory => "read_history",
            Self::WriteHistory | Self::BeginHistory(_) => "write_history",
            Self::Resign(_) => "resign",
            Self::Survey => "survey",
        }
    }

    /// Whether it reads the election's history, or adds to it.
    pub(super) const fn is_of_history(&self) -> bool {
        matches!(self, Self::ReadHistory | Self::WriteHistory | Self::BeginHistory(_))
    }
}

/// How a leadership ended, for whoever comes later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndRecord {
    /// For people.
    pub reason: String,
    /// Whether something of the command may have been cut short: it was killed, or leadership was lost.
    pub is_abrupt: bool,
}

/// What the store has answered to a call.
#[derive(Clone, Debug)]
pub enum Reply {
    /// There is a seat.
    Opened,
    /// How we stand, to a refresh.
    Standing(Answer),
    /// Whether all who take part agree.
    Agreement(Agreement),
    /// Whether it is done already.
    Done(bool),
    /// Whether a cell of ours is written: that it is done, or that we have begun.
    Written(Written),
    /// Whether the run that is about to start is counted.
    Attempted(Attempted),
    /// All who take part are told.
    Announced,
    /// Who is there, and who led last.
    Field(Box<Field>),
    /// The history is read. Whether whoever led last, if anybody did, has ended well there.
    EndedWell(bool),
    /// Our place is gone.
    Resigned,
}

/// What came of the counting of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempted {
    /// It counts.
    Counted,
    /// It is not counted, and is not to start: we do not lead, or something else was written meanwhile.
    Uncounted,
    /// It is not to start: as many have been counted as may be. The text names the last one.
    UsedUp(String),
}

/// What a refresh found out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// We lead.
    Leading {
        /// The token of this leadership.
        token: Token,
        /// How long nobody else can lead.
        validity: Validity,
    },
    /// We wait, with so many before us.
    Waiting {
        /// The leader and the waiters before us.
        ahead: usize,
        /// Whether one of them is known to be alive.
        alive: bool,
    },
    /// Our entry is gone, but nobody else can lead until we resign.
    Evicted(String),
    /// Our entry is gone, and another may lead.
    Gone(String),
}

/// A call that is over, for whoever counts and measures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallEnd {
    /// What was asked for.
    pub call: Call,
    /// The time from before it was sent to when its end was seen.
    pub took: Duration,
    /// How it ended.
    pub outcome: CallOutcome,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// With the proof that we lead.
    Proven,
    /// With another answer.
    Answered,
    /// With an error of this kind.
    Failed(ErrorKind),
    /// It was given up: there was no answer in time, or none was wanted any more.
    Abandoned,
}

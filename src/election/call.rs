//! The calls that the engine makes to a store, and their outcomes.

use std::time::Duration;

use elect_api::{ErrorKind, Token, Validity, Written};

use super::division::Agreement;
use super::ranking::Field;

/// A call to the store: a request, or a few that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// Opens a seat, with leases of this length.
    Open(Duration),
    /// Keeps the place, tries to win, or proves leadership.
    Refresh,
    /// Makes sure that all candidates agree with this one on the division of the election.
    Settle,
    /// Asks whether the `--once` key is done already.
    Recall,
    /// Records that the `--once` key is done.
    Record,
    /// Counts the run that is about to start, before anything starts. Only so many runs may count.
    Attempt(Token),
    /// Tells all candidates that ranks matter in this election.
    Announce,
    /// Reads who takes part, and who led last.
    Compare,
    /// Reads the election's history.
    ReadHistory,
    /// Adds to the history that this leadership has begun.
    WriteHistory,
    /// Does the same before anything starts, in a way that outlasts a power cut.
    BeginHistory(Token),
    /// Removes the entry. In the same step, adds to the history how the leadership ended, if that is known.
    Resign(Option<EndRecord>),
    /// Reads who leads and who waits, to show it to people.
    Survey,
}

impl Call {
    /// The stable name of the call.
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

    /// Returns whether the call reads the election's history, or adds to it.
    pub(super) const fn is_of_history(&self) -> bool {
        matches!(self, Self::ReadHistory | Self::WriteHistory | Self::BeginHistory(_))
    }
}

/// How a leadership ended, for the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndRecord {
    /// The reason, in words for people.
    pub reason: String,
    /// Whether something of the command may have been cut short: it was killed, or leadership was lost.
    pub is_abrupt: bool,
}

/// The answer of the store to a call.
#[derive(Clone, Debug)]
pub enum Reply {
    /// The seat is open.
    Opened,
    /// The standing, in answer to a refresh.
    Standing(Answer),
    /// Whether all candidates agree on the division.
    Agreement(Agreement),
    /// Whether the `--once` key is done.
    Done(bool),
    /// Whether the candidate's own cell is written: that the key is done, or that the leadership has begun.
    Written(Written),
    /// Whether the run that is about to start is counted.
    Attempted(Attempted),
    /// All candidates can see that ranks matter.
    Announced,
    /// Who takes part, and who led last.
    Field(Box<Field>),
    /// The history is read. Says whether it shows that the last leadership, if there was one, ended well.
    EndedWell(bool),
    /// The entry is removed.
    Resigned,
}

/// The outcome of counting a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempted {
    /// The run counts.
    Counted,
    /// The run is not counted and must not start: the candidate does not lead, or the cell has changed meanwhile.
    Uncounted,
    /// The run must not start, as the limit of runs is reached. The text names the last one.
    UsedUp(String),
}

/// The standing that a refresh found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The candidate leads.
    Leading {
        /// The token of this leadership.
        token: Token,
        /// How long no other candidate can lead.
        validity: Validity,
    },
    /// The candidate waits behind others.
    Waiting {
        /// The number of entries ahead: the leader and the earlier waiters.
        ahead: usize,
        /// Whether one of those ahead is known to be alive.
        alive: bool,
    },
    /// The entry is gone, but no other candidate can lead before this one resigns.
    Evicted(String),
    /// The entry is gone, and another candidate may lead.
    Gone(String),
}

/// A call that is over, for counters and metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallEnd {
    /// The call.
    pub call: Call,
    /// The time from before it was sent until its end was seen.
    pub took: Duration,
    /// How it ended.
    pub outcome: CallOutcome,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// With the proof that the candidate leads.
    Proven,
    /// With another answer.
    Answered,
    /// With an error of this kind.
    Failed(ErrorKind),
    /// The call was given up: no answer came in time, or none was needed any more.
    Abandoned,
}

use std::time::Duration;

use elect_api::ErrorKind;

/// A call to the store that is over, for whoever counts and measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// What was asked for.
    pub operation: Operation,
    /// The time from before it was sent to when its end was seen.
    pub took: Duration,
    /// How it ended.
    pub ending: Ending,
}

/// What a store is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A seat.
    Open,
    /// To keep our place, to win, or to prove that we lead.
    Refresh,
    /// That all agree on what the election is divided into.
    Settle,
    /// What was done once.
    Recall,
    /// To write down that it is done.
    Record,
    /// To tell all that it matters who leads.
    Announce,
    /// Who else is there, for whoever could lead.
    Compare,
    /// Who has led before.
    ReadHistory,
    /// To write down that we lead.
    WriteHistory,
    /// To take our place away.
    Resign,
    /// Who leads and who waits.
    Survey,
}

impl Operation {
    /// Its name; stable.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Refresh => "refresh",
            Self::Settle => "settle",
            Self::Recall => "recall",
            Self::Record => "record",
            Self::Announce => "announce",
            Self::Compare => "compare",
            Self::ReadHistory => "read_history",
            Self::WriteHistory => "write_history",
            Self::Resign => "resign",
            Self::Survey => "survey",
        }
    }
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With the proof that we lead.
    Proven,
    /// With another answer.
    Answered,
    /// With an error of this kind.
    Failed(ErrorKind),
    /// It was given up: there was no answer in time, or none was wanted any more.
    Abandoned,
}

//! What is refused before anything runs.

use std::time::Duration;

/// The shortest interval of anything that a node does again and again.
const LEAST: Duration = Duration::from_micros(100);

/// Why something cannot be simulated as it is asked for. Nodes count from 1 here, as people count them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Senseless {
    /// A range whose start is behind its end.
    #[error("the range from {least:?} to {most:?} is empty; give the lesser time first")]
    Range {
        /// Its start.
        least: Duration,
        /// Its end.
        most: Duration,
    },
    /// Measured delays without a measurement.
    #[error("there are no measured delays; give one at least")]
    NoSamples,
    /// A log-normal distribution that is hardly one.
    #[error("the sigma of a log-normal delay is {sigma} thousandths; at most 5000 make sense")]
    Sigma {
        /// In thousandths.
        sigma: u32,
    },
    /// More than all.
    #[error("{millionths} millionths are more than all; give at most 1000000")]
    Share {
        /// In millionths.
        millionths: u32,
    },
    /// A clock that stands still or goes back.
    #[error(
        "a clock that is off by {per_million} millionths stands still; give more than -1000000"
    )]
    Drift {
        /// In millionths.
        per_million: i32,
    },
    /// A node that is not there.
    #[error("there is no node {}; nodes are numbered from 1 to {nodes}", node + 1)]
    NoNode {
        /// Which, from 0.
        node: usize,
        /// How many there are.
        nodes: usize,
    },
    /// A node on two sides of a split.
    #[error("node {} is on two sides of the split; name it once", node + 1)]
    TwoSides {
        /// Which, from 0.
        node: usize,
    },
    /// A fault that would never come.
    #[error("the fault at {at:?} comes after {end:?}, when a run may be over")]
    AfterTheEnd {
        /// When it comes.
        at: Duration,
        /// The end of the shortest run.
        end: Duration,
    },
    /// An election without anybody, or of too many.
    #[error("there are {candidates} candidates; from 1 to {most} can be simulated")]
    Candidates {
        /// How many are asked for.
        candidates: usize,
        /// How many there may be.
        most: usize,
    },
    /// A store without a member, or with too many.
    #[error("there are {members} members of the store; from 1 to {most} can be simulated")]
    Members {
        /// How many are asked for.
        members: usize,
        /// How many there may be.
        most: usize,
    },
    /// Priorities that do not fit the candidates.
    #[error("there are {priorities} priorities for {candidates} candidates; give each one")]
    Priorities {
        /// How many are given.
        priorities: usize,
        /// How many are needed.
        candidates: usize,
    },
    /// An interval so short that a run hardly gets on.
    #[error("{what} is {is:?}; it must be at least {LEAST:?}")]
    TooShort {
        /// What is too short.
        what: &'static str,
        /// How long it is.
        is: Duration,
    },
    /// An interval that has to be shorter than another one.
    #[error("{shorter} is {is:?}; it must be less than {longer}, {bound:?}")]
    TooLong {
        /// What is too long.
        shorter: &'static str,
        /// How long it is.
        is: Duration,
        /// What it has to be shorter than.
        longer: &'static str,
        /// How long that is.
        bound: Duration,
    },
}

impl Senseless {
    /// Unless `is` is long enough to come again and again.
    pub(crate) fn if_too_short(what: &'static str, is: Duration) -> Result<(), Self> {
        if is < LEAST { Err(Self::TooShort { what, is }) } else { Ok(()) }
    }

    /// Unless the first is less than the second, and long enough.
    pub(crate) fn unless_shorter(
        (shorter, is): (&'static str, Duration),
        (longer, bound): (&'static str, Duration),
    ) -> Result<(), Self> {
        Self::if_too_short(shorter, is)?;
        if is < bound { Ok(()) } else { Err(Self::TooLong { shorter, is, longer, bound }) }
    }
}

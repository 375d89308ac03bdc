//! Errors in scenarios, all found before a run starts.

use std::time::Duration;

/// The shortest interval of any repeated action of a node.
const LEAST: Duration = Duration::from_micros(100);

/// The reason why a scenario cannot be simulated. Messages count nodes from 1, as people do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Senseless {
    /// A range whose start is after its end.
    #[error("the range from {least:?} to {most:?} is empty; give the lesser time first")]
    Range {
        /// The start.
        least: Duration,
        /// The end.
        most: Duration,
    },
    /// Measured delays without a measurement.
    #[error("there are no measured delays; give one at least")]
    NoSamples,
    /// A log-normal distribution whose sigma is too great.
    #[error("the sigma of a log-normal delay is {sigma} thousandths; at most 5000 make sense")]
    Sigma {
        /// The sigma in thousandths.
        sigma: u32,
    },
    /// A share of more than all.
    #[error("{millionths} millionths are more than all; give at most 1000000")]
    Share {
        /// The share in millionths.
        millionths: u32,
    },
    /// A clock that would stand still or run backwards.
    #[error(
        "a clock that is off by {per_million} millionths stands still; give more than -1000000"
    )]
    Drift {
        /// The drift in millionths.
        per_million: i32,
    },
    /// A node that does not exist.
    #[error("there is no node {}; nodes are numbered from 1 to {nodes}", node + 1)]
    NoNode {
        /// The number of the node, from 0.
        node: usize,
        /// How many nodes there are.
        nodes: usize,
    },
    /// A node on two sides of a split.
    #[error("node {} is on two sides of the split; name it once", node + 1)]
    TwoSides {
        /// The number of the node, from 0.
        node: usize,
    },
    /// A fault that may come after the end of a run.
    #[error("the fault at {at:?} comes after {end:?}, when a run may be over")]
    AfterTheEnd {
        /// The time of the fault.
        at: Duration,
        /// The end of the shortest run.
        end: Duration,
    },
    /// Too few or too many candidates.
    #[error("there are {candidates} candidates; from 1 to {most} can be simulated")]
    Candidates {
        /// The number that was asked for.
        candidates: usize,
        /// The greatest number allowed.
        most: usize,
    },
    /// Too few or too many members of a store.
    #[error("there are {members} members of the store; from 1 to {most} can be simulated")]
    Members {
        /// The number that was asked for.
        members: usize,
        /// The greatest number allowed.
        most: usize,
    },
    /// As many priorities as candidates are needed.
    #[error("there are {priorities} priorities for {candidates} candidates; give each one")]
    Priorities {
        /// How many priorities are given.
        priorities: usize,
        /// How many are needed.
        candidates: usize,
    },
    /// An interval that is so short that a run makes hardly any progress.
    #[error("{what} is {is:?}; it must be at least {LEAST:?}")]
    TooShort {
        /// The name of the interval.
        what: &'static str,
        /// Its length.
        is: Duration,
    },
    /// An interval that must be shorter than another one.
    #[error("{shorter} is {is:?}; it must be less than {longer}, {bound:?}")]
    TooLong {
        /// The name of the interval.
        shorter: &'static str,
        /// Its length.
        is: Duration,
        /// The name of the other interval.
        longer: &'static str,
        /// The length of the other interval.
        bound: Duration,
    },
}

impl Senseless {
    /// Returns an error if `is` is too short for a repeated action.
    pub(crate) fn if_too_short(what: &'static str, is: Duration) -> Result<(), Self> {
        if is < LEAST { Err(Self::TooShort { what, is }) } else { Ok(()) }
    }

    /// Returns an error unless the first interval is less than the second, and long enough.
    pub(crate) fn unless_shorter(
        (shorter, is): (&'static str, Duration),
        (longer, bound): (&'static str, Duration),
    ) -> Result<(), Self> {
        Self::if_too_short(shorter, is)?;
        if is < bound { Ok(()) } else { Err(Self::TooLong { shorter, is, longer, bound }) }
    }
}

//! What is refused before anything runs.

use std::time::Duration;

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
    /// An election without anybody.
    #[error("an election needs one candidate at least")]
    NoCandidates,
    /// Priorities that do not fit the candidates.
    #[error("there are {priorities} priorities for {candidates} candidates; give each one")]
    Priorities {
        /// How many are given.
        priorities: usize,
        /// How many are needed.
        candidates: usize,
    },
    /// An interval that has to be shorter than another one.
    #[error("{shorter} is {is:?}; it must be less than {longer}, {bound:?}, and not zero")]
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
    /// That `shorter` is zero, or no less than `longer`.
    pub(crate) fn unless_shorter(
        shorter: (&'static str, Duration),
        longer: (&'static str, Duration),
    ) -> Result<(), Self> {
        if !shorter.1.is_zero() && shorter.1 < longer.1 {
            return Ok(());
        }
        Err(Self::TooLong { shorter: shorter.0, is: shorter.1, longer: longer.0, bound: longer.1 })
    }
}

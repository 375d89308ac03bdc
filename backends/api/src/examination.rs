use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::error::LONGEST;
use crate::remote::StoreId;
use crate::text::clean;
use crate::{Boottime, Error};

/// What reads the time for a store that measures how long its servers take: stores read no clocks.
pub type Clock = Arc<dyn Fn() -> Boottime + Send + Sync>;

/// A store as it describes itself, for people to look at; never for a decision.
#[derive(Clone, Debug, Default)]
pub struct Examination {
    /// Each place that the URL of the store names, in that order.
    pub endpoints: Vec<Endpoint>,
    /// The lengths of lease that it grants.
    pub grants: Grants,
    /// How long an entry may be there on whose holder does nothing for it any more, where a survey does not show that
    /// ([`Ending::Granted`](crate::Ending::Granted)).
    pub longest_ending: Option<Duration>,
    /// What it has in limited supply, as far as it tells.
    pub supplies: Vec<Supply>,
    /// What is, or may go, wrong with it. That an endpoint does not answer is not among them.
    pub findings: Vec<Finding>,
}

/// One place of a store: a server, or a directory.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Where it is, without secrets: `HOST:PORT`, or a path.
    pub address: String,
    /// What it answered, or why it did not.
    pub answer: Result<EndpointAnswer, Error>,
}

/// What an endpoint says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointAnswer {
    /// From a question over an open connection to its answer: the middle one of several.
    pub round_trip: Duration,
    /// The server's version, as it writes it; `None` if it does not tell, or is no server.
    pub version: Option<String>,
    /// What it is among the others (`leader`, `follower`), or the kind of its file system; `None` if it does not
    /// tell.
    pub role: Option<String>,
    /// Which store it leads to.
    pub store: StoreIdentity,
}

/// What an endpoint says that its store is called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StoreIdentity {
    /// It does not tell, or its stores have no ids.
    #[default]
    Untold,
    /// It has no id yet: nobody has entered an election there.
    NotYet,
    /// It has this id.
    Id(StoreId),
}

impl StoreIdentity {
    /// What was found where the id is kept.
    pub fn of(found: Option<StoreId>) -> Self {
        found.map_or(Self::NotYet, Self::Id)
    }

    /// The id, if it has one.
    pub const fn id(&self) -> Option<&StoreId> {
        match self {
            Self::Id(id) => Some(id),
            Self::Untold | Self::NotYet => None,
        }
    }
}

/// The lengths of lease that a store grants; one that it is asked for beyond them is cut, or made longer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// The shortest, as far as it tells.
    pub least: Option<Duration>,
    /// The longest, as far as it tells.
    pub greatest: Option<Duration>,
}

/// Something that there is only so much of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Supply {
    /// What it is, and where.
    pub what: String,
    /// What it is counted in.
    pub unit: Unit,
    /// How much there is in all; `None` if it has no limit, or none that is told.
    pub most: Option<u64>,
    /// How much of it is in use; `None` if that is not told.
    pub used: Option<u64>,
}

/// What a [`Supply`] is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Whatever its name says.
    Pieces,
}

/// Something to know, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// What was found, and where.
    pub what: String,
    /// What to do.
    pub way_out: String,
}

/// How bad a [`Finding`] is, the mildest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing is wrong.
    Note,
    /// Elections are held, until something else happens.
    Warning,
    /// No election is held as it should be.
    Error,
}

impl Finding {
    /// Good to know.
    pub fn note(what: impl Into<String>, way_out: impl Into<String>) -> Self {
        Self::new(Severity::Note, what.into(), way_out.into())
    }

    /// Bad once something else happens.
    pub fn warning(what: impl Into<String>, way_out: impl Into<String>) -> Self {
        Self::new(Severity::Warning, what.into(), way_out.into())
    }

    /// Bad already.
    pub fn error(what: impl Into<String>, way_out: impl Into<String>) -> Self {
        Self::new(Severity::Error, what.into(), way_out.into())
    }

    /// Servers have their words in it.
    fn new(severity: Severity, what: String, way_out: String) -> Self {
        Self { severity, what: clean(what, LONGEST), way_out: clean(way_out, LONGEST) }
    }
}

impl Supply {
    /// How much of it is left; `None` if that cannot be told.
    pub fn left(&self) -> Option<u64> {
        Some(self.most?.saturating_sub(self.used?))
    }
}

impl Severity {
    /// The name for reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The middle one of several spans; zero of none.
pub fn middle(mut spans: Vec<Duration>) -> Duration {
    spans.sort_unstable();
    spans.get(spans.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_in_the_middle() {
        let middle =
            |spans: &[u64]| middle(spans.iter().copied().map(Duration::from_millis).collect());
        assert_eq!(middle(&[9, 1, 5]), Duration::from_millis(5));
        assert_eq!(middle(&[]), Duration::ZERO);
    }

    #[test]
    fn what_is_left_is_known_where_both_ends_are() {
        let left = |most, used| Supply { what: "x".into(), unit: Unit::Pieces, most, used }.left();
        assert_eq!(left(Some(9), Some(2)), Some(7));
        assert_eq!(left(Some(2), Some(9)), Some(0));
        assert_eq!(left(None, Some(9)), None);
    }
}

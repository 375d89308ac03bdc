use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::StoreId;
use crate::error::LONGEST;
use crate::text::clean;
use crate::{Boottime, Error};

/// Reads the time for a store that measures how fast its servers answer. Stores do not read clocks themselves.
pub type Clock = Arc<dyn Fn() -> Boottime + Send + Sync>;

/// The description that a store gives of itself. It is for people to read, and decides nothing.
#[derive(Clone, Debug, Default)]
pub struct Examination {
    /// One endpoint for each place that the URL of the store names, in the same order.
    pub endpoints: Vec<Endpoint>,
    /// The lengths of lease that the store grants.
    pub grants: Grants,
    /// The longest time for which an entry can outlive the last action of its holder. Set where a survey does not
    /// show that time ([`Ending::Granted`](crate::Ending::Granted)).
    pub longest_ending: Option<Duration>,
    /// The limited resources of the store, as far as it reports them.
    pub supplies: Vec<Supply>,
    /// What is wrong with the store, or may go wrong. An endpoint that does not answer is not listed here.
    pub findings: Vec<Finding>,
}

/// One place of a store: a server, or a directory.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The address without secrets: `HOST:PORT`, or a path.
    pub address: String,
    /// The answer of the endpoint, or the reason why there is none.
    pub answer: Result<EndpointAnswer, Error>,
}

/// The description that an endpoint gives of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointAnswer {
    /// The time from a question to its answer over an open connection: the median of several.
    pub round_trip: Duration,
    /// The server's version as it writes it; `None` if it does not report one, or is not a server.
    pub version: Option<String>,
    /// The role of the server among the others (`leader`, `follower`), or the kind of the file system; `None` if it
    /// does not report one.
    pub role: Option<String>,
    /// The store that this endpoint leads to.
    pub store: StoreIdentity,
}

/// The id that an endpoint reports for its store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StoreIdentity {
    /// The endpoint does not report an id, or its kind of store has none.
    #[default]
    Untold,
    /// The store has no id yet, because no candidate has entered an election there.
    NotYet,
    /// The store has this id.
    Id(StoreId),
}

impl StoreIdentity {
    /// The identity for a store id that was looked up; `None` stands for a store without an id.
    pub fn of(found: Option<StoreId>) -> Self {
        found.map_or(Self::NotYet, Self::Id)
    }

    /// The id, if the store has one.
    pub const fn id(&self) -> Option<&StoreId> {
        match self {
            Self::Id(id) => Some(id),
            Self::Untold | Self::NotYet => None,
        }
    }
}

/// The lengths of lease that a store grants. It changes a requested length beyond these bounds to the nearest bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// The shortest length, if the store reports it.
    pub least: Option<Duration>,
    /// The longest length, if the store reports it.
    pub greatest: Option<Duration>,
}

/// A resource of which the store has a limited amount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Supply {
    /// The name of the resource, and where it is.
    #[serde(rename = "limit")]
    pub what: String,
    /// The unit of the amounts.
    pub unit: Unit,
    /// The whole amount; `None` if there is no limit, or none that is reported.
    pub most: Option<u64>,
    /// The amount in use; `None` if that is not reported.
    pub used: Option<u64>,
}

/// The unit of a [`Supply`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// The things that the name of the supply says.
    Pieces,
}

/// A fact that people should know, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The severity of the finding.
    pub severity: Severity,
    /// The fault or the fact that was found, and where.
    pub what: String,
    /// The advice to the user.
    pub way_out: String,
}

/// The severity of a [`Finding`], the mildest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Nothing is wrong.
    Note,
    /// Elections work, but a further fault would break them.
    Warning,
    /// Elections do not work as they should.
    Error,
}

impl Finding {
    /// A finding that is good to know.
    pub fn note(what: impl Into<String>, way_out: impl Into<String>) -> Self {
        Self::new(Severity::Note, what.into(), way_out.into())
    }

    /// A finding that becomes a fault once something else happens.
    pub fn warning(what: impl Into<String>, way_out: impl Into<String>) -> Self {
        Self::new(Severity::Warning, what.into(), way_out.into())
    }

    /// A finding that is already a fault.
    pub fn error(what: impl Into<String>, way_out: impl Into<String>) -> Self {
        Self::new(Severity::Error, what.into(), way_out.into())
    }

    /// Cleans the texts, because they may quote servers.
    fn new(severity: Severity, what: String, way_out: String) -> Self {
        Self { severity, what: clean(what, LONGEST), way_out: clean(way_out, LONGEST) }
    }
}

impl Supply {
    /// The amount left; `None` if that is not known.
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

/// The median of several durations; zero if there are none.
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
    fn the_rest_of_a_supply_is_known_if_limit_and_use_are_known() {
        let left = |most, used| Supply { what: "x".into(), unit: Unit::Pieces, most, used }.left();
        assert_eq!(left(Some(9), Some(2)), Some(7));
        assert_eq!(left(Some(2), Some(9)), Some(0));
        assert_eq!(left(None, Some(9)), None);
    }
}

use std::time::Duration;

use elect_api::ElectionName;

use super::plan::parse_election;
use super::{BackendUrl, ConfigError, stores};
use crate::cli::{PauseArgs, ResignArgs, ResumeArgs};

/// What `elect pause` is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PausePlan {
    /// The store that keeps the election.
    pub backend: BackendUrl,
    /// The election.
    pub election: ElectionName,
    /// Why, for all who look.
    pub reason: Option<String>,
    /// How long to wait until nobody leads; without end if `None`.
    pub timeout: Option<Duration>,
}

impl PausePlan {
    /// The plan that these arguments ask for.
    ///
    /// # Errors
    /// What is wrong with them, with a hint.
    pub fn new(args: PauseArgs) -> Result<Self, ConfigError> {
        let election = parse_election(&args.election.unwrap_or_default())?;
        stores::check(&args.backend)?;
        let PauseArgs { backend, reason, timeout, .. } = args;
        Ok(Self { backend, election, reason, timeout })
    }
}

/// What `elect resume` is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResumePlan {
    /// The store that keeps the election.
    pub backend: BackendUrl,
    /// The election.
    pub election: ElectionName,
}

impl ResumePlan {
    /// The plan that these arguments ask for.
    ///
    /// # Errors
    /// What is wrong with them, with a hint.
    pub fn new(args: ResumeArgs) -> Result<Self, ConfigError> {
        let election = parse_election(&args.election.unwrap_or_default())?;
        stores::check(&args.backend)?;
        Ok(Self { backend: args.backend, election })
    }
}

/// What `elect resign` is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResignPlan {
    /// The store that keeps the election.
    pub backend: BackendUrl,
    /// The election.
    pub election: ElectionName,
    /// Why, for the leader's log.
    pub reason: Option<String>,
    /// How long to wait until it has handed over; without end if `None`.
    pub timeout: Option<Duration>,
}

impl ResignPlan {
    /// The plan that these arguments ask for.
    ///
    /// # Errors
    /// What is wrong with them, with a hint.
    pub fn new(args: ResignArgs) -> Result<Self, ConfigError> {
        let election = parse_election(&args.election.unwrap_or_default())?;
        stores::check(&args.backend)?;
        let ResignArgs { backend, reason, timeout, .. } = args;
        Ok(Self { backend, election, reason, timeout })
    }
}

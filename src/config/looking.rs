use std::num::NonZeroUsize;
use std::time::Duration;

use elect_api::ElectionName;

use super::campaign::parse_election;
use super::{BackendUrl, ConfigError, Goal, OutputFormat};
use crate::cli::{DoneArgs, HistoryArgs, ObserveArgs, StatusArgs, TargetArgs, WaitArgs};
use crate::stores;

/// An election, and the store that keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The store.
    pub backend: BackendUrl,
    /// The election.
    pub election: ElectionName,
}

impl Target {
    /// The one that these arguments name.
    ///
    /// # Errors
    /// What is wrong with them, with a hint.
    pub fn new(args: TargetArgs) -> Result<Self, ConfigError> {
        let election = parse_election(&args.election.unwrap_or_default())?;
        stores::find(&args.backend)?;
        Ok(Self { backend: args.backend, election })
    }
}

/// What `elect status` is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusPlan {
    /// The store that keeps the elections.
    pub backend: BackendUrl,
    /// The elections to look at; all if empty.
    pub elections: Vec<ElectionName>,
    /// The form of the report; a table if it is kept up to date.
    pub output: OutputFormat,
    /// Whether to stay and keep the report up to date.
    pub watch: bool,
}

impl StatusPlan {
    /// The plan that these arguments ask for.
    ///
    /// # Errors
    /// What is wrong with them, with a hint.
    pub fn new(args: StatusArgs) -> Result<Self, ConfigError> {
        let elections =
            args.elections.iter().map(|name| parse_election(name)).collect::<Result<_, _>>()?;
        stores::find(&args.backend)?;
        let StatusArgs { backend, output, watch, .. } = args;
        Ok(Self { backend, elections, output, watch })
    }
}

/// What `elect observe` is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservePlan {
    /// The election to look at.
    pub target: Target,
    /// The form of what is told of each change.
    pub output: OutputFormat,
}

impl ObservePlan {
    /// The plan that these arguments ask for.
    ///
    /// # Errors
    /// What is wrong with them, with a hint.
    pub fn new(args: ObserveArgs) -> Result<Self, ConfigError> {
        Ok(Self { target: Target::new(args.target)?, output: args.output })
    }
}

/// What `elect history` is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryPlan {
    /// The election to look at.
    pub target: Target,
    /// The form of the report.
    pub output: OutputFormat,
    /// How many leaderships to show, the newest; all if `None`.
    pub last: Option<NonZeroUsize>,
}

impl HistoryPlan {
    /// The plan that these arguments ask for.
    ///
    /// # Errors
    /// What is wrong with them, with a hint.
    pub fn new(args: HistoryArgs) -> Result<Self, ConfigError> {
        Ok(Self { target: Target::new(args.target)?, output: args.output, last: args.last })
    }
}

/// What `elect done` is to do about the keys of an election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// Show this one, or all.
    Show(Option<String>),
    /// Remove this one, with its attempts.
    Undo(String),
    /// Add this one.
    Record(String),
}

/// What `elect done` is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DonePlan {
    /// The election.
    pub target: Target,
    /// What to do.
    pub what: Done,
    /// How long to wait while somebody else leads; without end if `None`.
    pub timeout: Option<Duration>,
    /// Whether a key may be recorded of an election that nobody has heard of.
    pub create: bool,
    /// The form of the report.
    pub output: OutputFormat,
}

impl DonePlan {
    /// The plan that these arguments ask for.
    ///
    /// # Errors
    /// What is wrong with them, with a hint.
    pub fn new(args: DoneArgs) -> Result<Self, ConfigError> {
        let DoneArgs { target, key, undo, record, timeout, create, output, .. } = args;
        let what = match (key, undo, record) {
            (_, true, true) => {
                return Err(ConfigError::Undivided { flag: "--undo", with: "--record" });
            }
            (None, true, _) => return Err(ConfigError::Alone { flag: "--undo", with: "KEY" }),
            (None, _, true) => return Err(ConfigError::Alone { flag: "--record", with: "KEY" }),
            (Some(key), true, _) => Done::Undo(key),
            (Some(key), _, true) => Done::Record(key),
            (key, false, false) => Done::Show(key),
        };
        Ok(Self { target: Target::new(target)?, what, timeout, create, output })
    }
}

/// What `elect wait` is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitPlan {
    /// The election to look at.
    pub target: Target,
    /// What is to be so.
    pub goal: Goal,
    /// How long to wait; without end if `None`. With 0 the store is asked once.
    pub timeout: Option<Duration>,
}

impl WaitPlan {
    /// The plan that these arguments ask for.
    ///
    /// # Errors
    /// What is wrong with them, with a hint.
    pub fn new(args: WaitArgs) -> Result<Self, ConfigError> {
        Ok(Self { target: Target::new(args.target)?, goal: args.goal, timeout: args.timeout })
    }
}

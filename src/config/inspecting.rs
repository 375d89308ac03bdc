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
    /// The target that these arguments name.
    ///
    /// # Errors
    /// If the arguments are wrong. The error has a hint.
    pub fn new(args: TargetArgs) -> Result<Self, ConfigError> {
        let election = parse_election(&args.election.unwrap_or_default())?;
        stores::find(&args.backend)?;
        Ok(Self { backend: args.backend, election })
    }
}

/// The plan of `elect status`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusPlan {
    /// The store that keeps the elections.
    pub backend: BackendUrl,
    /// The elections to look at; empty for all of them.
    pub elections: Vec<ElectionName>,
    /// The form of the report. It is a table if the report is kept up to date.
    pub output: OutputFormat,
    /// Whether to stay and keep the report up to date.
    pub watch: bool,
}

impl StatusPlan {
    /// Makes the plan from these arguments.
    ///
    /// # Errors
    /// If the arguments are wrong. The error has a hint.
    pub fn new(args: StatusArgs) -> Result<Self, ConfigError> {
        let elections =
            args.elections.iter().map(|name| parse_election(name)).collect::<Result<_, _>>()?;
        stores::find(&args.backend)?;
        let StatusArgs { backend, output, watch, .. } = args;
        Ok(Self { backend, elections, output, watch })
    }
}

/// The plan of `elect observe`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservePlan {
    /// The election to look at.
    pub target: Target,
    /// The form of the report of each change.
    pub output: OutputFormat,
}

impl ObservePlan {
    /// Makes the plan from these arguments.
    ///
    /// # Errors
    /// If the arguments are wrong. The error has a hint.
    pub fn new(args: ObserveArgs) -> Result<Self, ConfigError> {
        Ok(Self { target: Target::new(args.target)?, output: args.output })
    }
}

/// The plan of `elect history`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryPlan {
    /// The election to look at.
    pub target: Target,
    /// The form of the report.
    pub output: OutputFormat,
    /// The number of newest leaderships to show; `None` for all of them.
    pub last: Option<NonZeroUsize>,
}

impl HistoryPlan {
    /// Makes the plan from these arguments.
    ///
    /// # Errors
    /// If the arguments are wrong. The error has a hint.
    pub fn new(args: HistoryArgs) -> Result<Self, ConfigError> {
        Ok(Self { target: Target::new(args.target)?, output: args.output, last: args.last })
    }
}

/// The action of `elect done` on the keys of an election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// Show this key, or all of them.
    Show(Option<String>),
    /// Remove this key, with its attempts.
    Undo(String),
    /// Add this key.
    Record(String),
}

/// The plan of `elect done`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DonePlan {
    /// The election.
    pub target: Target,
    /// The action.
    pub what: Done,
    /// The longest wait while another candidate leads; `None` for no limit.
    pub timeout: Option<Duration>,
    /// Whether a key may be recorded for an election that does not exist yet.
    pub create: bool,
    /// The form of the report.
    pub output: OutputFormat,
}

impl DonePlan {
    /// Makes the plan from these arguments.
    ///
    /// # Errors
    /// If the arguments are wrong. The error has a hint.
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

/// The plan of `elect wait`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitPlan {
    /// The election to look at.
    pub target: Target,
    /// The state to wait for.
    pub goal: Goal,
    /// The longest wait; `None` for no limit. With 0 the store is asked once.
    pub timeout: Option<Duration>,
}

impl WaitPlan {
    /// Makes the plan from these arguments.
    ///
    /// # Errors
    /// If the arguments are wrong. The error has a hint.
    pub fn new(args: WaitArgs) -> Result<Self, ConfigError> {
        Ok(Self { target: Target::new(args.target)?, goal: args.goal, timeout: args.timeout })
    }
}

use std::time::Duration;

use super::{ConfigError, Target};
use crate::cli::{AskArgs, Preference, PriorityArgs, ResignArgs};

/// What is to be asked of an election, as `elect pause` and `elect resign` do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskPlan {
    /// The election.
    pub target: Target,
    /// Why, for logs and for all who look.
    pub reason: Option<String>,
    /// How long to wait until it is so; without end if `None`.
    pub timeout: Option<Duration>,
}

impl AskPlan {
    /// The plan that these arguments ask for.
    ///
    /// # Errors
    /// What is wrong with them, with a hint.
    pub fn new(args: AskArgs) -> Result<Self, ConfigError> {
        let AskArgs { target, reason, timeout, .. } = args;
        Ok(Self { target: Target::new(target)?, reason, timeout })
    }
}

/// What is to become of a leader's entry whose holder does not hand over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Force {
    /// It is removed if nobody holds it any more.
    IfDead,
    /// It is removed: people know better than the promise.
    EvenIfAlive,
}

/// What `elect resign` is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResignPlan {
    /// What is asked of whoever leads.
    pub ask: AskPlan,
    /// Who is to lead next, by an id or a label.
    pub to: Option<String>,
    /// What else is done; nothing if `None`.
    pub force: Option<Force>,
}

impl ResignPlan {
    /// The plan that these arguments ask for.
    ///
    /// # Errors
    /// What is wrong with them, with a hint.
    pub fn new(args: ResignArgs) -> Result<Self, ConfigError> {
        let force = match (args.force, args.even_if_alive) {
            (false, false) => None,
            (true, false) => Some(Force::IfDead),
            (true, true) => Some(Force::EvenIfAlive),
            (false, true) => {
                return Err(ConfigError::Alone { flag: "--even-if-alive", with: "--force" });
            }
        };
        Ok(Self { ask: AskPlan::new(args.ask)?, to: args.to, force })
    }
}

/// What `elect priority` is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriorityPlan {
    /// What is asked, and for how long the answer is waited for.
    pub ask: AskPlan,
    /// Whose priority, by an id or a label.
    pub id: String,
    /// Which.
    pub priority: Preference,
}

impl PriorityPlan {
    /// The plan that these arguments ask for.
    ///
    /// # Errors
    /// What is wrong with them, with a hint.
    pub fn new(args: PriorityArgs) -> Result<Self, ConfigError> {
        let priority = args.priority.unwrap_or(Preference::Own);
        Ok(Self { ask: AskPlan::new(args.ask)?, id: args.id.unwrap_or_default(), priority })
    }
}

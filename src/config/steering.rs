use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{ConfigError, Target};
use crate::cli::{AskArgs, ForgetArgs, PauseArgs, PauseEnd, Preference, PriorityArgs, ResignArgs};

/// A request to an election, as of `elect pause` and `elect resign`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskPlan {
    /// The election.
    pub target: Target,
    /// The reason, for logs and for reports.
    pub reason: Option<String>,
    /// The longest wait until the request is carried out; `None` for no limit.
    pub timeout: Option<Duration>,
}

impl AskPlan {
    /// Makes the plan from these arguments.
    ///
    /// # Errors
    /// If the arguments are wrong. The error has a hint.
    pub fn new(args: AskArgs) -> Result<Self, ConfigError> {
        let AskArgs { target, reason, timeout, .. } = args;
        Ok(Self { target: Target::new(target)?, reason, timeout })
    }
}

impl PauseEnd {
    /// The time of the end, for a request at `now`, by the wall clock.
    pub fn from(self, now: SystemTime) -> SystemTime {
        let at = match self {
            Self::After(span) => return now + span,
            Self::Instant(at) => return at,
            Self::OfDay(at) => at,
        };
        let since_1970 = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let today = Duration::from_secs(since_1970.as_secs() / DAY.as_secs() * DAY.as_secs());
        let end = UNIX_EPOCH + today + at;
        if end > now { end } else { end + DAY }
    }
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The plan of `elect pause`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PausePlan {
    /// The request.
    pub ask: AskPlan,
    /// The time at which the pause ends by itself; `None` for never.
    pub end: Option<PauseEnd>,
    /// Whether an election may be paused that does not exist yet.
    pub create: bool,
}

impl PausePlan {
    /// Makes the plan from these arguments.
    ///
    /// # Errors
    /// If the arguments are wrong. The error has a hint.
    pub fn new(args: PauseArgs) -> Result<Self, ConfigError> {
        let PauseArgs { ask, span, until, create, .. } = args;
        let end = span.map(PauseEnd::After).or(until);
        Ok(Self { ask: AskPlan::new(ask)?, end, create })
    }
}

/// The plan of `elect forget`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgetPlan {
    /// The election.
    pub target: Target,
    /// Whether to remove the election, or only to show what would be removed.
    pub yes: bool,
    /// Whether to remove it even if it has fences.
    pub fences: bool,
}

impl ForgetPlan {
    /// Makes the plan from these arguments.
    ///
    /// # Errors
    /// If the arguments are wrong. The error has a hint.
    pub fn new(args: ForgetArgs) -> Result<Self, ConfigError> {
        let ForgetArgs { target, yes, fences, .. } = args;
        Ok(Self { target: Target::new(target)?, yes, fences })
    }
}

/// The fate of the entry of a leader that does not hand over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Force {
    /// The entry is removed if its holder is dead.
    IfDead,
    /// The entry is removed in any case, at the user's risk.
    EvenIfAlive,
}

/// The plan of `elect resign`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResignPlan {
    /// The request to the leader.
    pub ask: AskPlan,
    /// The id or label of the next leader.
    pub to: Option<String>,
    /// What happens if the leader does not hand over; `None` for nothing.
    pub force: Option<Force>,
}

impl ResignPlan {
    /// Makes the plan from these arguments.
    ///
    /// # Errors
    /// If the arguments are wrong. The error has a hint.
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

/// The plan of `elect priority`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriorityPlan {
    /// The request, and how long to wait for its effect.
    pub ask: AskPlan,
    /// The id or label of the candidate.
    pub id: String,
    /// The new priority.
    pub priority: Preference,
}

impl PriorityPlan {
    /// Makes the plan from these arguments.
    ///
    /// # Errors
    /// If the arguments are wrong. The error has a hint.
    pub fn new(args: PriorityArgs) -> Result<Self, ConfigError> {
        let priority = args.priority.unwrap_or(Preference::Own);
        Ok(Self { ask: AskPlan::new(args.ask)?, id: args.id.unwrap_or_default(), priority })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_day_is_the_next_one() {
        let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        let hour = 60 * 60;
        let noon = "12:00".parse::<PauseEnd>().unwrap();
        assert_eq!(noon.from(at(11 * hour)), at(12 * hour));
        assert_eq!(noon.from(at(12 * hour)), at(36 * hour));
        assert_eq!(PauseEnd::After(Duration::from_secs(hour)).from(at(5)), at(hour + 5));
        let instant = "1970-01-02T00:00:00Z".parse::<PauseEnd>().unwrap();
        assert_eq!(instant.from(at(0)), at(24 * hour));
    }
}

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{ConfigError, Target};
use crate::cli::{AskArgs, ForgetArgs, PauseArgs, PauseTime, Preference, PriorityArgs, ResignArgs};

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

/// When a pause ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseEnd {
    /// So long after it was asked for.
    After(Duration),
    /// At this time.
    At(PauseTime),
}

impl PauseEnd {
    /// When that is, for whoever asks at `now` by the wall clock.
    pub fn from(self, now: SystemTime) -> SystemTime {
        let at = match self {
            Self::After(span) => return now + span,
            Self::At(PauseTime::Instant(at)) => return at,
            Self::At(PauseTime::OfDay(at)) => at,
        };
        let since_1970 = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let today = Duration::from_secs(since_1970.as_secs() / DAY.as_secs() * DAY.as_secs());
        let end = UNIX_EPOCH + today + at;
        if end > now { end } else { end + DAY }
    }
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// What `elect pause` is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PausePlan {
    /// What is asked.
    pub ask: AskPlan,
    /// When it ends by itself; never if `None`.
    pub end: Option<PauseEnd>,
    /// Whether an election may be paused that nobody has heard of.
    pub create: bool,
}

impl PausePlan {
    /// The plan that these arguments ask for.
    ///
    /// # Errors
    /// What is wrong with them, with a hint.
    pub fn new(args: PauseArgs) -> Result<Self, ConfigError> {
        let PauseArgs { ask, span, until, create, .. } = args;
        let end = span.map(PauseEnd::After).or(until.map(PauseEnd::At));
        Ok(Self { ask: AskPlan::new(ask)?, end, create })
    }
}

/// What `elect forget` is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgetPlan {
    /// The election.
    pub target: Target,
    /// Whether it is removed, and not only shown.
    pub yes: bool,
    /// Whether that may be though it has fences.
    pub fences: bool,
}

impl ForgetPlan {
    /// The plan that these arguments ask for.
    ///
    /// # Errors
    /// What is wrong with them, with a hint.
    pub fn new(args: ForgetArgs) -> Result<Self, ConfigError> {
        let ForgetArgs { target, yes, fences, .. } = args;
        Ok(Self { target: Target::new(target)?, yes, fences })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_day_is_the_next_one() {
        let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        let hour = 60 * 60;
        let noon = PauseEnd::At("12:00".parse().unwrap());
        assert_eq!(noon.from(at(11 * hour)), at(12 * hour));
        assert_eq!(noon.from(at(12 * hour)), at(36 * hour));
        assert_eq!(PauseEnd::After(Duration::from_secs(hour)).from(at(5)), at(hour + 5));
        let instant = PauseEnd::At("1970-01-02T00:00:00Z".parse().unwrap());
        assert_eq!(instant.from(at(0)), at(24 * hour));
    }
}

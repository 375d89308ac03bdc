//! The state of a leadership, as a command learns it from its lease.

use std::time::Duration;

use elect_api::{Boottime, Token};

/// The state of a leadership, as a command learns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeadershipView {
    /// The token of the leadership that the command was started with.
    pub token: Token,
    /// How long the command may count on its leadership.
    pub until: Until,
    /// How long after the announced end of the leadership no other candidate leads. `None` for a command
    /// that elect kills at `until`.
    pub grace: Option<Duration>,
}

/// How long a command may count on its leadership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// As long as the command runs.
    Unlimited,
    /// Until this instant, unless the lease is renewed.
    Instant(Boottime),
    /// No longer: the leadership has ended.
    Over,
    /// Not yet: the leadership has not begun.
    NotYet,
}

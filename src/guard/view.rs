//! What a command is told of its leadership, whichever way it asks.

use std::time::Duration;

use elect_api::{Boottime, Token};

/// What a command is told of its leadership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeadershipView {
    /// The token of the leadership that the command was started with.
    pub token: Token,
    /// Until when it may count on it.
    pub until: Until,
    /// How long after the end of the leadership, as told, nobody else leads; `None` where `until` is the
    /// end of what leads, as a command is killed.
    pub grace: Option<Duration>,
}

/// Until when a command may count on its leadership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// As long as it runs.
    Unlimited,
    /// Until this instant, unless it is renewed.
    Instant(Boottime),
    /// No more.
    Over,
    /// It has not begun.
    NotYet,
}

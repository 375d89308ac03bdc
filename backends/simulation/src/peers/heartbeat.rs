//! How followers learn that a leader is dead, where the paper leaves that open.

use std::time::Duration;

use crate::Senseless;

/// The leader's heartbeats.
///
/// Garcia-Molina and Chang and Roberts begin where somebody has noticed that the leader is dead. Here a leader sends
/// heartbeats to all, and a follower that has heard none for too long begins an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// How often the leader sends one.
    pub interval: Duration,
    /// After how long without one a follower suspects the leader: more than the interval.
    pub patience: Duration,
}

impl Heartbeat {
    pub(super) fn check(self) -> Result<(), Senseless> {
        Senseless::unless_shorter(
            ("the interval of heartbeats", self.interval),
            ("the patience without one", self.patience),
        )
    }
}

//! How followers learn that a leader is dead, where the paper leaves that open.

use std::time::Duration;

use crate::Senseless;

/// The heartbeats of a leader.
///
/// Garcia-Molina's and Chang and Roberts' algorithms begin when a node has noticed that the leader is dead. Here a
/// leader sends heartbeats to all nodes. A follower that misses them for too long begins an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// The interval between two heartbeats.
    pub interval: Duration,
    /// How long a follower waits without one before it suspects the leader. It is more than the interval.
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

//! The server behind `--http`: pages for people, probes, event streams and Prometheus metrics.
//!
//! # Theory of operation
//!
//! The engine's side writes to an [`HttpState`], and never waits for a reader. A write copies a few words under a lock
//! that the server holds just as shortly. The [`Server`] has its own thread and runtime, so no client's work runs where
//! leases are renewed.
//!
//! The cost of clients is bounded: the number of connections and of event streams, the length of a request's head and
//! the time to send it, and the data that waits to be sent. The number of requests a second is bounded too, because the
//! engine may share a quota of processor time with the server.
//!
//! **Truth.** Each answer derives from the soft deadline, and from the clock that counts suspends, whether this
//! candidate leads. The engine need not say that the leadership is over. A wrapper that was stopped and continues
//! answers correctly even before the engine has looked at the time.

mod connections;
mod events;
#[cfg(feature = "fuzzing")]
mod fuzzing;
mod metrics;
mod pages;
mod present;
mod server;
mod state;

use std::time::{Duration, SystemTime};

use elect_api::{Boottime, Promise, Token};

#[cfg(feature = "fuzzing")]
pub use fuzzing::fuzz;
pub use metrics::{Failure, Metrics};
pub use present::{ElectionWatcher, StatusSnapshot};
pub use server::{Listener, Server};
pub use state::{Clocks, HttpState};

/// The identity of this candidate.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The election's name.
    pub election: String,
    /// The candidate's id.
    pub id: String,
    /// The scheme of the store's URL.
    pub store: &'static str,
    /// The promise of the store.
    pub promise: Promise,
    /// True if leases end by time. Then this candidate does not lead before it has deadlines.
    pub is_timed: bool,
    /// True if the candidate runs a command.
    pub has_command: bool,
    /// If a leadership may end at any time: how long after its shown end no other candidate leads.
    pub grace: Option<Duration>,
}

/// The state of the candidate at one instant. It is exactly as old as the answer that shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CandidateView {
    /// The instant of this view.
    pub at: Boottime,
    /// The leadership of this candidate; `None` if it does not lead.
    pub leadership: Option<Leadership>,
    /// The number of candidates before this one: 0 for a leader, `None` if the store has not said.
    pub place: Option<usize>,
    /// True if this candidate takes part: the store has answered, and the candidacy is not over.
    pub is_ready: bool,
    /// True if the election is paused, as far as the store has said.
    pub is_paused: bool,
    /// True if any process of the command lives; `None` if the candidate runs no command.
    pub command_runs: Option<bool>,
    /// The number of changes so far.
    pub changes: u64,
}

/// A leadership at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leadership {
    /// The fencing token.
    pub token: Token,
    /// The time at which the leadership began, by this machine's wall clock.
    pub since: SystemTime,
    /// The time for which the leadership can be relied on without a further renewal: up to the soft deadline, or for
    /// the grace. `None` means without end.
    pub left: Option<Duration>,
    /// The time to the hard deadline; `None` if there is none.
    pub to_hard: Option<Duration>,
}

impl CandidateView {
    /// Returns whether this candidate is the next to lead: only the leader is before it.
    pub fn is_next(&self) -> bool {
        self.place == Some(1)
    }
}

/// The reason why a leadership ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The command, and everything it left running, has ended.
    Ended,
    /// The command has ended after this candidate was asked to step down.
    SteppedDown,
    /// The leadership could not be proven in time, or the store says that it is over.
    Lost,
    /// The command could not be started, or its guardian died.
    Failed,
}

impl Reason {
    /// Returns the name of the label and of the event; stable.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::SteppedDown => "stepped_down",
            Self::Lost => "lost",
            Self::Failed => "failed",
        }
    }
}

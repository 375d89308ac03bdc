//! What `--http` shows: pages for people, probes, event streams and Prometheus.
//!
//! # Theory of operation
//!
//! The engine's side writes on a [`HttpState`], and never waits for anybody who reads it: a write copies a
//! few words under a lock that the server holds just as shortly. The [`Server`] has a thread and a
//! runtime of its own, so nothing that a client does runs where leases are renewed. What clients can
//! cost is bounded: the number of connections and of event streams, the length of a request's head and
//! the time that it takes, what waits to be sent, and how many requests are served in a second, as a
//! quota of processor time is shared with the engine.
//!
//! **Truth.** Whether we lead is worked out for each answer, from the soft deadline and the clock that
//! counts suspends. No word of the engine is needed to stop saying so: a wrapper that was stopped and
//! goes on answers rightly before the engine has looked at the time.

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

use elect_api::{Boottime, Token};

#[cfg(feature = "fuzzing")]
pub use fuzzing::fuzz;
pub use metrics::{Failure, Metrics};
pub use present::{ElectionWatcher, StatusSnapshot};
pub use server::{Listener, Server};
pub use state::{Clocks, HttpState};

/// Who we are.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The election's name.
    pub election: String,
    /// The candidate's id.
    pub id: String,
    /// The scheme of the store's URL.
    pub store: &'static str,
    /// Whether leases end by time: then nobody leads without deadlines.
    pub is_timed: bool,
    /// Whether it runs a command.
    pub has_command: bool,
    /// Where a leadership may end at any time: how long after its end, as shown, nobody else leads.
    pub grace: Option<Duration>,
}

/// How things are at one instant. It is as old as the answer that is made of it, and no older.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CandidateView {
    /// That instant.
    pub at: Boottime,
    /// The token, the begin and what is left of our leadership; `None` where we do not lead.
    pub leadership: Option<Leadership>,
    /// How many are before us: 0 for a leader, `None` where the store has not said.
    pub place: Option<usize>,
    /// Whether we take part: the store has answered, and our candidacy is not over.
    pub is_ready: bool,
    /// Whether the election is paused, as far as the store has said.
    pub is_paused: bool,
    /// Whether anything of our command lives; `None` where there is none to be run.
    pub command_runs: Option<bool>,
    /// How many changes there were.
    pub changes: u64,
}

/// A leadership at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leadership {
    /// Its token.
    pub token: Token,
    /// Since when, by our wall clock.
    pub since: SystemTime,
    /// How long it can be counted on without a further renewal: to the soft deadline, or for the grace.
    /// `None` is without end.
    pub left: Option<Duration>,
    /// The time to the hard deadline. `None` where there is none.
    pub to_hard: Option<Duration>,
}

impl CandidateView {
    /// Whether we are the next to lead: only the leader is before us.
    pub fn is_next(&self) -> bool {
        self.place == Some(1)
    }
}

/// Why a leadership ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The command, and whatever it left running, has ended.
    Ended,
    /// The same, after we were asked to step down.
    SteppedDown,
    /// It could not be proven in time, or the store says that it is over.
    Lost,
    /// The command could not be started, or its guardian died.
    Failed,
}

impl Reason {
    /// Its name as a label and as the kind of an event; stable.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::SteppedDown => "stepped_down",
            Self::Lost => "lost",
            Self::Failed => "failed",
        }
    }
}

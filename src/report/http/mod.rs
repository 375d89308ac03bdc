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
mod view;

#[cfg(feature = "fuzzing")]
pub use fuzzing::fuzz;
pub use metrics::{Failure, Metrics};
pub use present::{Snapshot, Watcher};
pub use server::{Listener, Server};
pub use state::{Clocks, HttpState};
pub use view::{Identity, Leadership, Reason, View};

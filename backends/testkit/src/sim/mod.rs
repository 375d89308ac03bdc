//! A simulated store: a queue or a record whose leases end by time. A test can inject every fault of a
//! network and a server.
//!
//! ```text
//! World         the state: a pure function of requests and the store's time; keeps the history
//! Service       the world with rules (lose, delay, duplicate, hold, ...) by the machine's time; no I/O
//! Sim           the service in this process, on a manual or a paused clock
//! SimServer     the service in a process of its own, on CLOCK_BOOTTIME, behind a unix socket
//! SimStore      the client of either, which keeps the laws as that of a real store has to
//! Controls      the hand of the test on either
//! ```
//!
//! In process, for a simulation:
//!
//! ```text
//! let clock = Arc::new(ManualClock::default());               // or TokioClock, under paused time
//! let sim = Sim::new(Options::new(Kind::Queue).rate_per_mille(910), clock.clone());
//! let store = sim.connect();                                  // Box<dyn elect_api::Store>
//! sim.controls().add(Rule::new(Effect::LoseReply).op(Op::Renew).client("x"));
//! ```
//!
//! As a server, for the program itself, built with its feature `sim`:
//!
//! ```text
//! let server = SimServer::start(&Options::new(Kind::Record));
//! Elect::new(binary).args(["run", "-b", &server.url(), "--id", "x", ...]).spawn();
//! let rule = server.controls().add(Rule::new(Effect::LoseRequest).client("x"));
//! eventually("a lost renewal", || (server.controls().hits(rule) > 0).then_some(()));
//! let history = server.controls().history();                  // Vec<Leadership<Boottime>>
//! ```

mod cells;
mod controls;
mod documents;
mod launch;
mod local;
mod message;
mod options;
mod queue_seat;
mod remote;
mod rules;
mod server;
mod service;
mod store;
#[cfg(test)]
mod tests;
mod ticket;
mod time;
mod transport;
mod world;

use elect_api::StoreKind;

pub use crate::clock::now as boottime;
pub use controls::Controls;
pub use launch::SimServer;
pub use local::Sim;
pub use message::{Ask, Cause, Envelope, Leadership, Op, Place, Reply, Request, Tally};
pub use options::{Kind, Options};
pub use remote::connect;
pub use rules::{Effect, Rule, RuleId};
pub use server::serve;
pub use time::{Clock, ManualClock, Rate, TokioClock};
pub use world::World;

/// The scheme of the URLs of simulated stores.
pub const SCHEME: &str = "sim";

/// The simulated store among elect's kinds of stores. The manual has neither a page nor an example of
/// it.
pub const KIND: StoreKind = StoreKind {
    name: "simulated",
    schemes: &[SCHEME],
    example: "",
    nicknames: &[],
    lacks: "",
    manual: ("", ""),
    credentials: None,
    knows_pods: false,
    connect,
    fuzz_targets: &[],
};

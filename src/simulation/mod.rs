//! elect in the simulated world of [`elect_simulation`].

mod candidate;
mod queue;
mod seat;

pub use candidate::{Candidate, Letter, Process, Setup, Tree};
pub use queue::{Ask, Bid, Place, Queue, Reply};
pub use seat::Proof;

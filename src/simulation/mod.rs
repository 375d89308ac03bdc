//! elect in the simulated world of [`elect_simulation`].
//!
//! A [`Candidate`] is the real machine and the real ladder, with what is between them as a state: no process, no future,
//! no clock. Tests go through all ways that a few of them can take; [`Leases`] has them play in the world, on a [`Queue`]
//! of leases that several members keep.

mod candidate;
mod election;
mod queue;
mod seat;

pub use candidate::{Candidate, Identity, Letter, Process, Setup, Tree};
pub use election::Leases;
pub use queue::{Ask, Bid, Place, Queue, Reply};
pub use seat::Proof;

//! elect in the simulated world of [`elect_simulation`].
//!
//! A [`Candidate`] is the real machine and the real ladder, with what is between them as a state: no process, no thread,
//! no clock. It has a [`Seat`]: in a [`Queue`] of leases, or the real one of stores that keep records. Tests go through all
//! ways that a few candidates can take; [`Leases`] has them play in the world, with a store that several members keep.

mod candidate;
mod election;
mod kinds;
mod queue;
mod queue_seat;
#[cfg(feature = "kubernetes")]
mod record;
#[cfg(feature = "kubernetes")]
mod record_seat;
mod seat;
mod setup;

pub use candidate::{Candidate, Process, Tree};
pub use election::{Leases, candidacy};
#[cfg(feature = "kubernetes")]
pub use kinds::OnRecord;
pub use kinds::{InQueue, Kind};
pub use queue::{Ask, Bid, Looks, Place, Queue, Reply};
pub use queue_seat::{Proof, QueueSeat};
pub use seat::{Asked, Seat, Told};
pub use setup::{Identity, Setup};

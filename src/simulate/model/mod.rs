//! elect in the simulated world of [`elect_simulation`].
//!
//! A [`Candidate`] combines the real machine and the real ladder. It is a plain state without processes, threads or a
//! clock. It holds a [`Seat`]: one in a [`Queue`](elect_simulation::queue::Queue) of leases, or the real seat of stores
//! that keep records.
//!
//! Tests explore all possible runs of a few candidates. [`Leases`] lets candidates run in the simulated world, on a
//! store that several members keep.

mod candidate;
mod election;
mod kinds;
mod queue_seat;
mod record;
mod record_seat;
mod seat;
mod setup;

pub use candidate::{Candidate, Process, Tree};
pub use election::{Leases, candidacy};
pub use kinds::OnRecord;
pub use kinds::{InQueue, Kind};
pub use queue_seat::{Proof, QueueSeat};
pub use seat::{Asked, Seat, Told};
pub use setup::{Identity, Setup};

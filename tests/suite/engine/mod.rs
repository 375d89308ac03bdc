//! Elections: who leads, for how long, and who is next.

#[cfg(feature = "sim")]
mod clocks;
mod comeback;
mod contention;
#[cfg(feature = "sim")]
mod crons;
mod deadlines;
pub(crate) mod exploration;
mod library;
mod lock_delay;
pub(crate) mod loss;
pub(crate) mod once;
mod shards;
pub(crate) mod simulation;
mod slots;
#[cfg(feature = "sim")]
mod timed;
#[cfg(feature = "sim")]
mod unordered;

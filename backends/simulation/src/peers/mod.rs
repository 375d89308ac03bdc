//! Election algorithms other than elect's.
//!
//! | election | takes for dead | two lead at once |
//! |---|---|---|
//! | [`Bully`], [`Ring`] | what is silent for too long | on the sides of a split, or while messages are slow; until heartbeats arrive again |
//! | [`Raft`] | what a majority does not hear from | in different terms: until the earlier leader hears of the later one, or misses its quorum |
//! | [`Recipes`] on a store | what the store has not heard from | while the leader stands still, or its clock is too slow |
//!
//! Each algorithm is as fast as the silence that it waits for is short. The shorter that silence, the more often it is
//! wrong.

pub mod bully;
pub(crate) mod elector;
mod heartbeat;
pub mod raft;
pub mod recipe;
pub mod ring;
mod steps;
pub mod store;
pub mod theory;

pub use bully::Bully;
pub use elector::RaftOptions;
pub use heartbeat::Heartbeat;
pub use raft::Raft;
pub use recipe::{Recipe, Recipes};
pub use ring::{Ids, Ring};

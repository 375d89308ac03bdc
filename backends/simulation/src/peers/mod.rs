//! What others than elect do to have one leader.

pub mod bully;
mod heartbeat;
mod herd;
mod queue;
pub mod raft;
pub mod recipe;
pub mod ring;
pub mod store;

pub use bully::Bully;
pub use heartbeat::Heartbeat;
pub use raft::{Raft, RaftOptions};
pub use recipe::{Recipe, Recipes};
pub use ring::{Ids, Ring};

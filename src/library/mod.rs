//! The engine for programs in Rust: what the crate shows to others, and nothing else.
//!
//! To the engine a program's own [`Work`](work::Work) is like a command that takes the whole of its grace to end,
//! as nobody can kill it. All campaigns of a process share one [`Engine`](engine::Engine), a thread, and those with
//! the same URL one store.

mod campaign;
mod candidature;
mod engine;
mod error;
mod leadership;
mod stores;
mod validity;
mod work;

pub use campaign::Campaign;
pub use error::Error;
pub use leadership::Leadership;
pub use validity::Validity;

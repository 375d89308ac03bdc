//! What elect and its stores use of their machine. It is not part of the contract between engine and store.
//!
//! - [`path`]: the one way to open files by path, which follows no stranger's link.
//! - [`helpers`]: programs that a store runs for itself, and that belong to no command.

pub mod helpers;
pub mod path;

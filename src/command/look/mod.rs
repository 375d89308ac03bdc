//! Looking at elections, once or for as long as somebody wants to know: the one mechanism of `status`,
//! `observe` and `wait`.
//!
//! Whoever looks on is woken by the store, and asks now and then in any case, as a wake may be lost. Each
//! answer is as of the instant before its question was sent; while there is none, nothing is made up.

mod snapshot;
mod watcher;

pub(super) use snapshot::Snapshot;
pub(super) use snapshot::{FRESH, Reach, Seen, look, orders, pause_status, see};
#[cfg(test)]
pub(super) use watcher::Silence;
pub(super) use watcher::pace;
pub(super) use watcher::{Look, Rhythm, Watcher};
pub(super) use watcher::{Until, until};

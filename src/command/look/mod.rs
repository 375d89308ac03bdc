//! Looking at elections, once or for as long as somebody wants to know: the one mechanism of `status`,
//! `observe` and `wait`.
//!
//! Whoever looks on is woken by the store, and asks now and then in any case, as a wake may be lost. Each
//! answer is as of the instant before its question was sent; while there is none, nothing is made up.

mod lookout;
mod pace;
mod sight;
mod until;
mod wishes;

pub(super) use lookout::{Look, Lookout, Rhythm};
pub(super) use pace::pace;
pub(super) use sight::{FRESH, Reach, Seen, look, orders, see};
pub(super) use until::{Until, until};
pub(super) use wishes::{Wish, Wishes};
#[cfg(test)]
pub(super) use {lookout::Silence, sight::Sight};

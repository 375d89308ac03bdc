//! `elect fence`, `elect put` and `elect get`, on each store.

mod inside;
mod readme;
mod stale;
mod stopped;
mod stopping;
mod usage;

//! `elect fence`, `elect put` and `elect get`, on each store, and what README has others do with tokens.

mod escapee;
mod example;
mod inside;
mod object_storage;
mod one_machine;
mod postgresql;
mod readme;
mod resource;
mod stale;
mod stopped;
mod stopping;
mod usage;

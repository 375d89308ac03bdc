//! `elect fence`, `elect put` and `elect get`, on each store, and what the manual has others do with tokens.

mod escapee;
mod example;
mod inside;
mod manual;
mod object_storage;
mod one_machine;
mod postgresql;
mod resource;
mod stale;
mod stopped;
mod stopping;
mod usage;

//! `elect run --slots`: several lead at once, each in a slot of its own, on each store.

mod agreement;
mod arena;
mod inside;
mod kills;
mod manual;
mod steering;
mod turns;
mod usage;

//! The program, driven from outside as its users drive it.

mod basics;
mod birth;
mod contention;
mod escape;
mod faults;
mod group_tier;
mod power_cut;
mod stage;
mod support;

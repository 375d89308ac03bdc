//! The program, driven from outside as its users drive it.

mod basics;
mod contention;
mod escape;
mod faults;
mod power_cut;
mod stage;
mod support;

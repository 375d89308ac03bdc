//! The program, driven from outside as its users drive it.

mod bad_input;
mod basics;
mod birth;
mod check;
mod contention;
#[cfg(feature = "sim")]
mod deadlines;
mod environment;
mod escape;
mod exit_codes;
mod faults;
mod flags;
mod group_tier;
mod limits;
mod loss;
mod nested;
mod pid_one;
mod power_cut;
mod signals;
mod simulation;
mod stage;
mod status;
mod streams;
mod support;
mod terminal;
#[cfg(feature = "sim")]
mod timed;
mod usage;
mod users;

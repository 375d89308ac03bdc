//! The program, driven from outside as its users drive it.

mod bad_input;
mod basics;
mod birth;
mod check;
#[cfg(feature = "sim")]
mod clocks;
mod colours;
mod config;
mod containment;
mod contention;
#[cfg(feature = "sim")]
mod deadlines;
mod doctor;
mod doorway;
mod editor;
mod environment;
mod escape;
mod exit_codes;
mod exploration;
mod faults;
mod fence;
mod flags;
mod foreign_proc;
mod fork_bomb;
#[cfg(feature = "sim")]
mod fuzz;
mod group_tier;
mod hang_up;
mod help;
mod hooks;
mod http;
mod interrupts;
mod job_control;
mod kubernetes;
mod limits;
mod lingering;
mod lock_delay;
mod loss;
mod mixed;
mod nested;
mod once;
mod pid_one;
mod power_cut;
mod readme;
mod real;
mod see;
mod selftest;
mod service;
mod shells;
mod sidecar;
mod signals;
mod simulation;
mod stage;
mod status;
mod steer;
mod streams;
mod support;
mod terminal;
#[cfg(feature = "sim")]
mod timed;
mod together;
mod unstarted;
mod usage;
mod users;
mod web;

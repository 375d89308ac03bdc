//! The program, driven from outside as its users drive it.

mod basics;
mod exit_codes;
mod signals;
mod support;
mod usage;

//! The program, driven from outside as its users drive it.

mod basics;
mod exit_codes;
mod support;
mod usage;

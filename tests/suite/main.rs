//! The program, driven from outside as its users drive it.

mod basics;
mod environment;
mod exit_codes;
mod signals;
mod streams;
mod support;
mod usage;

//! The program, driven from outside as its users drive it.

mod bad_input;
mod basics;
mod check;
mod environment;
mod exit_codes;
mod flags;
mod limits;
mod loss;
mod nested;
mod pid_one;
mod signals;
mod status;
mod streams;
mod support;
mod terminal;
mod usage;
mod users;

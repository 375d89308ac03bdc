//! What people and programs type, read and ask.

mod bad_disk;
mod bad_input;
mod basics;
mod check;
mod colours;
mod config;
mod doctor;
mod elsewhere;
mod environment;
mod exit_codes;
mod fence;
mod flags;
mod habits;
mod help;
pub(crate) mod http;
pub(crate) mod manual;
mod parts;
mod paths;
mod promise;
pub(crate) mod see;
pub(crate) mod selftest;
mod shells;
mod sidecar;
mod simulate;
mod status;
mod steer;
mod users;

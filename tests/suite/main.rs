//! The program, driven from outside as its users drive it. The rooms are those of the program: its guardian, the
//! engine, the stores, and what people type and read.

mod cli;
mod engine;
mod guard;
mod heard;
mod prelude;
mod stage;
mod store;
mod support;
mod usage;
mod web;

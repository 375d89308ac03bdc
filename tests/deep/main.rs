//! Tests of the program that take long, and print figures. They have the harness of the others.

mod crowd;
mod faults;
mod havoc;
#[path = "../suite/real/mod.rs"]
#[allow(unused_imports, reason = "the other tests use the rest of it")]
mod real;
#[path = "../suite/stage.rs"]
#[allow(dead_code, reason = "the other tests use the rest of it")]
mod stage;
#[path = "../suite/support.rs"]
#[allow(dead_code, reason = "the other tests use the rest of it")]
mod support;
mod turns;

//! Tests of the program that take long, and print figures. They have the harness of the others.

mod crashes;
mod crowd;
#[path = "../suite/exploration/mod.rs"]
mod exploration;
mod faults;
#[path = "../suite/filters.rs"]
mod filters;
#[path = "../suite/garbled.rs"]
mod garbled;
mod guards;
mod havoc;
#[path = "../suite/heard.rs"]
#[allow(dead_code, reason = "the other tests use the rest of it")]
mod heard;
mod kubernetes;
mod memory;
mod mixed;
mod page;
mod random;
#[path = "../suite/real/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the other tests use the rest of it")]
mod real;
mod reality;
mod replies;
mod schedules;
mod simulate;
#[path = "../suite/simulation/mod.rs"]
mod simulation;
#[path = "../suite/stage.rs"]
#[allow(dead_code, reason = "the other tests use the rest of it")]
mod stage;
#[path = "../suite/support.rs"]
#[allow(dead_code, reason = "the other tests use the rest of it")]
mod support;
#[path = "../suite/simulate/tables.rs"]
mod tables;
mod turns;
mod ways;

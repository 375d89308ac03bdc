//! Tests of the program that take long, and print figures. They have the harness of the others.

mod crashes;
mod crowd;
#[path = "../suite/engine"]
mod engine {
    pub(crate) mod exploration;
    pub(crate) mod simulation;
}
mod faults;
#[path = "../suite/guard"]
mod guard {
    pub(crate) mod filters;
}
mod guards;
mod havoc;
#[path = "../suite/heard.rs"]
#[allow(dead_code, reason = "the other tests use the rest of it")]
mod heard;
mod kubernetes;
mod memory;
mod mixed;
mod page;
#[path = "../suite/prelude.rs"]
#[allow(dead_code, unused_imports, reason = "the other tests use the rest of it")]
mod prelude;
mod random;
mod reality;
mod replies;
mod schedules;
mod simulate;
#[path = "../suite/stage.rs"]
#[allow(dead_code, reason = "the other tests use the rest of it")]
mod stage;
#[path = "../suite/store"]
mod store {
    pub(crate) mod garbled;
    #[allow(dead_code, unused_imports, reason = "the other tests use the rest of it")]
    pub(crate) mod real;
}
#[path = "../suite/support.rs"]
#[allow(dead_code, reason = "the other tests use the rest of it")]
mod support;
#[path = "../suite/cli/simulate/tables.rs"]
mod tables;
mod turns;
mod ways;

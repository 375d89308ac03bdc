//! Measures elect beside its peers. Run by hand through tests/bench/run, on a machine that does nothing else.

mod asked;
mod contender;
mod crowd;
mod databases;
mod figures;
mod floor;
mod hold;
mod machine;
mod order;
mod pair;
mod process;
mod queue;
mod release;
mod report;
mod sample;
mod seats;
mod stage;
mod wait;

use std::process::ExitCode;

use crate::order::{Order, USAGE};
use crate::report::Report;
use crate::stage::Stage;

fn main() -> ExitCode {
    if let Some(code) = hold::run_as_a_command() {
        return code;
    }
    let order = match Order::parse(std::env::args().skip(1)) {
        Ok(order) => order,
        Err(complaint) => {
            eprintln!("tests/bench/run: {complaint}\n{USAGE}\nThere is more to read with --help.");
            return ExitCode::from(2);
        }
    };
    if order.helps {
        print!("{}", order::help());
        return ExitCode::SUCCESS;
    }
    measure(&order)
}

fn measure(order: &Order) -> ExitCode {
    let mut report = Report::default();
    order.keep(&report);
    let stage = Stage::new();
    for figure in figures::ALL.iter().filter(|figure| order.wants(figure.name)) {
        eprintln!("bench: {}", figure.name);
        (figure.measure)(&stage, order, &mut report);
        order.keep(&report);
    }
    print!("{}", report.table());
    if order.checks && !report.check() {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

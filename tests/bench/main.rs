//! Measures elect beside its peers. Run by hand through tests/bench/run, on a machine that does nothing else.

mod contender;
mod figures;
mod floor;
mod hold;
mod process;
mod report;
mod sample;
mod stage;

use std::path::PathBuf;
use std::process::ExitCode;

use crate::report::Report;
use crate::stage::Stage;

const USAGE: &str = "usage: tests/bench/run [--check] [--runs N] [--json FILE] [FIGURE...]";

/// What is wanted.
#[derive(Clone, Debug, Default)]
struct Order {
    checks: bool,
    runs: usize,
    json: Option<PathBuf>,
    /// The figures to measure; all if none is named.
    figures: Vec<String>,
}

impl Order {
    fn parse(words: impl Iterator<Item = String>) -> Option<Self> {
        let mut order = Self { runs: 30, ..Self::default() };
        let mut words = words;
        while let Some(word) = words.next() {
            match word.as_str() {
                "--check" => order.checks = true,
                "--runs" => order.runs = words.next()?.parse().ok().filter(|runs| *runs > 0)?,
                "--json" => order.json = Some(words.next()?.into()),
                flag if flag.starts_with('-') => return None,
                figure => order.figures.push(figure.to_owned()),
            }
        }
        let is_known = |figure: &String| figures::ALL.iter().any(|(name, _)| name == figure);
        order.figures.iter().all(is_known).then_some(order)
    }
}

fn main() -> ExitCode {
    if let Some(code) = hold::run_as_a_command() {
        return code;
    }
    let Some(order) = Order::parse(std::env::args().skip(1)) else {
        let names: Vec<&str> = figures::ALL.iter().map(|(name, _)| *name).collect();
        eprintln!("{USAGE}\nfigures: {}", names.join(", "));
        return ExitCode::from(2);
    };
    let stage = Stage::new();
    let mut report = Report::default();
    for (name, measure) in figures::ALL {
        if order.figures.is_empty() || order.figures.iter().any(|wanted| wanted == name) {
            eprintln!("bench: {name}");
            measure(&stage, order.runs, &mut report);
        }
    }
    print!("{}", report.table());
    if let Some(path) = &order.json {
        std::fs::write(path, report.json()).expect("the report is written");
    }
    if order.checks && !report.check() {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

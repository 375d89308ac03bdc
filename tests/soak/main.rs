//! Eight candidates in one election under random faults, for as long as one likes. Run by hand through
//! tests/soak/run; it says what it saw, and ends with 1 if that breaks the promise.

mod arena;
mod bystanders;
mod candidate;
#[path = "../suite/store/real/cluster.rs"]
#[allow(dead_code, reason = "the other tests use the rest of it")]
mod cluster;
mod fault;
mod footprint;
mod found;
mod interrupts;
mod ledger;
mod report;
mod soak;
mod starved;

use std::process::ExitCode;
use std::time::Duration;

use crate::arena::Backend;
use crate::soak::Soak;

const USAGE: &str = "usage: tests/soak/run file|etcd|zookeeper [SECONDS] [SEED]";
const SPAN: Duration = Duration::from_secs(180);

/// The arguments of the command line.
#[derive(Clone, Copy, Debug)]
struct Order {
    backend: Backend,
    span: Duration,
    seed: u64,
}

impl Order {
    fn parse(words: &[String]) -> Option<Self> {
        let (backend, rest) = words.split_first()?;
        let number = |index: usize| rest.get(index).map(|word| word.parse::<u64>().ok());
        let seed = || u64::from(fastrand::u32(..));
        (rest.len() <= 2).then_some(Self {
            backend: Backend::parse(backend)?,
            span: number(0).map_or(Some(SPAN), |seconds| seconds.map(Duration::from_secs))?,
            seed: number(1).unwrap_or_else(|| Some(seed()))?,
        })
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some(order) = Order::parse(&words) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let Order { backend, span, seed } = order;
    println!("{backend}, {} s, seed {seed}", span.as_secs());
    println!(
        "the same choices again, if not the same timing: tests/soak/run {backend} {} {seed}",
        span.as_secs()
    );
    let report = Soak::start(order).run();
    println!("{report}");
    if report.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

//! Tests that the simulation reproduces what is known of these elections.
//!
//! Exact figures are reproduced exactly. Others are within four standard errors of the published figure, plus half a
//! unit of its last digit. That would fail for 6 of 100,000 seeds. The seeds are fixed, so a test that passes once
//! always does.

mod bully;
mod links;
mod majorities;
mod processes;
mod recipes;
mod replicas;
mod ring;
mod same;
mod scripts;
mod split_votes;

use std::time::Duration;

use elect_simulation::{Delay, Election, Fault, History, Network, Progress, Scenario, Trial};

/// Returns so many milliseconds.
const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

const fn s(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// A network in which each message takes a millisecond.
const fn lan() -> Network {
    Network::new(Delay::constant(ms(1)))
}

fn run(election: &dyn Election, scenario: &Scenario, seed: u64) -> History {
    Trial::new(election, scenario).expect("it makes sense").run(seed)
}

/// Plays the runs of so many seeds.
fn runs(election: &dyn Election, scenario: &Scenario, count: u64) -> Vec<History> {
    let trial = Trial::new(election, scenario).expect("it makes sense");
    elect_simulation::over(0..count, &Progress::default(), |seed| trial.run(seed))
}

/// Returns how many messages of these kinds were sent.
fn sent(history: &History, kinds: &[&str]) -> u64 {
    kinds.iter().filter_map(|kind| history.messages().get(kind)).sum()
}

/// Returns the scenario with these two nodes cut off from each other.
fn without_link(scenario: Scenario, at: Duration, one: usize, other: usize) -> Scenario {
    scenario
        .with(at, Fault::OneWay { from: one, to: other })
        .with(at, Fault::OneWay { from: other, to: one })
}

//! A million schedules of the simulation.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use elect_testkit::sim::boottime;

use crate::engine::simulation::plan::Plan;
use crate::engine::simulation::{Faults, play};

const SCHEDULES: u64 = 1_000_000;

/// The schedules that were played so far, and their results.
#[derive(Default)]
struct Played {
    schedules: u64,
    trees: usize,
    faults: Faults,
    broken: Vec<String>,
}

fn asked(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// Each schedule has some seconds of faults, with leases of five or six seconds. They run on all cores. In every fourth
/// schedule the candidates have priorities, and a simulated user steers the election.
#[test]
fn a_million_schedules() {
    let first = asked("SEED").unwrap_or(1);
    let last = first + asked("SCHEDULES").unwrap_or(SCHEDULES);
    let (next, played) = (AtomicU64::new(first), Mutex::new(Played::default()));
    let began = boottime();
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= last {
                return;
            }
            let plan = Plan::short(seed);
            let outcome = play(if seed.is_multiple_of(4) { plan.ranked().steered() } else { plan });
            let mut played = played.lock().unwrap_or_else(PoisonError::into_inner);
            played.schedules += 1;
            played.trees += outcome.trees;
            for (what, count) in outcome.faults {
                *played.faults.entry(what).or_default() += count;
            }
            if !outcome.broken.is_empty() {
                println!("seed {seed}: {:?}", outcome.broken);
                played.broken.push(format!("seed {seed}: {:?}", outcome.broken));
            }
            if played.schedules.is_multiple_of(10_000) {
                println!("{} schedules, {} trees", played.schedules, played.trees);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let played = played.into_inner().unwrap_or_else(PoisonError::into_inner);
    let seconds = boottime().since(began).as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a figure to be read")]
    let rate = played.schedules as f64 / seconds;
    println!("{} schedules in {seconds:.0} s, {rate:.0} a second", played.schedules);
    println!("{} command trees", played.trees);
    for (what, count) in &played.faults {
        println!("{count:>10} {what}");
    }
    let broken = played.broken;
    assert!(broken.is_empty(), "play one again: SEED=... SCHEDULES=1: {broken:#?}");
}

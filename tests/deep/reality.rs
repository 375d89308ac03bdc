//! elect's fail-over as it is simulated, beside real ones: medians of the time from the last sign of a leader's command
//! to the first of the next one's.

use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use elect_simulation::{
    Delay, End, Fault, Network, Process, Progress, Scenario, Target, Times, Trial, over,
};
use elect_testkit::fault::Table;

use crate::engine::exploration::random::{Kind, election};
use crate::faults::run;
use crate::store::real::case::AGE;

/// The lease of the real cases, and how often each is run.
const TTL: Duration = Duration::from_secs(5);
const RUNS: usize = 15;
const S: Duration = Duration::from_secs(1);

/// From the last sign of the leader's command to the next one's, of real runs. Each has a process of its own: a
/// client's threads stay in the network in which they began.
fn measured(name: &str, kind: Kind, at_once: usize) -> Times {
    let test = format!("store::real::{}::{name}", format!("{kind:?}").to_lowercase());
    let (left, times) = (Mutex::new(RUNS), Mutex::new(Vec::new()));
    let work = || {
        loop {
            {
                let mut left = left.lock().expect("no worker panics with it");
                let Some(less) = left.checked_sub(1) else { break };
                *left = less;
            }
            let table = Table::new();
            run(&test, &table, &[(AGE, "3000")]).expect("the real one survives");
            let next = table.rows().iter().find_map(|row| row.next_us).expect("a next candidate");
            times.lock().expect("no worker panics with it").push(Duration::from_micros(next));
        }
    };
    thread::scope(|scope| (0..at_once).for_each(|_| drop(scope.spawn(work))));
    times.into_inner().expect("no worker panicked with it").into_iter().collect()
}

/// Returns the same times, measured in simulated runs.
fn simulated(fault: Fault, kind: Kind) -> Times {
    let election = election(kind, TTL, 1);
    let delay = Delay::uniform(S / 20_000, S / 4_000).expect("it fits");
    let mut scenario = Scenario::new(2, Network::new(delay), End::At(40 * S)).with(10 * S, fault);
    scenario.shift = TTL / 6;
    let trial = Trial::new(&*election, &scenario).expect("it fits");
    let times = over(0..2000, &Progress::default(), |seed| {
        let run = trial.run(seed);
        let [first, next, ..] = run.leads() else { return None };
        Some(next.from.saturating_sub(first.until?))
    });
    times.into_iter().flatten().collect()
}

#[test]
fn failovers_are_as_long_as_real_ones() {
    let kill = |process| Fault::KillProcess(Target::Leader, process);
    // Each real isolation needs a network of its own, so one process at a time runs it. A fault that ends no lease is
    // over in milliseconds. The simulation does not model the time that processes take in them.
    for (name, fault, at_once, most) in [
        ("both_killed", kill(Process::Both), 5, Some(1.25)),
        ("packets_dropped", Fault::Isolate(Target::Leader), 1, Some(1.25)),
        ("wrapper_killed", kill(Process::Wrapper), 1, None),
    ] {
        for kind in [Kind::Etcd, Kind::ZooKeeper] {
            let (real, played) = (measured(name, kind, at_once), simulated(fault.clone(), kind));
            let of = |times: &Times, rank| times.per_mille(rank).unwrap_or_default();
            println!(
                "{name} {kind:?}: real {:?} ({:?} to {:?}), simulated {:?} ({:?} to {:?})",
                of(&real, 500),
                of(&real, 0),
                of(&real, 1000),
                of(&played, 500),
                of(&played, 0),
                of(&played, 1000),
            );
            let ratio = of(&real, 500).as_secs_f64() / of(&played, 500).as_secs_f64();
            let is_near = most.is_none_or(|most| (1.0 / most..most).contains(&ratio));
            assert!(is_near, "{name} {kind:?}: {ratio}");
        }
    }
}

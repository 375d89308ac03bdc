//! The length of simulated fail-overs, compared with arithmetic.

use std::time::Duration;

use elect_simulation::{
    Delay, End, Fault, Network, Process, Progress, Scenario, Target, Times, Trial,
};

use super::random::{Kind, election};

const MS: Duration = Duration::from_millis(1);
const S: Duration = Duration::from_secs(1);
/// W, and the time between two renewals in etcd.
const TTL: Duration = Duration::from_secs(15);
const RENEWAL: Duration = Duration::from_millis(2500);

/// From the death of wrapper and guardian, at any phase of the renewals, to the next command.
fn failovers(kind: Kind, runs: u64) -> Times {
    let election = election(kind, TTL, 1);
    let end = End::Replaced { limit: 20 * S + 4 * TTL };
    let mut scenario = Scenario::new(5, Network::new(Delay::constant(MS)), end)
        .with(20 * S, Fault::KillProcess(Target::Leader, Process::Both));
    scenario.shift = RENEWAL;
    let summary =
        Trial::new(&*election, &scenario).expect("it fits").measure(1, runs, &Progress::default());
    assert_eq!((summary.runs, summary.unreplaced.len()), (runs, 0));
    assert!(summary.overlapping.is_empty(), "{:?}", summary.overlapping);
    summary.failovers
}

/// The lease was renewed up to a sixth of it before, and etcd looks twice a second: 5W/6 to W, and half a second. The
/// mean of 2,000 is within five standard errors, 80 ms, of the middle.
#[test]
fn a_crash_on_etcd_takes_five_sixths_of_the_lease_and_more() {
    let times = failovers(Kind::Etcd, 2000);
    let [least, most] = [0, 1000].map(|rank| times.per_mille(rank).expect("there are some"));
    // Messages on their way take some milliseconds, and so does a death.
    let slack = 30 * MS;
    assert!(least + slack >= TTL * 5 / 6 && most <= TTL + S / 2 + slack, "{least:?} to {most:?}");
    let (mean, middle) = (times.mean().expect("there are some"), 14 * S);
    assert!(mean.abs_diff(middle) < 80 * MS, "{mean:?}");
}

/// Renewals are a sixteenth of the lease apart, and sessions end with a tick.
#[test]
fn a_crash_on_zookeeper_takes_a_lease_and_a_tick_at_most() {
    let times = failovers(Kind::ZooKeeper, 500);
    let [least, most] = [0, 1000].map(|rank| times.per_mille(rank).expect("there are some"));
    let slack = 30 * MS;
    assert!(least + slack >= TTL * 15 / 16 && most <= TTL + S / 2 + slack, "{least:?} to {most:?}");
}

/// A waiter has seen the last renewal up to a renewal late, and waits for a lease from then on.
#[test]
fn a_crash_on_kubernetes_takes_a_lease_on_the_waiters_clock() {
    let times = failovers(Kind::Kubernetes, 500);
    let [least, most] = [0, 1000].map(|rank| times.per_mille(rank).expect("there are some"));
    println!("{least:?} to {most:?}");
    assert!(least + S >= TTL && most <= TTL + 2 * RENEWAL, "{least:?} to {most:?}");
}

//! Random scripts in the simulated world: under all faults within the promise, no two commands run at once.
//!
//! Within the promise are deaths of machines and processes, stops of processes, splits of the network, lost messages,
//! slow networks, and clocks whose rates differ by less than a tenth. A machine that is suspended with its clock is
//! not.

use std::ops::Range;
use std::sync::Mutex;
use std::time::Duration;

use elect::election::timing::TimingOptions;
use elect::simulate::model::{InQueue, Leases, OnRecord, Proof, Setup};
use elect_api::{Cadence, Lease};
use elect_simulation::replicas::Replicas;
use elect_simulation::{
    Chance, Delay, Drift, Election, End, Fault, History, Network, PerMillion, Process, Progress,
    Scenario, Target, Trial, over,
};

use elect_testkit::switches::{Part, judge_records, without};

const S: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);
/// Each clock is off by less than this, in millionths, so that no two differ by a tenth.
const CLOCKS: u64 = 45_000;

/// A kind of store.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Etcd,
    ZooKeeper,
    Kubernetes,
}

/// One game: an election, and what it goes through.
pub(crate) struct Game {
    election: Box<dyn Election>,
    scenario: Scenario,
}

impl Game {
    /// The one of this seed, within the promise unless `suspends`.
    pub(crate) fn new(kind: Kind, seed: u64, suspends: bool) -> Self {
        let mut chance = Chance::with_seed(seed);
        let ttl = [5, 15, 30][below(&mut chance, 3)] * S;
        let members = [1, 3, 3, 5][below(&mut chance, 4)];
        let candidates = 2 + below(&mut chance, 3);
        let election = election(kind, ttl, members);
        let delay = Delay::log_normal(chance.between(MS / 5, 60 * MS), 600).expect("it fits");
        let end = End::At(20 * S + ttl * 8);
        let mut scenario = Scenario::new(candidates, Network::new(delay), end);
        let nodes = candidates + members;
        for node in 0..nodes {
            // As far off as may be as often as not: that is where guards are missed.
            let off = [0, 2 * CLOCKS, chance.below(2 * CLOCKS)][below(&mut chance, 3)];
            let off =
                i32::try_from(off).expect("it fits") - i32::try_from(CLOCKS).expect("it fits");
            let drift = Drift::per_million(off);
            scenario = scenario
                .with(Duration::ZERO, Fault::Drift(Target::Node(node), drift.expect("it runs")));
        }
        for _ in 0..=below(&mut chance, 5) {
            let from = chance.between(2 * S, 20 * S + ttl * 4);
            let until = from + chance.between(MS, ttl * 3);
            let (fault, mended) = pair(&mut chance, candidates, nodes, suspends);
            scenario = scenario.with(from, fault).with(until, mended);
        }
        Self { election, scenario }
    }

    pub(crate) fn play(&self, seed: u64) -> History {
        // Games on all processors at once would keep the tests beside them from running for seconds on Linux 6.18.
        static ONE: Mutex<()> = Mutex::new(());
        let _alone = ONE.lock();
        Trial::new(&*self.election, &self.scenario).expect("it fits").run(seed)
    }
}

fn below(chance: &mut Chance, bound: usize) -> usize {
    usize::try_from(chance.below(bound as u64)).expect("it is less")
}

pub(crate) fn election(kind: Kind, ttl: Duration, members: usize) -> Box<dyn Election> {
    let lease = Lease::Timed(match kind {
        Kind::Etcd => Cadence::LEASE,
        Kind::ZooKeeper => Cadence::SESSION,
        Kind::Kubernetes => Cadence::RECORD,
    });
    let options = TimingOptions { ttl, ..TimingOptions::default() };
    let setup = Setup { options, lease, stops_within: None };
    let replicas = Replicas::of(members);
    match kind {
        Kind::Etcd => {
            let kind = InQueue { expires_every: S / 2, proof: Proof::Renewal };
            Box::new(Leases { kind, setup, replicas })
        }
        Kind::ZooKeeper => {
            let kind = InQueue { expires_every: S / 2, proof: Proof::Session };
            Box::new(Leases { kind, setup, replicas })
        }
        Kind::Kubernetes => {
            let kind = OnRecord { election: "random".parse().expect("a name") };
            Box::new(Leases { kind, setup, replicas })
        }
    }
}

/// A fault, and what mends it.
fn pair(chance: &mut Chance, candidates: usize, nodes: usize, suspends: bool) -> (Fault, Fault) {
    let node = below(chance, nodes);
    let target = if chance.below(2) == 0 { Target::Leader } else { Target::Node(node) };
    let process = [Process::Wrapper, Process::Guardian, Process::Both][below(chance, 3)];
    let most = if suspends { 9 } else { 8 };
    match chance.below(most) {
        0 => (Fault::Kill(target), Fault::Restart(target)),
        1 => (Fault::KillProcess(target, process), Fault::Restart(target)),
        2 | 3 => (Fault::PauseProcess(target, process), Fault::Resume(target)),
        4 => (Fault::Isolate(target), Fault::Heal),
        5 => {
            let mut all: Vec<usize> = (0..nodes).collect();
            chance.shuffle(&mut all);
            let other = all.split_off(1 + below(chance, nodes - 1));
            (Fault::Split(vec![all, other]), Fault::Heal)
        }
        6 => {
            let from = below(chance, candidates);
            let to = candidates + below(chance, nodes - candidates);
            let (from, to) = if chance.below(2) == 0 { (from, to) } else { (to, from) };
            (Fault::OneWay { from, to }, Fault::Heal)
        }
        7 => {
            let share = u32::try_from(chance.below(600_000)).expect("it is less");
            (Fault::Loss(PerMillion::new(share).expect("a share")), Fault::Loss(PerMillion::NONE))
        }
        _ => (Fault::Suspend(target), Fault::Resume(target)),
    }
}

/// The findings of so many games from this seed on.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) games: usize,
    /// The number of leaderships.
    pub(crate) leaderships: usize,
    /// The seeds of games in which two commands ran at once.
    pub(crate) overlapping: Vec<u64>,
    /// The same for tokens that fell.
    pub(crate) falling: Vec<u64>,
}

/// Returns true if tokens rise from one leadership to the next.
fn rises(run: &History) -> bool {
    run.leads().windows(2).all(|pair| pair[0].term < pair[1].term)
}

pub(crate) fn play(kind: Kind, seeds: Range<u64>, suspends: bool) -> Seen {
    let runs = over(seeds, &Progress::default(), |seed| {
        let run = Game::new(kind, seed, suspends).play(seed);
        (seed, run.leads().len(), !run.overlaps().is_empty(), !rises(&run))
    });
    let mut seen = Seen::default();
    for (seed, leaderships, overlaps, falls) in runs {
        seen.games += 1;
        seen.leaderships += leaderships;
        seen.overlapping.extend(overlaps.then_some(seed));
        seen.falling.extend(falls.then_some(seed));
    }
    seen
}

/// The first seed of a game within the promise in which two commands run at once, or a token falls, without this guard.
pub(crate) fn missed(kind: Kind, part: Part, seeds: Range<u64>) -> Option<u64> {
    const AT_ONCE: u64 = 64;
    judge_records();
    let mut from = seeds.start;
    while from < seeds.end {
        let until = (from + AT_ONCE).min(seeds.end);
        let bad = over(from..until, &Progress::default(), |seed| {
            let run = without(Some(part), || Game::new(kind, seed, false).play(seed));
            (!run.overlaps().is_empty() || !rises(&run)).then_some(seed)
        });
        if let Some(seed) = bad.into_iter().flatten().next() {
            return Some(seed);
        }
        from = until;
    }
    None
}

fn keep_the_promise(kind: Kind) {
    let seen = play(kind, 0..200, false);
    println!("{kind:?}: {seen:?}");
    assert!(seen.leaderships > 200 && seen.overlapping.is_empty(), "{seen:?}");
    assert!(seen.falling.is_empty(), "{seen:?}");
}

#[test]
fn no_two_lead_at_once_on_etcd() {
    keep_the_promise(Kind::Etcd);
}

#[test]
fn no_two_lead_at_once_on_zookeeper() {
    keep_the_promise(Kind::ZooKeeper);
}

#[test]
fn no_two_lead_at_once_on_kubernetes() {
    keep_the_promise(Kind::Kubernetes);
}

/// The guards that this world needs. `tests/deep/run random` tells of the others.
#[test]
fn guards_of_the_promise_are_missed() {
    for (kind, part) in [
        (Kind::Etcd, Part::Drift),
        (Kind::Etcd, Part::TicketAfter),
        (Kind::ZooKeeper, Part::TicketAfter),
        (Kind::Kubernetes, Part::TicketAfter),
        (Kind::Kubernetes, Part::TicketOwn),
    ] {
        let seed = missed(kind, part, 0..1000);
        println!("{} on {kind:?}: {seed:?}", part.name());
        assert!(seed.is_some(), "{} on {kind:?} is not missed", part.name());
    }
}

/// A test that cannot see an overlap proves nothing.
#[test]
fn machines_that_are_suspended_with_their_clocks_overlap() {
    for kind in [Kind::Etcd, Kind::ZooKeeper, Kind::Kubernetes] {
        let seen = play(kind, 0..150, true);
        println!("{kind:?}: {} overlap", seen.overlapping.len());
        assert!(!seen.overlapping.is_empty(), "{kind:?}: {seen:?}");
    }
}

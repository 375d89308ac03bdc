//! Tests of suspended machines, and of nodes with two processes.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use elect_simulation::peers::{Raft, RaftOptions, Recipe, Recipes};
use elect_simulation::{
    Blow, Chance, Context, Drift, End, Fault, Lead, Node, NodeId, Process, Protocol, Scenario,
    Target,
};

use super::{lan, ms, run, s};

/// A wait goes on with its rest when the machine does, by the clock of that time.
#[test]
fn the_clock_of_a_suspended_machine_stands_still() {
    let raft = Raft::new(RaftOptions::with_timeout(s(100), s(100)));
    let target = Target::Node(0);
    let scenario = Scenario::new(1, lan(), End::At(s(1000)))
        .with(s(50), Fault::Suspend(target))
        .with(s(120), Fault::Resume(target));
    assert_eq!(run(&raft, &scenario, 1).leads()[0].from, s(170));
    let twice = Drift::per_million(1_000_000).expect("it runs");
    let fast = scenario.with(s(60), Fault::Drift(target, twice));
    assert_eq!(run(&raft, &fast, 1).leads()[0].from, s(145));
}

/// A suspended leader knows nothing of the time that has passed. It leads beside the one that the store has let lead
/// since. For that reason elect promises nothing about such machines.
#[test]
fn a_leader_that_was_suspended_leads_beside_the_next_one() {
    let recipes = Recipes { recipe: Recipe::Queue, session_timeout: s(15) };
    let scenario = Scenario::new(2, lan(), End::At(s(100)))
        .with(s(10), Fault::Suspend(Target::Leader))
        .with(s(60), Fault::Resume(Target::Leader));
    let history = run(&recipes, &scenario, 1);
    let leads: Vec<(NodeId, Duration)> =
        history.leads().iter().map(|lead| (lead.node, lead.from)).collect();
    let first = leads[0].0;
    assert_eq!((leads.len(), leads[1].0, leads[2]), (3, 1 - first, (first, s(60))));
    assert_eq!(history.leads()[0].until, Some(s(10)), "as long as it stands still it does not");
    let overlaps = history.overlaps();
    assert_eq!((overlaps.len(), overlaps[0].from), (1, s(60)));
    assert!(overlaps[0].length() <= s(5) + ms(2), "until the store says that its session is over");
}

#[test]
fn a_suspended_machine_that_dies_starts_with_a_clock_that_runs() {
    let raft = Raft::new(RaftOptions::with_timeout(s(100), s(100)));
    let target = Target::Node(0);
    let scenario = Scenario::new(1, lan(), End::At(s(1000)))
        .with(s(50), Fault::Suspend(target))
        .with(s(60), Fault::Kill(target))
        .with(s(70), Fault::Resume(target))
        .with(s(80), Fault::Restart(target));
    assert_eq!(run(&raft, &scenario, 1).leads()[0].from, s(180));
}

/// A node that records what happens to its processes, and when it lives.
#[derive(Debug)]
struct Pair {
    has_two: bool,
    seen: Arc<Mutex<Seen>>,
}

type Seen = Vec<(Duration, Option<(Blow, Process)>)>;

/// Nodes of one process, or of two.
#[derive(Debug)]
struct Pairs {
    has_two: bool,
    seen: Arc<Mutex<Seen>>,
}

impl Pair {
    fn see(&self, what: Option<(Blow, Process)>, context: &Context<'_, Self>) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).push((context.now(), what));
    }
}

impl Node for Pair {
    type Message = ();
    type Timer = ();

    fn start(&mut self, context: &mut Context<'_, Self>) {
        context.set((), s(1));
    }

    fn restart(&mut self, context: &mut Context<'_, Self>) {
        self.start(context);
    }

    fn receive(&mut self, _from: NodeId, (): (), _context: &mut Context<'_, Self>) {}

    fn expire(&mut self, (): (), context: &mut Context<'_, Self>) {
        self.see(None, context);
        context.set((), s(1));
    }

    fn suspect(&mut self, _context: &mut Context<'_, Self>) {}

    fn strike(&mut self, blow: Blow, process: Process, context: &mut Context<'_, Self>) -> bool {
        if self.has_two {
            self.see(Some((blow, process)), context);
        }
        self.has_two
    }

    fn leads(&self) -> Option<u64> {
        Some(1)
    }

    fn kind((): &()) -> &'static str {
        "nothing"
    }
}

impl Protocol for Pairs {
    type Node = Pair;

    fn nodes(&self, candidates: usize, _chance: &mut Chance) -> Vec<Pair> {
        let pair = |_| Pair { has_two: self.has_two, seen: Arc::clone(&self.seen) };
        (0..candidates).map(pair).collect()
    }
}

/// Plays one node. Returns when it was alive or was hit, and when it led.
fn seen(has_two: bool, faults: &[(u64, Fault)]) -> (Seen, Vec<Lead>) {
    let pairs = Pairs { has_two, seen: Arc::default() };
    let scenario = Scenario::new(1, lan(), End::At(s(6)));
    let scenario =
        faults.iter().fold(scenario, |scenario, (at, fault)| scenario.with(ms(*at), fault.clone()));
    let history = run(&pairs, &scenario, 1);
    let mut seen = pairs.seen.lock().unwrap_or_else(PoisonError::into_inner);
    (std::mem::take(&mut *seen), history.leads().to_vec())
}

const NODE: Target = Target::Node(0);

#[test]
fn a_node_of_two_processes_sees_to_them_by_itself() {
    let (seen, leads) = seen(
        true,
        &[
            (1500, Fault::PauseProcess(NODE, Process::Wrapper)),
            (1600, Fault::Resume(NODE)),
            (2500, Fault::KillProcess(NODE, Process::Guardian)),
            (3500, Fault::Pause(NODE)),
            (4500, Fault::Restart(NODE)),
            (4700, Fault::Suspend(NODE)),
            (4800, Fault::KillProcess(NODE, Process::Both)), // Nothing runs that could do it.
        ],
    );
    let expected = [
        (1000, None),
        (1500, Some((Blow::Pause, Process::Wrapper))),
        (1600, Some((Blow::Resume, Process::Both))),
        (2000, None),
        (2500, Some((Blow::Kill, Process::Guardian))),
        (3000, None),
        (3500, Some((Blow::Pause, Process::Both))),
        (4000, None),
        (4500, Some((Blow::Restart, Process::Both))),
    ];
    assert_eq!(seen, expected.map(|(at, what)| (ms(at), what)));
    assert_eq!((leads.len(), leads[0].until), (1, Some(ms(4700))), "the machine runs until then");
}

#[test]
fn a_node_of_one_process_is_hit_as_a_whole() {
    let lived = |faults: &[(u64, Fault)]| {
        let (seen, leads) = seen(false, faults);
        let seen: Vec<u128> = seen.into_iter().map(|(at, _)| at.as_millis()).collect();
        (seen, leads.iter().map(|lead| lead.until).collect::<Vec<_>>())
    };
    let paused =
        [(1500, Fault::PauseProcess(NODE, Process::Guardian)), (2500, Fault::Resume(NODE))];
    // The clock runs on.
    assert_eq!(lived(&paused), (vec![1000, 2500, 3500, 4500, 5500], vec![None]));
    let killed = [(1500, Fault::KillProcess(NODE, Process::Wrapper)), (2500, Fault::Restart(NODE))];
    assert_eq!(lived(&killed), (vec![1000, 3500, 4500, 5500], vec![Some(ms(1500)), None]));
    let both =
        [(1500, Fault::Pause(NODE)), (1600, Fault::Suspend(NODE)), (2600, Fault::Resume(NODE))];
    // By its own clock nothing has happened.
    assert_eq!(lived(&both), (vec![1000, 2000, 3000, 4000, 5000], vec![Some(ms(1600)), None]));
}

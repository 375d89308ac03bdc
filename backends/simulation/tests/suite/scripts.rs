//! Tests with random scripts of faults: the promise of each election, and the errors before a
//! start.

use elect_simulation::peers::{Bully, Heartbeat, Ids, Raft, RaftOptions, Recipe, Recipes, Ring};
use elect_simulation::{
    Chance, Delay, Drift, Election, End, Fault, Network, PerMillion, Scenario, Senseless, Target,
    Trial,
};

use super::{lan, ms, run, s};

const CANDIDATES: usize = 5;

/// Two minutes of faults among five candidates, and a minute to recover.
fn random(seed: u64) -> Scenario {
    let mut chance = Chance::with_seed(seed);
    let delay = Delay::log_normal(ms(10), 300).expect("a distribution");
    let mut scenario = Scenario::new(CANDIDATES, Network::new(delay), End::At(s(180)));
    for at in (2..118).step_by(2) {
        let mut node = || usize::try_from(chance.below(CANDIDATES as u64)).expect("few");
        let (one, other) = (node(), node());
        let target = if one == other { Target::Leader } else { Target::Node(one) };
        let at = s(at);
        scenario = match chance.below(9) {
            0 => scenario.with(at, Fault::Kill(target)),
            1 | 2 => scenario.with(at, Fault::Restart(target)),
            3 => {
                let resumed = at + ms(1 + chance.below(1900));
                scenario.with(at, Fault::Pause(target)).with(resumed, Fault::Resume(target))
            }
            4 => {
                let off = i32::try_from(chance.below(200_001)).expect("few") - 100_000;
                scenario.with(at, Fault::Drift(target, Drift::per_million(off).expect("it runs")))
            }
            5 => scenario.with(at, Fault::OneWay { from: one, to: other }),
            6 => scenario.with(at, Fault::Isolate(target)),
            7 => {
                let loss = u32::try_from(chance.below(200_000)).expect("few");
                scenario.with(at, Fault::Loss(PerMillion::new(loss).expect("a share")))
            }
            _ => scenario.with(at, Fault::Heal),
        };
    }
    let scenario = scenario.with(s(119), Fault::Heal).with(s(119), Fault::Loss(PerMillion::NONE));
    (0..CANDIDATES).fold(scenario, |scenario, node| {
        let target = Target::Node(node);
        scenario.with(s(119), Fault::Resume(target)).with(s(120), Fault::Restart(target))
    })
}

fn rafts() -> Vec<Raft> {
    let plain = RaftOptions::with_timeout(ms(500), ms(1000));
    let pre_vote = RaftOptions { pre_vote: true, check_quorum: true, ..plain.clone() };
    let sticky = RaftOptions { stickiness: true, ..pre_vote.clone() };
    let priorities = RaftOptions { priorities: Some(vec![100, 80, 80, 20, 1]), ..plain.clone() };
    [plain, pre_vote, sticky, priorities].map(Raft::new).into()
}

#[test]
fn no_two_lead_in_one_term_of_raft() {
    let mut overlaps = 0;
    for seed in 0..60 {
        for raft in rafts() {
            let history = run(&raft, &random(seed), seed);
            let mut terms: Vec<u64> = history.leads().iter().map(|lead| lead.term).collect();
            let all = terms.len();
            terms.sort_unstable();
            terms.dedup();
            assert_eq!(terms.len(), all, "seed {seed}: two led in one term");
            overlaps += history.overlaps().len();
        }
    }
    assert!(overlaps > 0, "two lead at once in different terms");
}

/// Pauses of less than 2 s, and clocks that are a tenth off, fit into the reserve that a client
/// leaves of its session.
#[test]
fn no_two_lead_on_a_store_as_long_as_clients_step_down_in_time() {
    for recipe in [Recipe::Queue, Recipe::Herd] {
        let recipes = Recipes { recipe, session_timeout: s(15) };
        let leads: usize = (0..200)
            .map(|seed| {
                let history = run(&recipes, &random(seed), seed);
                assert_eq!(history.overlaps(), [], "seed {seed}");
                history.leads().len()
            })
            .sum();
        assert!(leads > 400, "only {leads} led");
    }
}

/// Whatever has happened, a minute after the last fault exactly one node leads.
#[test]
fn one_leads_in_the_end() {
    let heartbeat = Heartbeat { interval: ms(100), patience: ms(500) };
    let bully = Bully { heartbeat, answer_within: ms(200) };
    let ring = Ring { heartbeat, acknowledged_within: ms(200), ids: Ids::Shuffled };
    let [queue, herd] =
        [Recipe::Queue, Recipe::Herd].map(|recipe| Recipes { recipe, session_timeout: s(15) });
    let rafts = rafts();
    let mut all: Vec<&dyn Election> = vec![&bully, &ring, &queue, &herd];
    all.extend(rafts.iter().map(|raft| raft as &dyn Election));
    for (index, election) in all.into_iter().enumerate() {
        for seed in 0..40 {
            let history = run(election, &random(seed), seed);
            let leading = history.leads().iter().filter(|lead| lead.until.is_none()).count();
            assert_eq!(leading, 1, "election {index}, seed {seed}");
        }
    }
}

#[test]
fn a_senseless_scenario_is_refused_before_it_runs() {
    let raft = Raft::new(RaftOptions::with_timeout(ms(150), ms(300)));
    let refused = |election: &dyn Election, scenario: &Scenario| {
        Trial::new(election, scenario).err().map(|senseless: Senseless| senseless.to_string())
    };
    let of = |candidates| Scenario::new(candidates, lan(), End::At(s(1)));
    let says = |found: Option<String>, expected: &str| assert_eq!(found.as_deref(), Some(expected));
    says(refused(&raft, &of(0)), "there are 0 candidates; from 1 to 1000 can be simulated");
    says(
        refused(&raft, &of(5).with(s(1), Fault::Split(vec![vec![0, 8], vec![1]]))),
        "there is no node 9; nodes are numbered from 1 to 5",
    );
    says(
        refused(&raft, &of(5).with(s(1), Fault::Split(vec![vec![0, 1], vec![1]]))),
        "node 2 is on two sides of the split; name it once",
    );
    let priorities =
        RaftOptions { priorities: Some(vec![1]), ..RaftOptions::with_timeout(ms(1), ms(2)) };
    says(
        refused(&Raft::new(priorities), &of(5)),
        "there are 1 priorities for 5 candidates; give each one",
    );
    let hasty = RaftOptions { heartbeat: s(1), ..RaftOptions::with_timeout(ms(150), ms(300)) };
    says(
        refused(&Raft::new(hasty), &of(5)),
        "the interval of heartbeats is 1s; it must be less than the least election time-out, 150ms",
    );
    says(
        refused(&raft, &Scenario { shift: ms(2), ..of(5).with(ms(999), Fault::Heal) }),
        "the fault at 999ms comes after 998ms, when a run may be over",
    );
    let busy = Recipes { recipe: Recipe::Queue, session_timeout: ms(0) };
    says(
        refused(&busy, &of(5)),
        "a third of the session's time-out is 0ns; it must be at least 100µs",
    );
    let far = Scenario::new(5, lan().with_link(0, 5, Delay::constant(s(1))), End::At(s(1)));
    says(refused(&raft, &far), "there is no node 6; nodes are numbered from 1 to 5");
    let queue = Recipes { recipe: Recipe::Queue, session_timeout: s(15) };
    assert_eq!(refused(&queue, &far), None, "the store is node 6");
}

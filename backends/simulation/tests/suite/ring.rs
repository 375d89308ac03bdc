//! Tests of Chang and Roberts' ring: its messages, as the paper counts them.

use elect_simulation::peers::{Heartbeat, Ids, Ring};
use elect_simulation::{End, Fault, History, Scenario, Target};

use super::{lan, ms, run, runs, s, sent};

/// Times that are so long that no node suspects another by itself.
const fn calm(ids: Ids) -> Ring {
    let heartbeat = Heartbeat { interval: s(1000), patience: s(2000) };
    Ring { heartbeat, acknowledged_within: ms(5), ids }
}

fn all_start(n: usize) -> Scenario {
    let scenario = Scenario::new(n, lan(), End::At(s(10)));
    (0..n).fold(scenario, |scenario, node| scenario.with(ms(1), Fault::Suspect(node)))
}

/// Returns the number of candidates' messages in a run. Asserts that one node came to lead, and
/// that all heard of it.
fn candidates(history: &History, n: usize) -> u64 {
    assert_eq!(history.leads().len(), 1);
    assert_eq!(sent(history, &["elected"]), n as u64, "it is announced once around");
    sent(history, &["candidate"])
}

#[test]
fn descending_ids_cost_the_most_messages_and_ascending_ones_the_least() {
    for n in [2, 3, 10, 100] {
        let m = n as u64;
        let most = candidates(&run(&calm(Ids::Descending), &all_start(n), 1), n);
        let least = candidates(&run(&calm(Ids::Ascending), &all_start(n), 1), n);
        assert_eq!((most, least), (m * (m + 1) / 2, 2 * m - 1), "of {n}");
    }
    for (n, known) in [(10, 55), (100, 5050)] {
        assert_eq!(candidates(&run(&calm(Ids::Descending), &all_start(n), 1), n), known);
    }
}

/// The id has to reach the greatest node, which is the one before the starter.
#[test]
fn one_that_starts_alone_costs_three_rounds_at_most() {
    for (n, known) in [(10, 29), (100, 299)] {
        let counts = (0..n).map(|starter| {
            let scenario =
                Scenario::new(n, lan(), End::At(s(10))).with(ms(1), Fault::Suspect(starter));
            let history = run(&calm(Ids::Ascending), &scenario, 1);
            assert_eq!(history.leader(), Some(n - 1));
            candidates(&history, n) + n as u64
        });
        assert_eq!(counts.max(), Some(known));
    }
}

/// The mean is n times the n-th harmonic number: 29.29 and 518.74.
#[test]
fn random_ids_cost_n_times_the_harmonic_number_on_average() {
    for (n, known, count) in [(10, 29.29, 20_000), (100, 518.74, 3_000)] {
        let counts: Vec<f64> = runs(&calm(Ids::Shuffled), &all_start(n), count)
            .iter()
            .map(|history| f64::from(u32::try_from(candidates(history, n)).expect("few")))
            .collect();
        let of = f64::from(u32::try_from(count).expect("few"));
        let mean = counts.iter().sum::<f64>() / of;
        let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / of;
        let error = (variance / of).sqrt();
        println!("n = {n}: {mean:.2}, standard error {error:.2}");
        assert!((mean - known).abs() < 4.0 * error + 0.005, "{mean} of {n}, not {known}");
        assert!(error < known / 200.0, "it says little");
    }
}

const USUAL: Ring = Ring {
    heartbeat: Heartbeat { interval: ms(100), patience: ms(350) },
    acknowledged_within: ms(20),
    ids: Ids::Ascending,
};

#[test]
fn a_ring_closes_over_the_dead() {
    let scenario = Scenario::new(5, lan(), End::At(s(9)))
        .with(s(0), Fault::Kill(Target::Node(1)))
        .with(s(3), Fault::Kill(Target::Leader))
        .with(s(6), Fault::Restart(Target::Leader));
    let history = run(&USUAL, &scenario, 1);
    let leaders: Vec<usize> = history.leads().iter().map(|lead| lead.node).collect();
    assert_eq!(leaders, [4, 3, 4]);
    assert!(history.leads()[1].from < ms(3500));
    let quiet = sent(&history, &["candidate", "elected"]);
    assert!(quiet < 100, "{quiet} messages go around without end");
}

/// The greatest node dies while its id is under way. No node can stop the id, which ends by itself.
#[test]
fn the_id_of_a_dead_node_goes_around_once() {
    let scenario = Scenario::new(10, lan(), End::At(s(10)))
        .with(ms(1), Fault::Suspect(9))
        .with(ms(2), Fault::Kill(Target::Node(9)));
    let history = run(&calm(Ids::Ascending), &scenario, 1);
    assert_eq!(history.leads(), []);
    assert_eq!(sent(&history, &["candidate"]), 10);
}

#[test]
fn each_side_of_a_split_has_its_leader_until_it_heals() {
    let scenario = Scenario::new(5, lan(), End::At(s(9)))
        .with(s(3), Fault::Split(vec![vec![0, 1, 2], vec![3, 4]]))
        .with(s(6), Fault::Heal);
    let history = run(&USUAL, &scenario, 1);
    let overlaps = history.overlaps();
    assert_eq!(overlaps.len(), 1);
    let (first, second) = (overlaps[0].first, overlaps[0].second);
    assert_eq!((first, second), (4, 2));
    assert!(overlaps[0].until > s(6) && overlaps[0].until < ms(6200));
    assert_eq!(history.leader(), Some(4));
}

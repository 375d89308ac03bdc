use elect_testkit::sim::boottime;

use super::plan::{Plan, Scene};
use super::{Faults, Outcome, play};

/// More than a minute had time for when a game had all of a processor.
const GAMES: usize = 450;

fn seeds_from(first: u64) -> impl Iterator<Item = u64> {
    let asked = std::env::var("ELECT_SIM_SEED").ok().and_then(|seed| seed.parse().ok());
    asked.map_or(first..u64::MAX, |seed: u64| seed..seed + 1)
}

#[track_caller]
fn expect_peace(plan: Plan) -> Outcome {
    let seed = plan.seed;
    let outcome = play(plan);
    assert!(
        outcome.broken.is_empty(),
        "seed {seed}: {:#?}\nplay it again: ELECT_SIM_SEED={seed} tests/run simulation::",
        outcome.broken
    );
    outcome
}

#[test]
fn no_seed_breaks_the_promise() {
    let (mut games, mut trees, mut faults) = (0_u32, 0, Faults::new());
    let began = boottime();
    for seed in seeds_from(1).take(GAMES) {
        let outcome = expect_peace(Plan::new(Scene::Faults, seed));
        games += 1;
        trees += outcome.trees;
        outcome
            .faults
            .into_iter()
            .for_each(|(what, count)| *faults.entry(what).or_default() += count);
    }
    println!(
        "{games} seeds, {trees} command trees, {:.1} seeds a second; {faults:?}",
        f64::from(games) / boottime().since(began).as_secs_f64()
    );
}

/// As `tests/deep` plays a million of.
#[test]
fn short_games_keep_the_promise_too() {
    for seed in seeds_from(1).take(30) {
        expect_peace(Plan::short(seed));
    }
}

#[test]
fn nothing_starts_during_a_pause() {
    let mut faults = Faults::new();
    for seed in seeds_from(1).take(40) {
        let outcome = expect_peace(Plan::short(seed).steered());
        outcome
            .faults
            .into_iter()
            .for_each(|(what, count)| *faults.entry(what).or_default() += count);
    }
    println!("{faults:?}");
}

/// Whatever befalls whom: a reply that is lost, a crash between the count and the start.
#[test]
fn each_run_is_counted_before_it_starts() {
    let mut trees = 0;
    for seed in seeds_from(1).take(40) {
        trees += expect_peace(Plan::short(seed).counting().steered()).trees;
        trees += expect_peace(Plan::new(Scene::Faults, seed).counting()).trees;
    }
    assert!(trees > 500, "{trees}");
    println!("{trees} command trees");
}

#[test]
fn a_command_that_is_started_again_breaks_nothing() {
    let mut again = 0;
    for seed in seeds_from(1).take(30) {
        again += expect_peace(Plan::short(seed).restarting().steered()).again;
        again += expect_peace(Plan::new(Scene::Faults, seed).restarting()).again;
    }
    assert!(again > 300, "{again}");
    println!("started again {again} times");
}

#[test]
fn priorities_and_their_changes_break_nothing() {
    let mut faults = Faults::new();
    for seed in seeds_from(1).take(40) {
        let outcome = expect_peace(Plan::short(seed).ranked().steered());
        outcome
            .faults
            .into_iter()
            .for_each(|(what, count)| *faults.entry(what).or_default() += count);
    }
    println!("{faults:?}");
}

#[test]
fn without_faults_the_best_candidate_leads() {
    let mut trees = 0;
    for seed in seeds_from(1).take(20) {
        trees += expect_peace(Plan::new(Scene::Ranks, seed)).trees;
    }
    println!("{trees} command trees");
}

#[test]
fn a_better_one_that_does_not_come_forward_is_not_waited_for_without_end() {
    for seed in seeds_from(1).take(6) {
        expect_peace(Plan::new(Scene::Shirker, seed));
    }
}

#[test]
fn a_leader_whose_entry_is_removed_again_and_again_stops_at_once() {
    for seed in seeds_from(1).take(5) {
        expect_peace(Plan::new(Scene::Removals, seed));
    }
}

#[test]
fn a_leader_of_the_store_that_stood_still_breaks_nothing() {
    for seed in seeds_from(1).take(10) {
        expect_peace(Plan::new(Scene::Terms, seed));
        expect_peace(Plan::new(Scene::Stale, seed));
    }
}

#[test]
fn a_crowd_does_not_fall_upon_a_store_that_is_out_of_reach() {
    for seed in seeds_from(1).take(20) {
        expect_peace(Plan::new(Scene::Herd, seed));
    }
}

#[test]
fn clocks_beyond_the_bound_break_the_promise() {
    let breaks = |&seed: &u64| !play(Plan::with_clocks(seed, 1400)).broken.is_empty();
    let seed = (0..100).find(breaks).expect("a violation");
    println!("found after {} seeds", seed + 1);
}

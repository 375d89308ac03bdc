//! Tests of the recipes on `ZooKeeper`: which candidates a change wakes, how long it takes, and
//! when two lead.

use elect_simulation::peers::{Recipe, Recipes};
use elect_simulation::{Drift, End, Fault, History, Scenario, Target};

use super::{lan, ms, run, s};

const fn on_store(recipe: Recipe) -> Recipes {
    Recipes { recipe, session_timeout: s(15) }
}

/// Kills one leader after the other, `kills` in all.
fn killed(recipe: Recipe, candidates: usize, kills: usize) -> History {
    let scenario = (1..).take(kills).fold(
        Scenario::new(candidates, lan(), End::At(s(60 * (kills as u64 + 1)))),
        |scenario, kill| scenario.with(s(60 * kill), Fault::Kill(Target::Leader)),
    );
    run(&on_store(recipe), &scenario, 1)
}

#[test]
fn a_change_wakes_one_in_a_queue_and_all_others_of_a_herd() {
    for candidates in [2, 5, 30] {
        for kills in 1..candidates {
            let woken = |recipe| {
                let history = killed(recipe, candidates, kills);
                assert_eq!(history.leads().len(), kills + 1);
                assert_eq!(history.overlaps(), []);
                history.messages_since_fault()["watch event"]
            };
            assert_eq!(woken(Recipe::Queue), 1);
            assert_eq!(woken(Recipe::Herd), (candidates - kills) as u64);
        }
    }
}

#[test]
fn a_queue_is_first_come_first_served() {
    let leaders: Vec<usize> =
        killed(Recipe::Queue, 8, 7).leads().iter().map(|lead| lead.node).collect();
    assert_eq!(leaders, [0, 1, 2, 3, 4, 5, 6, 7]);
}

/// The session lasts for its time-out from the last ping, and pings come each third of it.
#[test]
fn a_fail_over_takes_two_thirds_of_a_session_to_a_whole_one() {
    let mut scenario = Scenario::new(3, lan(), End::Replaced { limit: s(100) })
        .with(s(30), Fault::Kill(Target::Leader));
    scenario.shift = s(5);
    for recipe in [Recipe::Queue, Recipe::Herd] {
        let times = super::runs(&on_store(recipe), &scenario, 500);
        let times: Vec<_> = times.iter().filter_map(History::replaced).collect();
        assert_eq!(times.len(), 500);
        let (least, most) = (times.iter().min(), times.iter().max());
        assert!(least > Some(&s(10)) && least < Some(&ms(10_100)), "{least:?}");
        assert!(most < Some(&ms(15_010)) && most > Some(&ms(14_900)), "{most:?}");
    }
}

/// A simulator that sees no overlap here is blind.
#[test]
fn two_lead_while_the_leader_stands_still_or_its_clock_is_far_too_slow() {
    let paused = Scenario::new(3, lan(), End::At(s(100)))
        .with(s(30), Fault::Pause(Target::Leader))
        .with(s(60), Fault::Resume(Target::Leader));
    let slow = Drift::per_million(-800_000).expect("it runs");
    let slowed =
        Scenario::new(3, lan(), End::At(s(300))).with(s(30), Fault::Drift(Target::Leader, slow));
    for recipe in [Recipe::Queue, Recipe::Herd] {
        let history = run(&on_store(recipe), &paused, 1);
        let overlaps = history.overlaps();
        assert_eq!(overlaps.len(), 1);
        assert!(overlaps[0].from > s(40) && overlaps[0].until == s(60), "{overlaps:?}");
        assert_ne!(run(&on_store(recipe), &slowed, 1).overlaps(), []);
    }
}

/// A leader that is cut off steps down before its session ends.
#[test]
fn a_leader_that_is_cut_off_steps_down_in_time() {
    let scenario = Scenario::new(3, lan(), End::At(s(90)))
        .with(s(30), Fault::Isolate(Target::Leader))
        .with(s(60), Fault::Heal);
    for recipe in [Recipe::Queue, Recipe::Herd] {
        let history = run(&on_store(recipe), &scenario, 1);
        assert_eq!(history.leads().len(), 2);
        let (until, from) =
            (history.leads()[0].until.expect("it is over"), history.leads()[1].from);
        assert!(from > until + s(4) && from < until + s(6), "{until:?}, then {from:?}");
    }
}

#[test]
fn a_store_that_was_away_finds_its_leader_again() {
    let scenario = Scenario::new(3, lan(), End::At(s(90)))
        .with(s(30), Fault::Kill(Target::Node(3)))
        .with(s(55), Fault::Restart(Target::Node(3)));
    for recipe in [Recipe::Queue, Recipe::Herd] {
        let leaders: Vec<usize> =
            run(&on_store(recipe), &scenario, 1).leads().iter().map(|lead| lead.node).collect();
        assert_eq!(leaders, [0, 0]);
    }
}

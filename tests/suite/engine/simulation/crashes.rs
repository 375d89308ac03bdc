//! Crashes at every await, one after the other.

use super::plan::{Crash, Plan, Victims};
use super::play;

/// The computers of a game with a crash.
pub(crate) const MACHINES: usize = 2;

/// Plays the game of this seed once for each await of the first run on a computer, with a crash exactly there. Returns
/// the number of awaits in that run.
#[track_caller]
pub(crate) fn at_every_await(seed: u64, machine: usize, victims: Victims) -> u32 {
    for awaits in 0.. {
        let crash = Crash { machine, victims, awaits };
        let outcome = play(Plan::crashing(seed, crash));
        assert!(outcome.broken.is_empty(), "seed {seed}, {crash:?}: {:#?}", outcome.broken);
        if !outcome.faults.contains_key(victims.what()) {
            return awaits;
        }
    }
    unreachable!("each run comes to its end")
}

/// Of the one that leads at once, or of the one that waits first.
#[track_caller]
fn expect_peace_at_every_await(seed: u64) {
    let mut games = 0;
    for machine in 0..MACHINES {
        for victims in Victims::ALL {
            let awaits = at_every_await(seed, machine, victims);
            println!("c{machine}, {}: {awaits} awaits", victims.what());
            games += awaits;
        }
    }
    // An entry alone takes some ten.
    assert!(games > 10 * 6, "{games} crashes");
}

#[test]
fn a_crash_at_any_await_breaks_nothing_in_a_queue() {
    expect_peace_at_every_await(0);
}

#[test]
fn a_crash_at_any_await_breaks_nothing_in_a_queue_of_sessions() {
    expect_peace_at_every_await(1);
}

#[test]
fn a_crash_at_any_await_breaks_nothing_in_a_record() {
    expect_peace_at_every_await(2);
}

#[test]
fn a_crash_at_any_await_breaks_nothing_in_a_record_without_a_clock() {
    expect_peace_at_every_await(3);
}

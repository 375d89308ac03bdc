//! When members come and go, no more shards move than have to; from the living, one at a time.

use std::collections::BTreeMap;
use std::time::Duration;

use elect_testkit::oracle::{Run, now};
use nix::sys::signal::Signal;
use nix::time::{ClockId, clock_gettime};

use super::{Arena, Ground, Picture, Troop, on_each_cluster, on_each_store};

on_each_store! {
    slow: sixty_four_are_spread_over_one_and_four_and_two_and_five
}

#[track_caller]
fn assert_no_more_moved_than_had_to(
    troop: &Troop<'_>,
    before: &Picture,
    after: &Picture,
    labels: &[&str],
) {
    let changed = before.changed(after).len();
    assert_eq!(changed, troop.owed(before, labels), "from {before:?} to {after:?}");
}

fn sixty_four_are_spread_over_one_and_four_and_two_and_five(arena: &Arena) {
    let mut troop = Troop::new(arena, 64);
    troop.join("a");
    let one = troop.wait_for_even(&["a"]);
    assert_eq!(one.counts(&["a"]), [64]);

    let all = ["a", "b", "c", "d"];
    for label in &all[1..] {
        troop.join(label);
    }
    let four = troop.wait_for_even(&all);
    assert_eq!(four.counts(&all), [16; 4]);
    assert_no_more_moved_than_had_to(&troop, &one, &four, &all);

    // The coordinator is one of them.
    for label in ["a", "c"] {
        troop.signal(label, Signal::SIGTERM);
        troop.ended(label).exits(143);
    }
    let rest = ["b", "d"];
    let two = troop.wait_for_even(&rest);
    assert_eq!(two.counts(&rest), [32; 2]);
    assert_no_more_moved_than_had_to(&troop, &four, &two, &rest);

    let all = ["b", "d", "e", "f", "g"];
    for label in &all[2..] {
        troop.join(label);
    }
    let five = troop.wait_for_even(&all);
    assert_no_more_moved_than_had_to(&troop, &two, &five, &all);
    troop.oracle.assert_sound();
}

/// By the wall clock, as far as it is not set meanwhile.
fn wall(run: Duration) -> Duration {
    let wall = clock_gettime(ClockId::CLOCK_REALTIME).expect("Linux has it");
    run + Duration::from(wall).saturating_sub(now().since_boot())
}

/// On the local disk a token tells when its leadership began, in microseconds.
#[test]
fn a_moved_shard_is_led_before_the_next_one_is_taken() {
    let arena = Arena::on(Ground::File);
    let mut troop = Troop::new(&arena, 12);
    troop.join("a");
    troop.wait_for_even(&["a"]);
    troop.join("b");
    troop.join("c");
    troop.wait_for_even(&["a", "b", "c"]);
    let mut shards: BTreeMap<Option<u32>, Vec<Run>> = BTreeMap::new();
    for run in troop.oracle.assert_sound() {
        shards.entry(run.part).or_default().push(run);
    }
    let moves = shards.values().flat_map(|runs| runs.windows(2));
    let mut moves: Vec<(Duration, Duration)> = moves
        .map(|pair| (wall(pair[0].last.since_boot()), Duration::from_micros(pair[1].token)))
        .collect();
    moves.sort_unstable();
    assert!(moves.len() >= 8, "{moves:?}");
    for pair in moves.windows(2) {
        let ((_, led), (stopped, _)) = (pair[0], pair[1]);
        assert!(stopped > led, "one was stopped at {stopped:?}, and the last was led at {led:?}");
    }
}

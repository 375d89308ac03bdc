//! Members that do not agree on how many shards there are.

use elect::config;
use elect_api::{Candidate, Standing};

use super::{Arena, Ground, Troop, on_each_cluster, on_each_store};
use crate::prelude::*;

on_each_store! {
    slow: a_candidate_with_another_number_is_refused_with_both_numbers
    a_candidate_without_shards_is_given_none
}

fn a_candidate_with_another_number_is_refused_with_both_numbers(arena: &Arena) {
    let mut troop = Troop::new(arena, 4);
    troop.join("a");
    let before = troop.wait_for_even(&["a"]);
    let run = |flags: &[&str]| arena.elect("run").args(["-e", "job"]).args(flags).arg("true").run();
    run(&["--shards", "8"]).exits(125).says("4 shards").says("8 shards");
    run(&["--slots", "4"]).exits(125).says("4 shards").says("4 slots");
    run(&[]).exits(125).says("4 shards");
    assert_eq!(troop.picture(), before, "the others were disturbed");
    troop.signal("a", Signal::SIGTERM);
    troop.ended("a").exits(143);
    // No member is left that says otherwise.
    run(&["--shards", "1"]).exits(0);
    run(&[]).exits(0);
}

/// As a candidate does that is about to be refused.
fn a_candidate_without_shards_is_given_none(arena: &Arena) {
    let mut troop = Troop::new(arena, 4);
    troop.join("a");
    troop.wait_for_even(&["a"]);
    elect_testkit::run("a stray", async {
        let store = config::connect(&arena.url().parse().expect("a good URL")).expect("a store");
        let stray = Candidate { host: "web".to_owned(), ..Candidate::foreign("stray") };
        let election = "job".parse().expect("a good name");
        let ttl = Duration::from_secs(15);
        let mut seat = store.open(&election, &stray, ttl).await.expect("a seat");
        let standing = seat.refresh(now()).await.expect("a standing").standing;
        assert!(matches!(standing, Standing::Waiting { .. }), "it leads");
        troop.join("b");
        troop.wait_for_even(&["a", "b"]);
        seat.resign(None).await.expect("a resign");
    });
    troop.oracle.assert_sound();
}

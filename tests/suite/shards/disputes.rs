//! Members that do not agree on how many shards there are.

use nix::sys::signal::Signal;

use super::{Arena, Ground, Troop, on_each_cluster, on_each_store};

on_each_store! {
    whoever_names_another_number_is_refused_with_both
}

fn whoever_names_another_number_is_refused_with_both(arena: &Arena) {
    let mut troop = Troop::new(arena, 4);
    troop.join("a");
    let before = troop.wait_for_even(&["a"]);
    let run = |flags: &[&str]| arena.elect("run").args(["-e", "job"]).args(flags).arg("true").run();
    run(&["--shards", "8"]).exits(125).says("4 shards").says("8 shards");
    run(&["--slots", "4"]).exits(125).says("4 shards").says("4 slots");
    run(&[]).exits(125).says("4 shards");
    assert_eq!(troop.picture(), before, "somebody has disturbed the others");
    troop.signal("a", Signal::SIGTERM);
    troop.ended("a").exits(143);
    // Nobody is left who says otherwise.
    run(&["--shards", "1"]).exits(0);
    run(&[]).exits(0);
}

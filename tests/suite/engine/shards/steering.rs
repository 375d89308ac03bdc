//! `elect pause`, `elect resume`, `elect priority` and `elect resign` of what is spread.

use nix::sys::signal::Signal;

use super::{Arena, Ground, Troop, on_each_cluster, on_each_store};

on_each_store! {
    slow: nothing_runs_while_it_is_paused
    a_member_with_priority_0_holds_nothing
    a_shard_that_is_given_up_is_taken_up_again
}

fn nothing_runs_while_it_is_paused(arena: &Arena) {
    let mut troop = Troop::new(arena, 6);
    troop.join("a");
    troop.wait_for_even(&["a"]);
    troop.join("b");
    troop.wait_for_even(&["a", "b"]);
    arena.elect("pause").args(["job", "--reason", "disk is full"]).run().exits(0);
    troop.wait_until("nothing to run", |picture| picture.len() == 0);
    for label in ["a", "b"] {
        assert!(troop.running(label).is_running(), "{label} has ended");
    }
    arena.elect("resume").arg("job").run().exits(0);
    troop.wait_for_even(&["a", "b"]);
    troop.oracle.assert_sound();
}

fn a_member_with_priority_0_holds_nothing(arena: &Arena) {
    let mut troop = Troop::new(arena, 6);
    // The member that comes first coordinates.
    troop.join("a");
    troop.wait_for_even(&["a"]);
    troop.join("b");
    troop.join("c");
    troop.wait_for_even(&["a", "b", "c"]);
    let set = |label: &str, priority: &str| {
        arena.elect("priority").args(["job", label, priority]).run().exits(0);
    };
    set("b", "0");
    troop.wait_for_even(&["a", "c"]);
    set("a", "0");
    let drained = troop.wait_for_even(&["c"]);
    for label in ["a", "b"] {
        assert!(troop.running(label).is_running(), "{label} has ended");
    }
    set("a", "own");
    let after = troop.wait_for_even(&["a", "c"]);
    assert_eq!(drained.changed(&after).len(), 3);
    troop.signal("b", Signal::SIGTERM);
    troop.ended("b").exits(143);
    troop.oracle.assert_sound();
}

fn a_shard_that_is_given_up_is_taken_up_again(arena: &Arena) {
    let mut troop = Troop::new(arena, 4);
    troop.join("a");
    troop.join("b");
    let before = troop.wait_for_even(&["a", "b"]);
    let (_, token) = before.run(3).expect("it runs");
    arena.elect("resign").arg("job:3").run().exits(0);
    let after = troop.wait_until("another run of shard 3", |picture| {
        picture.is_even(4, &["a", "b"]) && picture.run(3).is_some_and(|(_, now)| now > token)
    });
    assert_eq!(before.changed(&after).into_iter().collect::<Vec<_>>(), [3]);
    troop.oracle.assert_sound();
}

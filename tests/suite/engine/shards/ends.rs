//! The ways in which members end, and their exit codes.

use std::iter;

use nix::sys::signal::Signal;

use crate::support::unstartable;

use super::{Arena, Ground, Troop, on_each_cluster, on_each_store};

on_each_store! {
    slow: all_members_that_are_told_to_end_do
    a_command_that_ends_takes_its_member_along
    a_command_that_cannot_be_executed_ends_its_member
}

fn all_members_that_are_told_to_end_do(arena: &Arena) {
    let mut troop = Troop::new(arena, 8);
    let all = ["a", "b", "c"];
    for label in all {
        troop.join(label);
    }
    troop.wait_for_even(&all);
    for label in all {
        troop.signal(label, Signal::SIGTERM);
    }
    for label in all {
        troop.ended(label).exits(143);
    }
    assert_eq!(troop.oracle.living(), [0; 0]);
    let left = arena.elect("status").args(["-o", "json"]).run().exits(0).stdout;
    assert!(!left.contains("\"id\""), "{left}");
    troop.oracle.assert_sound();
}

fn a_command_that_ends_takes_its_member_along(arena: &Arena) {
    let mut troop = Troop::new(arena, 8);
    let end = troop.oracle.flag("end");
    let words = troop.stamper("a").until(&end).code(7).command();
    troop.join_with("a", |it| it, words);
    troop.join("b");
    let before = troop.wait_for_even(&["a", "b"]);
    end.raise();
    troop.ended("a").exits(7);
    let after = troop.wait_for_even(&["b"]);
    assert_eq!(before.changed(&after), before.held_by("a"));
    troop.oracle.assert_sound();
}

fn a_command_that_cannot_be_executed_ends_its_member(arena: &Arena) {
    let mut troop = Troop::new(arena, 3);
    let gone = unstartable(&arena.path(""), "/no/such");
    troop.join_with("a", |it| it, iter::once(gone.clone().into()));
    troop.ended("a").exits(127).says(&gone.display().to_string());
    let folder = unstartable(&arena.path(""), "/etc");
    troop.join_with("b", |it| it, iter::once(folder.into()));
    troop.ended("b").exits(126);
    troop.join("c");
    troop.wait_for_even(&["c"]);
}

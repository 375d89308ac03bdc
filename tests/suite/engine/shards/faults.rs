//! Members that are killed, that freeze, or lose what guards a command of theirs.

use nix::sys::signal::kill;

use super::{Arena, Ground, Troop, on_each_cluster, on_each_store};
use crate::cli::see::on_etcd_and_zookeeper;
use crate::prelude::*;

on_each_store! {
    slow: other_members_take_over_from_a_killed_one
}

mod frozen {
    use super::{Arena, Ground, on_etcd_and_zookeeper};
    on_etcd_and_zookeeper! {
        other_members_take_over_from_a_frozen_one
    }
    use super::other_members_take_over_from_a_frozen_one;
}

fn parent(pid: i32) -> i32 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it lives");
    let fields = stat.rsplit_once(") ").expect("a line of stat").1;
    fields.split_whitespace().nth(1).and_then(|field| field.parse().ok()).expect("a parent")
}

fn other_members_take_over_from_a_killed_one(arena: &Arena) {
    let mut troop = Troop::new(arena, 12);
    for label in ["a", "b", "c", "d"] {
        troop.join(label);
    }
    let before = troop.wait_for_even(&["a", "b", "c", "d"]);

    troop.signal("b", Signal::SIGKILL);
    troop.ended("b").exits(137);
    let after = troop.wait_for_even(&["a", "c", "d"]);
    assert_eq!(before.changed(&after), before.held_by("b"));

    // The guardian of one of its commands.
    let shard = *after.held_by("c").first().expect("a shard");
    let runs = troop.oracle.verdict().runs;
    let run = runs.iter().rfind(|run| run.part == Some(shard)).expect("a run");
    kill(Pid::from_raw(parent(run.main().pid)), Signal::SIGKILL).expect("a guardian");
    troop.ended("c").exits(125);
    let before = after;
    let after = troop.wait_for_even(&["a", "d"]);
    assert_eq!(before.changed(&after), before.held_by("c"));

    // The member that came first coordinates.
    troop.signal("a", Signal::SIGKILL);
    troop.ended("a").exits(137);
    troop.wait_for_even(&["d"]);
    troop.join("e");
    troop.wait_for_even(&["d", "e"]);
    troop.oracle.assert_sound();
}

fn other_members_take_over_from_a_frozen_one(arena: &Arena) {
    let mut troop = Troop::new(arena, 8).ttl(15);
    troop.join("a");
    troop.wait_for_even(&["a"]);
    troop.join("b");
    troop.join("c");
    let before = troop.wait_for_even(&["a", "b", "c"]);

    troop.signal("c", Signal::SIGSTOP);
    let after = troop.wait_for_even(&["a", "b"]);
    assert_eq!(before.changed(&after), before.held_by("c"));
    troop.signal("c", Signal::SIGCONT);
    troop.ended("c").exits(124);

    // The coordinator.
    troop.signal("a", Signal::SIGSTOP);
    troop.wait_for_even(&["b"]);
    troop.join("d");
    troop.wait_for_even(&["b", "d"]);
    troop.signal("a", Signal::SIGCONT);
    troop.ended("a").exits(124);
    troop.wait_for_even(&["b", "d"]);
    troop.oracle.assert_sound();
}

/// If leases have no end, its commands go on, and no other member runs them.
#[test]
fn a_frozen_member_keeps_its_shards_on_the_local_disk() {
    let arena = Arena::on(Ground::File);
    let mut troop = Troop::new(&arena, 6);
    troop.join("a");
    troop.wait_for_even(&["a"]);
    troop.join("b");
    let before = troop.wait_for_even(&["a", "b"]);
    troop.signal("b", Signal::SIGSTOP);
    troop.join("c");
    // Shards that need not come from the frozen member move.
    eventually("c to run something", || (!troop.picture().held_by("c").is_empty()).then_some(()));
    assert_eq!(troop.picture().held_by("b"), before.held_by("b"));
    troop.signal("b", Signal::SIGCONT);
    troop.wait_for_even(&["a", "b", "c"]);
    troop.oracle.assert_sound();
}

//! Random scripts of faults in the simulated world, many of them, and without each guard.

use elect_testkit::switches::Part;

use crate::engine::exploration::random::{Kind, missed, play};

const KINDS: [Kind; 3] = [Kind::Etcd, Kind::ZooKeeper, Kind::Kubernetes];

/// The guards that this world can test: they are in the machine, the ladder, the arithmetic or the adapter of records.
const PARTS: [Part; 18] = [
    Part::Drift,
    Part::TwoClocks,
    Part::Margin,
    Part::Reproof,
    Part::LateStart,
    Part::OneWay,
    Part::Rising,
    Part::EmptyTree,
    Part::RenewToEnd,
    Part::KillAtOnce,
    Part::LossIsFinal,
    Part::Token,
    Part::TicketAfter,
    Part::TicketOwn,
    Part::SecondLook,
    Part::Removed,
    Part::LateWrite,
    Part::Ambiguity,
];

#[test]
fn a_hundred_thousand_scripts_within_the_promise() {
    for kind in KINDS {
        let seen = play(kind, 0..33_334, false);
        println!("{kind:?}: {seen:?}");
        assert!(seen.overlapping.is_empty() && seen.falling.is_empty(), "{kind:?}: {seen:?}");
    }
}

/// Which guards this world has a use for: without them it sees two at once.
#[test]
fn guards_of_the_promise_are_missed() {
    for part in PARTS {
        let seeds: Vec<String> = KINDS
            .iter()
            .filter_map(|&kind| Some(format!("{kind:?} {}", missed(kind, part, 0..1500)?)))
            .collect();
        println!("{}: {}", part.name(), seeds.join(", "));
    }
}

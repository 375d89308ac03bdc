//! Tests of Bully: its messages, as textbooks count them.

use elect_simulation::peers::{Bully, Heartbeat};
use elect_simulation::{End, Fault, History, Scenario, Target};

use super::{lan, ms, run, s, sent};

/// Times that are so long that no node suspects another by itself.
const CALM: Bully =
    Bully { heartbeat: Heartbeat { interval: s(1000), patience: s(2000) }, answer_within: ms(5) };

/// The greatest of `n` nodes is dead, and this one notices it.
fn noticed_by(n: usize, starter: usize) -> History {
    let scenario = Scenario::new(n, lan(), End::At(s(10)))
        .with(s(0), Fault::Kill(Target::Node(n - 1)))
        .with(ms(1), Fault::Suspect(starter));
    let history = run(&CALM, &scenario, 1);
    assert_eq!(history.leader(), Some(n - 2));
    assert_eq!(history.leads().len(), 1);
    history
}

#[test]
fn the_most_messages_are_sent_if_the_lowest_notices() {
    for n in 3..=20 {
        let count = sent(&noticed_by(n, 0), &["election", "answer", "coordinator"]);
        let m = n as u64;
        assert_eq!(count, m * (m - 1) / 2 + (m - 1) * (m - 2) / 2 + m - 2, "of {n}");
    }
    for (n, known) in [(5, 19), (10, 89)] {
        assert_eq!(sent(&noticed_by(n, 0), &["election", "answer", "coordinator"]), known);
    }
}

#[test]
fn the_fewest_are_sent_if_the_next_one_notices() {
    for n in 3..=20 {
        let history = noticed_by(n, n - 2);
        assert_eq!(sent(&history, &["coordinator"]), n as u64 - 2);
        assert_eq!(sent(&history, &["election"]), 1, "no node answers it");
        assert_eq!(sent(&history, &["answer"]), 0);
    }
}

const USUAL: Bully =
    Bully { heartbeat: Heartbeat { interval: ms(100), patience: ms(350) }, answer_within: ms(20) };

/// The greatest living node notices within the patience that the leader is dead, and waits for an
/// answer.
#[test]
fn the_next_one_takes_over_and_the_old_one_back() {
    let scenario = Scenario::new(5, lan(), End::At(s(9)))
        .with(s(3), Fault::Kill(Target::Leader))
        .with(s(6), Fault::Restart(Target::Leader));
    let history = run(&USUAL, &scenario, 1);
    let leaders: Vec<usize> = history.leads().iter().map(|lead| lead.node).collect();
    assert_eq!(leaders, [4, 3, 4]);
    let from = history.leads()[1].from;
    assert!(from > ms(3250) && from < ms(3380), "{from:?}");
    assert!(history.changes_since(s(6)) == 1, "it bullies the other away at once");
}

#[test]
fn each_side_of_a_split_has_its_leader_until_it_heals() {
    let scenario = Scenario::new(5, lan(), End::At(s(9)))
        .with(s(3), Fault::Split(vec![vec![0, 1, 2], vec![3, 4]]))
        .with(s(6), Fault::Heal);
    let overlaps = run(&USUAL, &scenario, 1).overlaps();
    assert_eq!(overlaps.len(), 1);
    let (first, second) = (overlaps[0].first, overlaps[0].second);
    assert_eq!((first, second), (4, 2));
    assert!(overlaps[0].from > s(3) && overlaps[0].from < ms(3500));
    assert!(overlaps[0].until > s(6) && overlaps[0].until < ms(6200));
}

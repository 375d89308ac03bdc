//! Tests of Raft: `NuRaft`'s priorities as its documentation traces them, and one leader in a term at most.

use elect_simulation::peers::{Raft, RaftOptions};
use elect_simulation::{End, Fault, History, Scenario, Target};

use super::{lan, ms, run, s, sent};

/// Five servers, S1 to S5, with the documentation's priorities. S1 leads. Election timers end when the trace says so.
fn traced(trace: &[(u64, Fault)]) -> History {
    let options = RaftOptions {
        heartbeat: s(1),
        priorities: Some(vec![100, 100, 80, 80, 50]),
        ..RaftOptions::with_timeout(s(50), s(100))
    };
    let scenario = Scenario::new(5, lan(), End::At(s(40))).with(ms(1), Fault::Suspect(0));
    let scenario =
        trace.iter().fold(scenario, |scenario, (at, fault)| scenario.with(s(*at), fault.clone()));
    run(&Raft::new(options), &scenario, 1)
}

/// Returns the leaders, with S1 as 1, and how many nodes asked for votes.
fn outcome(history: &History) -> (Vec<usize>, u64) {
    let leaders = history.leads().iter().map(|lead| lead.node + 1).collect();
    (leaders, sent(history, &["vote request"]) / 4)
}

#[test]
fn the_highest_priority_that_lives_leads() {
    let history = traced(&[
        (2, Fault::Kill(Target::Node(0))),
        (3, Fault::Suspect(2)), // Its target is 100, and its priority 80.
        (4, Fault::Suspect(1)),
    ]);
    assert_eq!(outcome(&history), (vec![1, 2], 2));
    assert_eq!(history.leads()[1].from, s(4) + ms(2));
}

#[test]
fn targets_decay_by_a_fifth_until_one_of_the_next_priority_leads() {
    let trace = [
        (2, Fault::Kill(Target::Node(0))),
        (2, Fault::Kill(Target::Node(1))),
        (3, Fault::Suspect(2)),
        (4, Fault::Suspect(4)),
        (5, Fault::Suspect(3)),
        (6, Fault::Suspect(2)), // Its target is 80: it asks, but S4's and S5's are 100.
        (7, Fault::Suspect(4)), // Its target is 80, and its priority 50.
        (8, Fault::Suspect(3)), // The targets of S3, S4 and S5 are 80.
    ];
    assert_eq!(outcome(&traced(&trace[..5])), (vec![1], 1), "no node stands above its priority");
    assert_eq!(outcome(&traced(&trace[..6])), (vec![1], 2), "S3 stands and is refused");
    assert_eq!(outcome(&traced(&trace[..7])), (vec![1], 2), "S5 does not stand");
    let history = traced(&trace);
    assert_eq!(outcome(&history), (vec![1, 4], 3));
    assert_eq!(history.leads()[1].from, s(8) + ms(2));
}

#[test]
fn without_a_priority_no_node_leads() {
    let options = RaftOptions {
        priorities: Some(vec![0, 0, 7]),
        ..RaftOptions::with_timeout(ms(150), ms(300))
    };
    let scenario = Scenario::new(3, lan(), End::At(s(60))).with(s(10), Fault::Kill(Target::Leader));
    let history = run(&Raft::new(options.clone()), &scenario, 1);
    assert_eq!(history.leads().len(), 1, "those that are left never stand");
    assert_eq!(history.leads()[0].node, 2);
    let none = RaftOptions { priorities: Some(vec![0; 3]), ..options };
    assert_eq!(run(&Raft::new(none), &scenario, 1).leads(), []);
}

/// No other node can lead, so this one does again once it is back.
#[test]
fn a_leader_that_has_stepped_down_stands_again() {
    let options = RaftOptions {
        check_quorum: true,
        priorities: Some(vec![1, 0, 0]),
        ..RaftOptions::with_timeout(ms(150), ms(300))
    };
    let scenario = Scenario::new(3, lan(), End::At(s(15)))
        .with(s(5), Fault::Isolate(Target::Leader))
        .with(s(10), Fault::Heal);
    let history = run(&Raft::new(options), &scenario, 1);
    assert_eq!(history.leads().len(), 2);
    assert!(history.leads()[0].until < Some(ms(5300)));
    assert!(history.leads()[1].from > s(10));
}

/// Heartbeats keep each follower from standing. A dead leader is replaced within a few time-outs.
#[test]
fn a_leader_stays_until_it_dies() {
    let raft = Raft::new(RaftOptions::with_timeout(ms(150), ms(300)));
    let scenario =
        Scenario::new(5, lan(), End::At(s(100))).with(s(50), Fault::Kill(Target::Leader));
    for seed in 0..20 {
        let history = run(&raft, &scenario, seed);
        assert_eq!(history.changes_since(s(3)), 1, "seed {seed}");
        assert!(history.replaced() < Some(s(2)), "seed {seed}");
        assert_eq!(history.overlaps(), []);
    }
}

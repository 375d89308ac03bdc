//! Tests of Raft where some links fail. The remaining links decide whether there is a leader.

use elect_simulation::peers::{Raft, RaftOptions};
use elect_simulation::{End, Fault, History, Scenario};

use super::{lan, ms, run, s, without_link};

const CUT: std::time::Duration = s(5);

fn plain() -> RaftOptions {
    RaftOptions::with_timeout(ms(150), ms(300))
}

/// Five servers, of which `leader` leads. These links fail from [`CUT`] on for a minute, both ways.
fn partly_linked(options: RaftOptions, leader: usize, cut: &[(usize, usize)]) -> History {
    let scenario =
        Scenario::new(5, lan(), End::At(CUT + s(60))).with(ms(1), Fault::Suspect(leader));
    let scenario = cut
        .iter()
        .fold(scenario, |scenario, (one, other)| without_link(scenario, CUT, *one, *other));
    let history = run(&Raft::new(options), &scenario, 1);
    assert_eq!(history.leads()[0].node, leader);
    history
}

/// Howard and Abraham, "Raft does not Guarantee Liveness in the face of Network Faults", 2020. Servers 1, 2 and 3 are
/// connected to each other, 4 to 2 only, and 5 to 3 only. At first 3 leads.
const HOWARD_ABRAHAM: [(usize, usize); 5] = [(0, 3), (0, 4), (1, 4), (2, 3), (3, 4)];

#[test]
fn plain_raft_has_no_stable_leader_where_links_fail() {
    let history = partly_linked(plain(), 2, &HOWARD_ABRAHAM);
    let ended = history.leads().iter().filter(|lead| lead.until.is_some()).count();
    println!("{ended} step-downs in a minute");
    assert!(ended > 60, "{ended}");
}

#[test]
fn pre_vote_and_check_quorum_keep_the_leader() {
    let options = RaftOptions { pre_vote: true, check_quorum: true, ..plain() };
    let history = partly_linked(options, 2, &HOWARD_ABRAHAM);
    assert_eq!((history.leads().len(), history.leads()[0].until), (1, None));
}

/// openraft's issue 2080. The leader (0) reaches only the bridge (1). The bridge reaches 2 and 3, which reach each
/// other. 4 is alone.
const BRIDGE: [(usize, usize); 6] = [(0, 2), (0, 3), (0, 4), (1, 4), (2, 4), (3, 4)];

/// The leader cannot reach a majority any more. Its heartbeats keep the bridge from voting for another one.
#[test]
fn without_check_quorum_a_leader_of_two_keeps_others_from_leading() {
    for (pre_vote, stickiness) in [(true, false), (false, true), (true, true)] {
        let history = partly_linked(RaftOptions { pre_vote, stickiness, ..plain() }, 0, &BRIDGE);
        assert_eq!((history.leads().len(), history.leads()[0].until), (1, None));
    }
    assert!(partly_linked(plain(), 0, &BRIDGE).leads().len() > 1, "plain Raft goes on");
}

#[test]
fn with_check_quorum_it_steps_down_and_another_one_leads() {
    let options = RaftOptions { pre_vote: true, stickiness: true, check_quorum: true, ..plain() };
    let history = partly_linked(options, 0, &BRIDGE);
    assert_eq!(history.changes_since(CUT), 1);
    assert!((1..4).contains(&history.leads()[1].node));
    assert!(history.leads()[0].until < Some(CUT + ms(500)));
    assert_eq!(history.overlaps(), []);
}

//! Many changes of leader under kills, and an independent record of them.

use std::collections::VecDeque;

use elect_testkit::program::{Running, eventually};
use nix::sys::signal::Signal;

use super::arena::{Arena, Ground, crash};
use super::observer::Observer;
use super::{on_each_cluster, on_each_store};

const CHANGES: usize = 50;
/// How many take part at a time.
const CANDIDATES: usize = 3;

on_each_store! {
    fifty_changes_are_told_as_they_were
}

/// Each command writes down that it leads; every leader is killed, or told to go. In every second round the
/// observer is waited for, so that it cannot have missed that leader.
fn fifty_changes_are_told_as_they_were(arena: &Arena) {
    let observer = Observer::start(&arena.elect("observe"), arena.path("observed"));
    let mut candidates = VecDeque::<Running>::new();
    let mut come = 0;
    let mut awaited = Vec::new();
    for round in 1..=CHANGES {
        while candidates.len() < CANDIDATES {
            candidates.push_back(arena.candidate(&format!("c{come}"), 15));
            arena.wait_for_candidate(&format!("c{come}"));
            come += 1;
        }
        let (token, id) = eventually("the next leader", || arena.record().get(round - 1).cloned());
        if round % 2 == 0 {
            eventually("the observer", || {
                observer.leaders().contains(&(token, id.clone())).then_some(())
            });
            awaited.push(token);
        }
        let mut leader = candidates.pop_front().expect("a candidate");
        if round % 3 == 0 {
            leader.signal(Signal::SIGTERM);
            leader.wait().exits(143);
        } else {
            crash(leader);
        }
    }
    // The last to come goes first, in good order, so that nobody else leads.
    eventually("the last leader", || arena.record().get(CHANGES).cloned());
    while let Some(mut candidate) = candidates.pop_back() {
        candidate.signal(Signal::SIGTERM);
        candidate.wait().exits(143);
    }
    observer.wait_for_last("vacant");
    let (told, record) = (observer.leaders(), arena.record());
    let tokens: Vec<u64> = told.iter().map(|(token, _)| *token).collect();
    assert!(tokens.is_sorted_by(|one, next| one < next), "{tokens:?}");
    assert!(awaited.iter().all(|token| tokens.contains(token)), "{awaited:?} in {tokens:?}");
    let mut rest = record.iter();
    let is_told_of = |leader: &&(u64, String)| rest.any(|it| it == *leader);
    assert_eq!(told.iter().filter(is_told_of).count(), told.len(), "{told:?} and {record:?}");
    println!("{} of {} leaders were told of", told.len(), record.len());
    observer.end(Signal::SIGTERM);
}

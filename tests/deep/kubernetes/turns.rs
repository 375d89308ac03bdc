//! elect and Go programs take turns in one election.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;

use elect_testkit::servers::kubernetes::ClientGo;
use fastrand::Rng;
use serde_json::json;

use super::scene::{Candidate, Fate, Scene, TTL};

const CHANGES: usize = 200;
/// Another number of changes.
const COUNT: &str = "ELECT_DEEP_CHANGES";
const SEED: &str = "ELECT_DEEP_SEED";

/// A candidate with this number: odd ones are Go programs.
fn candidate(scene: &Scene, number: usize) -> Candidate {
    let is_go = number % 2 == 1;
    let tag = format!("{}-{number}", if is_go { "go" } else { "elect" });
    let command = scene.oracle.stamper(&tag);
    if is_go {
        scene.go_candidate(&tag, ClientGo::Current, &command)
    } else {
        scene.elect_candidate(&tag, TTL, &command.children(1))
    }
}

fn number<T: FromStr>(variable: &str) -> Option<T> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Of each two leaders in a row one is elect, and the other a Go program. Half of them are killed.
#[test]
fn elect_and_go_take_turns() {
    let changes = number(COUNT).unwrap_or(CHANGES);
    let seed = number(SEED).unwrap_or_else(|| fastrand::u64(..));
    println!("the same choices again, if not the same timing: {SEED}={seed}");
    let mut rng = Rng::with_seed(seed);
    let scene = Scene::new();
    let mut leader = candidate(&scene, 0);
    scene.wait_for_run(&leader);
    let mut took: BTreeMap<(bool, Fate), Vec<Duration>> = BTreeMap::new();
    for turn in 1..=changes {
        let mut next = candidate(&scene, turn);
        scene.wait_in_line(&mut next, &leader.tag);
        let fate =
            *rng.choice(&[Fate::Told, Fate::Told, Fate::Killed, Fate::AllKilled]).expect("one");
        let began = leader.end(fate);
        let run = scene.wait_for_run(&next);
        took.entry((leader.is_go(), fate)).or_default().push(run.first.since(began));
        let spec = scene.lease().expect("a Lease")["spec"].clone();
        let holder = spec["holderIdentity"].as_str().unwrap_or_default().to_owned();
        assert!(holder.starts_with(&next.tag), "{} leads: {spec}", next.tag);
        assert_eq!(spec["leaseTransitions"], json!(turn), "{spec}");
        scene.oracle.assert_sound();
        if turn <= 2 {
            print!("{}", scene.kubectl_get_lease());
        }
        leader.wait();
        leader = next;
    }
    leader.end(Fate::Told);
    leader.wait();
    let runs = scene.oracle.assert_sound();
    assert_eq!(runs.len(), changes + 1);
    for ((is_go, fate), mut spans) in took {
        spans.sort();
        let (from, to) = if is_go { ("Go", "elect") } else { ("elect", "Go") };
        let (count, middle, last) = (spans.len(), spans[spans.len() / 2], spans[spans.len() - 1]);
        println!(
            "from {from}, {fate:?}, to {to}: {count} times, {middle:.2?} in the middle, {last:.2?} at the most"
        );
    }
}

//! Priorities: who leads rather than whom, on each store.

use crate::cli::see::{Arena, Ground, on_each_cluster, on_each_store};
use crate::prelude::*;

on_each_store! {
    waiters_are_shown_in_the_order_in_which_they_would_lead
    the_best_of_five_leads_and_after_it_the_next_best
    with_the_two_best_killed_at_once_the_next_best_leads
    a_frozen_best_candidate_is_not_waited_for_longer_than_its_lease
    a_best_candidate_that_joins_leaves_and_joins_leads
    priority_0_is_seen_and_never_leads
    a_leader_of_priority_0_hands_over_without_waiting_for_a_lease
    a_user_that_drains_the_last_candidate_is_warned
    a_priority_set_by_label_also_counts_for_later_candidates
    a_candidate_that_preempts_asks_a_lesser_leader_and_no_other
    a_wrong_candidate_name_is_refused
    an_observer_alone_does_not_stop_a_run_that_does_not_wait
    a_leader_is_shown_though_its_history_is_gone
}

mod slow {
    use super::{Arena, Ground, a_candidate_that_may_still_stand_back_is_not_taken_for_the_leader};
    use crate::cli::see::on_etcd_and_zookeeper;

    on_etcd_and_zookeeper! {
        a_candidate_that_may_still_stand_back_is_not_taken_for_the_leader
    }
}

/// Longer than any test here takes: a test that waits for a lease to end fails.
const LONG: u32 = 600;
/// So short that a waiter in a store without time of its own looks often for the other waiters.
const MODEST: u32 = 15;

/// Candidates of a test by name, the most recent last.
struct Crowd<'a> {
    arena: &'a Arena,
    there: Vec<(String, Running)>,
}

impl<'a> Crowd<'a> {
    const fn new(arena: &'a Arena) -> Self {
        Self { arena, there: Vec::new() }
    }

    fn join(&mut self, label: &str, priority: u32, ttl: u32) {
        let flags = |it: Elect| it.args(["-v", "--priority", &priority.to_string()]);
        let running = self.arena.candidate_with(label, ttl, flags);
        self.there.push((label.to_owned(), running));
        self.arena.wait_for_candidate(label);
    }

    fn get(&mut self, label: &str) -> &mut Running {
        let (_, running) =
            self.there.iter_mut().rfind(|(name, _)| name == label).expect("it is there");
        running
    }

    fn take(&mut self, label: &str) -> Running {
        let at = self.there.iter().rposition(|(name, _)| name == label).expect("it is there");
        self.there.remove(at).1
    }

    /// Kills the wrapper and waits for the end of its command.
    fn kill(&mut self, labels: &[&str]) {
        let mut killed: Vec<Running> = labels.iter().map(|label| self.take(label)).collect();
        for running in &mut killed {
            running.signal(Signal::SIGKILL);
        }
        for running in killed {
            running.wait();
        }
    }

    /// Ends all, and counts how often one of them has stood back.
    fn standing_back(self) -> usize {
        let mut stood_back = 0;
        for (_, mut running) in self.there {
            running.signal(Signal::SIGTERM);
            stood_back += running.wait().stderr.matches("standing back for").count();
        }
        stood_back
    }
}

/// Five candidates, the worst first, of whom the best leads: the example of `NuRaft`.
fn five(arena: &Arena) -> Crowd<'_> {
    let mut crowd = Crowd::new(arena);
    arena.elect("pause").args(["job", "--create"]).run().exits(0);
    for (label, priority) in [("e", 50), ("c", 80), ("d", 80), ("a", 100), ("b", 100)] {
        crowd.join(label, priority, LONG);
    }
    arena.elect("resume").arg("job").run().exits(0);
    arena.wait_for_leader("a");
    crowd
}

fn leaders(arena: &Arena) -> Vec<String> {
    let record = arena.record();
    assert!(record.is_sorted_by(|(a, _), (b, _)| a < b), "{record:?}");
    record.iter().map(|(_, id)| id.rsplit_once('-').expect("a nonce").0.to_owned()).collect()
}

fn waiters_are_shown_in_the_order_in_which_they_would_lead(arena: &Arena) {
    let mut crowd = Crowd::new(arena);
    crowd.join("leader", 100, LONG);
    arena.wait_for_leader("leader");
    for (label, priority) in [("d", 50), ("b", 200), ("c", 200), ("e", 0), ("a", 100)] {
        crowd.join(label, priority, LONG);
    }
    arena.elect("priority").args(["job", "a", "300"]).run().exits(0);
    let all = ["a", "b", "c", "d", "e"];
    let status = arena.status();
    let waiting = status["waiting"].as_array().expect("a list");
    for ((candidate, label), place) in waiting.iter().zip(all).zip(1..) {
        let id = candidate["id"].as_str().expect("an id");
        assert!(id.starts_with(&format!("{label}-")) && candidate["place"] == place, "{waiting:?}");
    }
    let table = arena.elect("status").arg("job").run().exits(0).stdout;
    let rows: Vec<Vec<&str>> = table.lines().map(|row| row.split_whitespace().collect()).collect();
    let rows = rows.iter().filter(|row| row[1] == "waiting");
    let shown: Vec<_> = rows.map(|row| (row[2], row[3].split('-').next().unwrap_or(""))).collect();
    let expected: Vec<_> = ["1", "2", "3", "4", "5"].into_iter().zip(all).collect();
    assert_eq!(shown, expected, "{table}");
}

fn the_best_of_five_leads_and_after_it_the_next_best(arena: &Arena) {
    let mut crowd = five(arena);
    for next in ["b", "c", "d", "e"] {
        let leader = leaders(arena).pop().expect("a leader");
        let from = now();
        crowd.kill(&[&leader]);
        arena.wait_for_leader(next);
        println!("{leader} was killed, {next} leads after {:.0?}", now().since(from));
    }
    assert_eq!(leaders(arena), ["a", "b", "c", "d", "e"]);
    // Each of the three who came before a stood back for it, in the order of the queue.
    let stood_back = crowd.standing_back();
    println!("e stood back {stood_back} times");
    assert!(stood_back <= 3, "{stood_back}");
}

fn with_the_two_best_killed_at_once_the_next_best_leads(arena: &Arena) {
    let mut crowd = five(arena);
    let from = now();
    crowd.kill(&["a", "b"]);
    arena.wait_for_leader("c");
    println!("a and b were killed, c leads after {:.0?}", now().since(from));
    assert_eq!(leaders(arena), ["a", "c"]);
    let stood_back = crowd.standing_back();
    println!("c, d and e stood back {stood_back} times");
    assert!((3..=6).contains(&stood_back), "{stood_back}");
}

fn a_frozen_best_candidate_is_not_waited_for_longer_than_its_lease(arena: &Arena) {
    let mut crowd = Crowd::new(arena);
    crowd.join("leader", 100, MODEST);
    arena.wait_for_leader("leader");
    crowd.join("low", 50, MODEST);
    crowd.join("best", 200, 5);
    crowd.join("good", 150, MODEST);
    crowd.get("best").signal(Signal::SIGSTOP);
    let from = now();
    crowd.kill(&["leader"]);
    arena.wait_for_leader("good");
    println!("the best was frozen, the next best leads after {:.1?}", now().since(from));
    crowd.get("best").signal(Signal::SIGCONT);
    arena.wait_for_waiter("best");
    crowd.kill(&["good"]);
    arena.wait_for_leader("best");
    assert_eq!(leaders(arena), ["leader", "good", "best"]);
}

fn a_best_candidate_that_joins_leaves_and_joins_leads(arena: &Arena) {
    let mut crowd = Crowd::new(arena);
    for label in ["leader", "one", "two"] {
        crowd.join(label, 100, LONG);
    }
    for _ in 0..3 {
        crowd.join("best", 200, LONG);
        let best = crowd.take("best");
        best.ended_by(Signal::SIGTERM).exits(128 + 15);
    }
    crowd.join("best", 200, LONG);
    crowd.kill(&["leader"]);
    arena.wait_for_leader("best");
    crowd.kill(&["best"]);
    // Of equals the first that joined leads, though it has stood back since.
    arena.wait_for_leader("one");
    assert_eq!(leaders(arena), ["leader", "best", "one"]);
    let stood_back = crowd.standing_back();
    assert!(stood_back <= 3, "{stood_back}");
}

fn priority_0_is_seen_and_never_leads(arena: &Arena) {
    let mut crowd = Crowd::new(arena);
    crowd.join("observer", 0, LONG);
    eventually("it to look on", || {
        let status = arena.status();
        let waiting = status["waiting"].as_array()?;
        let is_seen = waiting.len() == 1 && waiting[0]["priority"] == 0;
        (is_seen && status["leader"].is_null()).then_some(())
    });
    arena.elect("wait").args(["job", "--for", "vacant"]).run().exits(0);
    let from = now();
    let other = arena.candidate("other", LONG);
    arena.wait_for_leader("other");
    println!("an observer alone gave way after {:.0?}", now().since(from));
    other.ended_by(Signal::SIGTERM).exits(128 + 15);
    eventually("the end of leadership", || arena.status()["leader"].is_null().then_some(()));
    arena.elect("priority").args(["job", "observer", "5"]).run().exits(0);
    arena.wait_for_leader("observer");
    assert_eq!(leaders(arena), ["other", "observer"]);
}

/// Returns the time that a hand-over takes from `step` to the command of `next`.
fn hand_over(arena: &Arena, next: &str, step: impl FnOnce()) -> Duration {
    arena.wait_for_waiter(next);
    let from = now();
    step();
    arena.wait_for_leader(next);
    now().since(from)
}

fn a_leader_of_priority_0_hands_over_without_waiting_for_a_lease(arena: &Arena) {
    let mut crowd = Crowd::new(arena);
    for label in ["one", "two", "three", "four", "five"] {
        crowd.join(label, 100, LONG);
    }
    arena.wait_for_leader("one");
    let plain = hand_over(arena, "two", || crowd.get("one").signal(Signal::SIGTERM));
    let set = hand_over(arena, "three", || {
        let said = arena.elect("priority").args(["job", "two", "0"]).run().exits(0);
        assert!(said.stdout.starts_with("three-"), "{}", said.stdout);
    });
    crowd.take("two").wait().exits(124).says("priority set to 0 by ");
    let to = hand_over(arena, "five", || {
        let said = arena.elect("resign").args(["job", "--to", "five"]).run().exits(0);
        assert!(said.stdout.starts_with("five-"), "{}", said.stdout);
    });
    let resigned = hand_over(arena, "four", || {
        arena.elect("resign").arg("job").run().exits(0);
    });
    println!("TERM {plain:.0?}, priority 0 {set:.0?}, resign --to {to:.0?}, resign {resigned:.0?}");
    assert_eq!(leaders(arena), ["one", "two", "three", "five", "four"]);
}

/// The first in a queue may be slow, or stop, before it makes room for the named candidate.
fn a_candidate_that_may_still_stand_back_is_not_taken_for_the_leader(arena: &Arena) {
    let mut crowd = Crowd::new(arena);
    for label in ["one", "two", "three"] {
        crowd.join(label, 100, LONG);
    }
    arena.wait_for_leader("one");
    arena.wait_for_waiter("three");
    crowd.get("two").signal(Signal::SIGSTOP);
    let mut resigning = arena.elect("resign").args(["job", "--to", "three"]).spawn();
    for _ in 0..2 {
        eventually("two to be next", || {
            let leader = arena.status()["leader"]["id"].as_str()?.to_owned();
            leader.starts_with("two-").then_some(())
        });
    }
    assert!(resigning.is_running(), "two was taken for the leader");
    crowd.get("two").signal(Signal::SIGCONT);
    let said = resigning.wait().exits(0);
    assert!(said.stdout.starts_with("three-"), "{}", said.stdout);
    arena.wait_for_leader("three");
    assert_eq!(leaders(arena), ["one", "three"]);
}

fn a_priority_set_by_label_also_counts_for_later_candidates(arena: &Arena) {
    let mut crowd = Crowd::new(arena);
    crowd.join("one", 100, LONG);
    crowd.join("two", 100, LONG);
    crowd.join("three", 100, LONG);
    let set = arena.elect("priority").args(["job", "two", "0", "--reason", "disk"]).run().exits(0);
    set.prints("two has priority 0, and does not lead\n");
    let two = crowd.take("two");
    two.ended_by(Signal::SIGTERM);
    crowd.join("two", 100, LONG);
    crowd.kill(&["one"]);
    arena.wait_for_leader("three");
    crowd.kill(&["three"]);
    arena.wait_for_waiter("two");
    arena.elect("wait").args(["job", "--for", "vacant"]).run().exits(0);
    let own = arena.elect("priority").args(["job", "two", "own"]).run().exits(0);
    own.prints("two has the priority that it was started with\n");
    arena.wait_for_leader("two");
    let two = crowd.take("two");
    let told = two.ended_by(Signal::SIGTERM);
    told.says("priority set to 0 by ").says(": disk").says("priority 100 again, as it was started");
}

fn a_candidate_that_preempts_asks_a_lesser_leader_and_no_other(arena: &Arena) {
    let mut crowd = Crowd::new(arena);
    crowd.join("low", 50, LONG);
    arena.wait_for_leader("low");
    crowd.join("middle", 100, LONG);
    let flags = |priority: &'static str| {
        move |it: Elect| it.args(["--priority", priority, "--preempt", "--preempt-after", "100ms"])
    };
    let equal = arena.candidate_with("best", LONG, flags("200"));
    arena.wait_for_leader("best");
    crowd.take("low").wait().exits(124).says(": of priority 200");
    let _other = arena.candidate_with("other", LONG, flags("200"));
    arena.wait_for_waiter("other");
    arena.elect("priority").args(["job", "middle", "150"]).run().exits(0);
    crowd.join("later", 100, LONG);
    assert_eq!(leaders(arena), ["low", "best"], "an equal was asked to hand over");
    drop(equal);
    arena.wait_for_leader("other");
}

fn a_wrong_candidate_name_is_refused(arena: &Arena) {
    let mut crowd = Crowd::new(arena);
    crowd.join("one", 100, LONG);
    arena.wait_for_leader("one");
    crowd.join("idle", 0, LONG);
    let (first, second) = (arena.candidate("two", LONG), arena.candidate("two", LONG));
    eventually("all to wait", || (arena.status()["waiting"].as_array()?.len() == 3).then_some(()));
    let resign = |to: &str| arena.elect("resign").args(["job", "--to", to]).run().exits(125);
    resign("nobody").says("no waiting candidate has the id or label nobody");
    resign("two").says("2 waiting candidates have the label two");
    resign("idle").says("has priority 0 and never leads");
    let priority =
        |id: &str, to: &str| arena.elect("priority").args(["job", id, to]).run().exits(125);
    priority("nobody", "7").says("no candidate of job has the id or label nobody");
    priority("two", "1000001").says("0 to 1000000, or own");
    let said = arena.elect("resign").args(["job", "--to", "one"]).run().exits(0);
    assert!(said.stdout.starts_with("one-"), "{}", said.stdout);
    assert_eq!(leaders(arena), ["one"]);
    drop((first, second));
}

fn an_observer_alone_does_not_stop_a_run_that_does_not_wait(arena: &Arena) {
    let mut crowd = Crowd::new(arena);
    crowd.join("observer", 0, LONG);
    eventually("it to look on", || arena.status()["leader"].is_null().then_some(()));
    let run = || arena.elect("run").args(["-e", "job", "-n", "true"]);
    run().run().exits(0);
    // No candidate is there that may lead. The run says why it never leads: alone, and behind another one like it.
    for election in ["alone", "job"] {
        for wait in [&["-n"][..], &["-w", "100ms"]] {
            let never = arena.elect("run").args(["-e", election, "--priority", "0"]).args(wait);
            let unmet = never.arg("true").run().exits(75);
            unmet.says("this candidate never leads: of priority 0");
        }
    }
    crowd.join("one", 50, MODEST);
    arena.wait_for_leader("one");
    run().run().exits(75).says("another candidate leads");
}

fn a_user_that_drains_the_last_candidate_is_warned(arena: &Arena) {
    const NO_CANDIDATE_LEFT: &str = "warning: no candidate with a priority above 0 is left";
    let mut crowd = Crowd::new(arena);
    crowd.join("one", 100, LONG);
    arena.wait_for_leader("one");
    crowd.join("two", 100, LONG);
    let drain = |label: &str| arena.elect("priority").args(["job", label, "0"]).run().exits(0);
    drain("two").prints("two has priority 0, and does not lead\n").is_quiet();
    drain("one").prints("nobody leads\n").says(NO_CANDIDATE_LEFT);
    crowd.take("one").wait().exits(124);
    // It only looks on already.
    drain("two").says(NO_CANDIDATE_LEFT);
    let back = arena.elect("priority").args(["job", "two", "100"]);
    back.run().exits(0).prints("two has priority 100\n").is_quiet();
    arena.wait_for_leader("two");
}

fn a_leader_is_shown_though_its_history_is_gone(arena: &Arena) {
    let mut crowd = Crowd::new(arena);
    crowd.join("low", 50, LONG);
    let id = arena.wait_for_leader("low");
    crowd.join("high", 200, LONG);
    let leads = || arena.status()["leader"]["id"] == id.as_str();
    eventually("it to be shown", || leads().then_some(()));
    if let Some(cell) = arena.cell("history") {
        fs::remove_file(cell).expect("a cell");
        assert!(leads());
    }
    let said = arena.elect("resign").arg("job").run().exits(0);
    assert!(said.stdout.starts_with("high-"), "{}", said.stdout);
    crowd.take("low").wait().exits(124);
}

#[test]
fn an_unreadable_history_keeps_no_candidate_from_leading() {
    let arena = Arena::on(Ground::File);
    let mut crowd = Crowd::new(&arena);
    crowd.join("low", 50, LONG);
    let first = arena.wait_for_leader("low");
    let cell = arena.cell("history").expect("a file");
    eventually("it to be written", || cell.exists().then_some(()));
    fs::write(&cell, [0xff; 64]).expect("our own file");
    crowd.join("high", 200, LONG);
    crowd.join("middle", 100, LONG);
    crowd.kill(&["low"]);
    let second = arena.wait_for_leader("high");
    assert_ne!(first, second);
}

/// A candidate that passed a stopped one is the leader all the same.
#[test]
fn a_leader_that_passed_a_stopped_candidate_is_shown() {
    let arena = Arena::on(Ground::File);
    let one = arena.leader("one", LONG);
    let mut two = arena.candidate("two", LONG);
    arena.wait_for_waiter("two");
    two.signal(Signal::SIGSTOP);
    let _three = arena.candidate("three", LONG);
    arena.wait_for_candidate("three");
    drop(one);
    arena.wait_for_leader("three");
    two.signal(Signal::SIGCONT);
    let status = arena.status();
    assert!(status["leader"]["id"].as_str().is_some_and(|id| id.starts_with("three-")), "{status}");
    let said = arena.elect("resign").arg("job").run().exits(0);
    assert!(said.stdout.starts_with("two-"), "{}", said.stdout);
}

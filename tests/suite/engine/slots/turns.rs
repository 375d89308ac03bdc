//! The next candidate takes a free slot at once. Leases are very long, so only an event makes a candidate look again,
//! and no slot comes free by the end of a lease.

use elect_testkit::oracle::Flag;
use elect_testkit::program::Running;
use nix::sys::signal::Signal;

use super::arena::{SLOTS, SlotsArena, on_each_store};
use crate::stage::stop;
use crate::store::real::Brand;

on_each_store! {
    a_free_slot_is_taken_at_once_by_the_next_candidate
    a_slot_of_a_wrapper_that_was_killed_is_taken_at_once
    a_next_candidate_that_is_killed_leaves_nothing_behind
}

mod hasty {
    use super::{a_candidate_that_does_not_wait_takes_only_a_free_slot, on_each_store};
    // On Kubernetes it takes a sixth of a lease to see if a candidate leads: here that is a quarter of an hour.
    on_each_store! {
        but kubernetes: a_candidate_that_does_not_wait_takes_only_a_free_slot
    }
}

const TTL: &str = "90m";

struct Crowd {
    arena: SlotsArena,
    all: Vec<(String, Running, Flag)>,
}

impl Crowd {
    /// Starts so many candidates, which come in this order: the first lead, and the others are at the door.
    fn new(brand: Option<Brand>, size: usize) -> Self {
        let mut crowd = Self { arena: SlotsArena::slow(brand), all: Vec::new() };
        for number in 0..size {
            crowd.come(&format!("c{number}"));
        }
        crowd
    }

    fn come(&mut self, tag: &str) {
        let end = self.arena.oracles[0].flag(tag);
        let running = self.arena.candidate(tag, TTL, |it| it.until(&end)).spawn();
        self.all.push((tag.to_owned(), running, end));
        let number = self.all.len();
        if number <= SLOTS {
            self.arena.wait_for_run(tag);
            self.arena.wait_for_queue(&[]);
        } else {
            let tags: Vec<&str> = self.all[SLOTS..].iter().map(|(tag, ..)| tag.as_str()).collect();
            self.arena.wait_for_queue(&tags);
        }
    }

    fn slot_of(&self, number: usize) -> usize {
        self.arena.wait_for_run(&self.all[number].0).0
    }

    /// Has all end, in the order in which they came, and looks whether each slot was one's at a time.
    fn end(self, gone: &[usize]) {
        for (number, (tag, running, end)) in self.all.into_iter().enumerate() {
            if gone.contains(&number) {
                continue;
            }
            self.arena.wait_for_run(&tag);
            end.raise();
            running.wait().exits(0);
        }
        for oracle in &self.arena.oracles {
            oracle.assert_sound();
        }
        self.arena.wait_for_queue(&[]);
    }
}

fn a_free_slot_is_taken_at_once_by_the_next_candidate(brand: Option<Brand>) {
    let crowd = Crowd::new(brand, 6);
    assert_eq!([0, 1, 2].map(|number| crowd.slot_of(number)), [0, 1, 2]);
    for (ended, next) in [(1, 3), (0, 4), (2, 5)] {
        crowd.all[ended].2.raise();
        assert_eq!(crowd.slot_of(next), ended);
    }
    for (_, running, end) in crowd.all {
        end.raise();
        running.wait().exits(0);
    }
    for oracle in &crowd.arena.oracles {
        assert_eq!(oracle.assert_sound().len(), 2);
    }
}

fn a_slot_of_a_wrapper_that_was_killed_is_taken_at_once(brand: Option<Brand>) {
    let mut crowd = Crowd::new(brand, 5);
    crowd.all[2].1.signal(Signal::SIGKILL);
    assert_eq!(crowd.slot_of(3), 2);
    crowd.all[0].1.signal(Signal::SIGKILL);
    assert_eq!(crowd.slot_of(4), 0);
    crowd.end(&[0, 2]);
}

/// It waits at the door and in each slot.
fn a_next_candidate_that_is_killed_leaves_nothing_behind(brand: Option<Brand>) {
    let mut crowd = Crowd::new(brand, 6);
    crowd.all[3].1.signal(Signal::SIGKILL);
    crowd.arena.wait_for_queue(&["c4", "c5"]);
    crowd.all[1].2.raise();
    assert_eq!(crowd.slot_of(4), 1);
    // The same where elect is told to end, or its guardian is gone.
    crowd.all[5].1.signal(Signal::SIGTERM);
    crowd.arena.wait_for_queue(&[]);
    crowd.end(&[1, 3, 5]);
}

fn a_candidate_that_does_not_wait_takes_only_a_free_slot(brand: Option<Brand>) {
    let mut crowd = Crowd::new(brand, 3);
    let hasty = |crowd: &Crowd| {
        let run = crowd.arena.elect("run");
        run.args(["-e", "job", "--slots", "3", "-n"]).sh("echo \"in $ELECT_SLOT\"").run()
    };
    hasty(&crowd).exits(75).says("another candidate leads");
    crowd.come("c3");
    hasty(&crowd).exits(75);
    crowd.all[3].1.signal(Signal::SIGTERM);
    crowd.arena.wait_for_queue(&[]);
    let (_, leader, end) = crowd.all.remove(1);
    end.raise();
    leader.wait().exits(0);
    hasty(&crowd).exits(0).prints("in 1\n");
    // A leader that is stopped has left the door long ago.
    if crowd.arena.is_local() {
        stop(crowd.all[0].1.pid());
        hasty(&crowd).exits(0).prints("in 1\n");
        crowd.all[0].1.signal(Signal::SIGCONT);
    }
    crowd.all.truncate(2);
    crowd.end(&[]);
}

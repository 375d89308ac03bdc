//! One that leads, and many that wait, each a process of its own.

use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use elect_testkit::program::eventually;
use nix::sys::signal::Signal;

use crate::contender::{Store, spawn};
use crate::hold::Hold;
use crate::process;
use crate::queue;
use crate::stage::Stage;

/// So many come at once.
const GROUP: usize = 20;

/// They leave when this is dropped.
pub(crate) struct Crowd<'a> {
    stage: &'a Stage,
    store: Store,
    election: String,
    flags: &'static [&'static str],
    /// The leader's command.
    hold: Hold,
    members: Vec<Child>,
}

impl<'a> Crowd<'a> {
    /// One that leads.
    pub(crate) fn start(stage: &'a Stage, store: Store, flags: &'static [&'static str]) -> Self {
        let election = stage.fresh("crowd");
        let hold = Hold::new(stage.path(&stage.fresh("hold")));
        let mut crowd = Self { stage, store, election, flags, hold, members: Vec::new() };
        crowd.add();
        crowd.hold.started();
        crowd
    }

    /// Returns once so many wait.
    pub(crate) fn fill(&mut self, waiting: usize) {
        while self.members.len() <= waiting {
            let missing = waiting + 1 - self.members.len();
            (0..missing.min(GROUP)).for_each(|_| self.add());
            let election = (self.stage, self.store, self.election.as_str());
            queue::wait_for(election, self.members.len() - 1, thread::sleep);
        }
    }

    /// Has the leader's command end; the time from then to the start of the next one's.
    pub(crate) fn hand_over(&mut self) -> Duration {
        self.hold.forget();
        self.hold.go();
        let ended = self.hold.ended();
        self.hold.started().saturating_sub(ended)
    }

    /// Waits for the end of the process that led before.
    pub(crate) fn reap(&mut self) {
        let all = self.members.len();
        eventually("the end of who led", || {
            self.members.retain_mut(|member| member.try_wait().expect("a child").is_none());
            (self.members.len() < all).then_some(())
        });
        assert_eq!(self.members.len(), all - 1, "a waiter has left");
    }

    /// Returns the memory of the newest member, in megabytes.
    pub(crate) fn memory(&self) -> f64 {
        self.members.last().map_or(0.0, process::memory)
    }

    fn add(&mut self) {
        let place = self.stage.place(self.store);
        let words = self.hold.command();
        let mut command = self.store.run(&place, &self.election, self.flags, &words);
        // At the end each would say that it was told to leave.
        command.stderr(Stdio::null());
        self.members.push(spawn(command));
    }
}

impl Drop for Crowd<'_> {
    fn drop(&mut self) {
        // Ends the members from the back of the queue, so that no member leads on its way out.
        for member in self.members.iter().rev() {
            process::signal(member, Signal::SIGTERM);
        }
        for member in &mut self.members {
            let _ = member.wait();
        }
    }
}

//! Processes that no fault is aimed at: a leader and a waiter of an election of their own, for the whole test, and the
//! members of the store. The test reports which resources each holds at the start and at the end.

use std::process::Stdio;

use elect_api::Boottime;
use elect_testkit::program::{Elect, Running};

use crate::arena::Arena;
use crate::footprint::Footprint;

/// Longer than any fault of the store lasts.
const TTL: &str = "60s";

/// One process, as it was when it was seen first and last.
#[derive(Clone, Debug)]
pub(crate) struct Life {
    pub(crate) what: String,
    pub(crate) pid: i32,
    pub(crate) since: Boottime,
    pub(crate) until: Boottime,
    pub(crate) first: Footprint,
    pub(crate) last: Footprint,
}

pub(crate) struct Bystanders {
    leader: Running,
    waiter: Running,
    lives: Vec<Life>,
}

impl Bystanders {
    pub(crate) fn start(arena: &Arena) -> Self {
        let leader = start(arena, "leader");
        let status = arena.near_elect().args(["status", "-b", &arena.near_url(), "calm"]);
        elect_testkit::program::eventually("a leader of the calm election", || {
            (status.run().code() == 0).then_some(())
        });
        Self { leader, waiter: start(arena, "waiter"), lives: Vec::new() }
    }

    /// Sees how they are.
    pub(crate) fn look(&mut self, arena: &mut Arena, now: Boottime) {
        for (what, pid) in [("a wrapper", self.leader.pid()), ("a waiter", self.waiter.pid())] {
            self.see(what.to_owned(), pid, now);
        }
        let Some(cluster) = arena.cluster() else { return };
        for index in 0..cluster.addresses().len() {
            let member = cluster.member(index);
            if member.is_alive() {
                self.see(format!("member {index} of the store"), member.pid(), now);
            }
        }
    }

    fn see(&mut self, what: String, pid: i32, now: Boottime) {
        let Some(footprint) = Footprint::of(pid) else { return };
        match self.lives.iter_mut().find(|life| life.pid == pid && life.what == what) {
            Some(life) => (life.until, life.last) = (now, footprint),
            None => self.lives.push(Life {
                what,
                pid,
                since: now,
                until: now,
                first: footprint,
                last: footprint,
            }),
        }
    }

    /// Returns the longest life of each process, and a complaint for each of elect's two that ended by itself.
    pub(crate) fn end(mut self) -> (Vec<Life>, Vec<String>) {
        let mut troubles = Vec::new();
        for (what, running) in [("wrapper", &mut self.leader), ("waiter", &mut self.waiter)] {
            if !running.is_running() {
                troubles.push(format!("the {what} that was not touched has ended"));
            }
        }
        // The waiter first: it is not to lead.
        for mut running in [self.waiter, self.leader] {
            if running.is_running() {
                running.signal(nix::sys::signal::Signal::SIGTERM);
            }
            running.wait();
        }
        let span = |life: &Life| life.until.since(life.since);
        self.lives.sort_by_key(|life| std::cmp::Reverse(span(life)));
        let mut longest: Vec<Life> = Vec::new();
        for life in self.lives {
            if longest.iter().all(|other| other.what != life.what) {
                longest.push(life);
            }
        }
        (longest, troubles)
    }
}

fn start(arena: &Arena, id: &str) -> Running {
    let url = arena.near_url();
    let mut elect: Elect = arena.near_elect().args(["run", "-b", &url, "-e", "calm", "--id", id]);
    if arena.backend.is_timed() {
        elect = elect.args(["--ttl", TTL, "--after-loss", "campaign"]);
    }
    let mut command = elect.args(["--", "sleep", "1000000"]).command();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Running::new(command.spawn().expect("elect"))
}

use std::mem::replace;

use elect_testkit::oracle::{Flag, Run};
use fastrand::Rng;
use nix::sys::signal::killpg;

use super::arena::Arena;
use super::peer::Peer;
use crate::prelude::*;

/// When a candidate is killed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fate {
    /// So long after the start of its first command, which would never end by itself.
    Leading(Duration),
    /// So long after the end of so many of its commands, or after its own start.
    Waiting(usize, Duration),
}

impl Fate {
    pub(super) fn any(rng: &mut Rng) -> Self {
        match rng.usize(..6) {
            0..3 => Self::Leading(Duration::from_micros(rng.u64(..30_000))),
            // A peer in Java takes most of this to get to the queue.
            3 => Self::Waiting(0, Duration::from_micros(rng.u64(..1_200_000))),
            more => Self::Waiting(more - 3, Duration::from_micros(rng.u64(..60_000))),
        }
    }

    /// Returns the time until its moment comes, if that depends on nothing any more.
    fn comes_in(self, runs: &[&Run]) -> Option<Duration> {
        match self {
            Self::Leading(span) => (!runs.is_empty()).then_some(span),
            Self::Waiting(0, span) => Some(span),
            Self::Waiting(count, span) => {
                runs.get(count - 1).filter(|run| !run.is_alive()).map(|_| span)
            }
        }
    }
}

/// One that takes part again and again: elect, or a peer.
pub(super) struct Candidate<'a> {
    arena: &'a Arena,
    pub(super) tag: String,
    /// `None` for elect.
    pub(super) peer: Option<Peer>,
    /// `None` for a survivor.
    pub(super) fate: Option<Fate>,
    /// Of elect; its peers know of none.
    pub(super) priority: u32,
    at: Option<Boottime>,
    pub(super) is_killed: bool,
    children: u32,
    lasting: Duration,
    running: Running,
}

impl<'a> Candidate<'a> {
    pub(super) fn new(
        arena: &'a Arena,
        rng: &mut Rng,
        peer: Option<Peer>,
        number: usize,
        fate: Option<Fate>,
    ) -> Self {
        Self {
            arena,
            tag: peer.map_or(format!("elect {number}"), |peer| format!("{peer:?} {number}")),
            peer,
            fate,
            priority: elect_api::Candidate::USUAL_PRIORITY,
            at: None,
            is_killed: false,
            children: rng.u32(1..3),
            lasting: Duration::from_millis(rng.u64(5..30)),
            running: Running::idle(),
        }
    }

    /// The same with another priority.
    pub(super) const fn of_priority(mut self, priority: u32) -> Self {
        self.priority = priority;
        self
    }

    /// Returns its planned fate, for people.
    pub(super) fn fate(&self) -> String {
        self.fate.map_or("survives".into(), |fate| format!("killed {fate:?}"))
    }

    pub(super) fn start(&mut self, end: &Flag) {
        let mut stamper = self.arena.oracle.stamper(&self.tag).children(self.children);
        if !matches!(self.fate, Some(Fate::Leading(_))) {
            stamper = stamper.lasting(self.lasting);
        }
        self.running = match self.peer {
            // A guardian finds those that left the session too; a peer has none.
            None => {
                let elect = self.arena.elect(&stamper.daemons(1));
                elect.env("ELECT_PRIORITY", self.priority.to_string()).spawn()
            }
            Some(peer) => peer.start(self.arena, &self.tag, &stamper, end.path()),
        };
    }

    /// Kills it if its moment is here, and lets elect take part again if its command has ended.
    #[track_caller]
    pub(super) fn go_on(&mut self, runs: &[Run], end: &Flag) {
        if self.is_killed {
            return;
        }
        let own: Vec<&Run> = runs.iter().filter(|run| run.tag == self.tag).collect();
        if let (None, Some(fate)) = (self.at, self.fate) {
            self.at = fate.comes_in(&own).map(|span| now() + span);
        }
        if !self.running.is_running() {
            self.finish();
            assert_eq!(self.peer, None, "{} has ended too early", self.tag);
            self.start(end);
        }
        if self.at.is_some_and(|at| now() >= at) {
            self.kill();
        }
    }

    pub(super) fn kill(&mut self) {
        let pid = Pid::from_raw(self.running.pid());
        match self.peer {
            // Only the wrapper: the rest is up to its guardian.
            None => self.running.signal(Signal::SIGKILL),
            // Its whole group at one blow, and so its command as soon as itself. A peer that is killed
            // alone leaves its command running beside that of the next leader: it never promised
            // anything else, and this is not what is looked at.
            Some(_) => killpg(pid, Signal::SIGKILL).expect("it lives"),
        }
        self.is_killed = true;
        // Its streams end when all that it started is gone. A command of elect's may have ended by itself
        // just before.
        let code = replace(&mut self.running, Running::idle()).wait().code();
        assert!(code == 128 + 9 || code == 0 && self.peer.is_none(), "{}: {code}", self.tag);
        self.bury();
    }

    /// Takes from the store what a dead candidate would leave there for too long.
    pub(super) fn bury(&self) {
        if self.is_killed && self.peer == Some(Peer::EtcdctlElect) {
            self.arena.revoke_lease_of(&self.tag);
        }
    }

    /// Waits for its end, which has to be a good one.
    #[track_caller]
    pub(super) fn finish(&mut self) {
        let ended = replace(&mut self.running, Running::idle()).wait();
        assert_eq!(ended.code(), 0, "{}: {}{}", self.tag, ended.stdout, ended.stderr);
    }
}

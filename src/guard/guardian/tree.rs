//! Signals, kills and reaps the processes of the tree.

use elect_api::Boottime;

use super::GuardianProcess;
use crate::guard::children::{self, Ended, Waited};
use crate::guard::clock;
use crate::guard::enclosure::Containment;
use crate::guard::ladder::Event;
use crate::guard::left::{Fate, Left};
use crate::guard::pass::{Deed, Found, Pass};
use crate::guard::priority::Before;
use crate::guard::wire::FromGuardian;

/// The number of processes that are reaped before the guardian checks the time. The processes of a tree may die
/// faster than they are reaped.
const MOST_REAPED: u32 = 256;

/// The number of passes over what the command has left, until one finds a process. A pass misses a process that ends
/// just then, and its child, which has not come to the guardian yet.
const MOST_PASSES: u32 = 16;

impl GuardianProcess {
    pub(super) fn signal(&mut self, signal: i32, resume: bool) {
        let Some(command) = self.command else {
            return self.treat_left(Deed::Signal { signal, resume, heard: None }, None);
        };
        let is_allowed = self.parts.enclosure.signal(command, signal);
        if resume {
            self.parts.enclosure.signal(command, libc::SIGCONT);
        }
        self.may_not_signal(self.command.filter(|_| !is_allowed));
    }

    /// Does this to all processes that the command has left. Reports which processes these were, if `fate` says what
    /// happens to them.
    pub(super) fn treat_left(&mut self, deed: Deed, fate: Option<Fate>) {
        let end = clock::now() + Pass::LIMIT;
        // A pass that leaves some alone may find none for that.
        let finds_all = !matches!(deed, Deed::Signal { heard: Some(_), .. });
        let mut passes = if fate.is_some() && finds_all { MOST_PASSES } else { 1 };
        let Found { living, first, refused, .. } = loop {
            let found = self.parts.enclosure.treat_left(deed);
            passes -= 1;
            if found.living > 0 || passes == 0 || clock::now() >= end {
                break found;
            }
        };
        self.may_not_signal(refused);
        if let Some(fate) = fate.filter(|_| living > 0) {
            self.report(FromGuardian::Left(Left { fate, count: living, first }));
        }
    }

    pub(super) fn kill_all(&mut self) {
        let now = clock::now();
        self.parts.lease.end();
        self.kill_loop.begin(now);
        if self.kill_loop.next().is_some_and(|next| next > now) {
            return;
        }
        let found = self.parts.enclosure.kill_all(self.command);
        self.kill_loop.passed(now, found);
        self.may_not_signal(found.refused);
        // In a pid namespace, the guardian's death is the surest way to kill. So its dead-man timer is not moved
        // there.
        if self.parts.enclosure.containment() != Containment::Pidns {
            self.step(Event::Killed);
        }
    }

    /// Reports a process that the guardian may not signal, if there is one. It is reported once.
    fn may_not_signal(&mut self, refused: Option<i32>) {
        if let Some(pid) = refused.filter(|&pid| self.refused != Some(pid)) {
            self.refused = Some(pid);
            self.report(FromGuardian::MayNotSignal(pid));
        }
    }

    /// Reaps what is dead, if it is time for that. While a process of the tree lives, the guardian waits a moment after
    /// each death: see [`KillLoop::next_reaping`](crate::guard::kill_loop::KillLoop::next_reaping).
    pub(super) fn reap(&mut self) {
        let has_more = std::mem::take(&mut self.has_dead);
        let (now, enclosure) = (clock::now(), &self.parts.enclosure);
        let (is_dead, is_awaited) = (enclosure.is_dead(), enclosure.awaits_reaping());
        let is_soon = self.kill_loop.next_reaping().is_some_and(|next| next > now);
        let waits = is_soon && !has_more && !is_awaited;
        let is_idle = self.parts.ladder.is_idle();
        if !is_idle && !is_dead && (waits || self.kill_loop.keeps_the_dead(now, is_awaited)) {
            return;
        }
        self.kill_loop.reaped();
        if is_idle {
            return;
        }
        // None that could keep a reaper of ordinary priority from killing runs any more.
        let is_stuck = self.parts.ladder.is_killing() && self.kill_loop.is_stuck(now);
        let before = if is_dead || is_stuck { self.before } else { Before::NONE };
        let mut news = false;
        for _ in 0..MOST_REAPED {
            match before.lowered(children::wait) {
                Waited::Ended(pid, ended) => {
                    news = true;
                    self.parts.enclosure.reaped(pid);
                    if self.command == Some(pid) {
                        self.command_ended(ended);
                    }
                }
                Waited::Stopped(pid, signal) => {
                    if self.command == Some(pid) {
                        self.command_stopped(pid, signal);
                    }
                }
                Waited::Quiet => {
                    if !(news && self.parts.ladder.is_killing()) {
                        return;
                    }
                    // A process that became a child when its parent died has not been killed yet.
                    self.step(Event::Tick);
                    news = false;
                }
                Waited::None if self.parts.enclosure.is_empty() => {
                    return self.step(Event::NoChildren);
                }
                Waited::None => return,
            }
        }
        self.has_dead = true;
    }

    /// Reaps what is dead before a user's signal is passed on, which goes to what the command has left once it has
    /// ended.
    pub(super) fn reap_at_once(&mut self) {
        self.kill_loop.reaped();
        self.reap();
    }

    /// Returns when to scan the tree again without any news, if at all.
    pub(super) fn next_scan(&self) -> Option<Boottime> {
        let at_once = self.has_dead.then(clock::now);
        // After each pass, the guardian reaps the dead.
        let again = if self.parts.ladder.is_killing() {
            self.kill_loop.next()
        } else {
            self.kill_loop.next_reaping()
        };
        [at_once, again].into_iter().flatten().min()
    }

    /// Reports that the command has stopped. A stop before the exec is undone instead, as there is no command yet
    /// that could be continued.
    fn command_stopped(&mut self, command: i32, signal: i32) {
        self.learn_of_launch();
        if self.launched {
            self.report(FromGuardian::Stopped(signal));
        } else {
            self.parts.enclosure.signal(command, libc::SIGCONT);
        }
    }

    fn command_ended(&mut self, ended: Ended) {
        self.learn_of_launch();
        self.command = None;
        self.parts.enclosure.command_ended();
        self.report(FromGuardian::Ended(ended));
        self.step(Event::CommandEnded);
    }
}

//! The state that nodes act on: their clocks and timers, the wires between them, and future events.

use std::time::Duration;

use super::clock::Clock;
use super::events::Events;
use super::network::Wires;
use super::{Drift, History, Network, NodeId};
use crate::chance::Chance;

/// An event. Its number tells for which start of the node, or for which setting of a timer, it is meant.
#[derive(Debug)]
pub(super) enum Event<M> {
    /// The script's fault with this index.
    Fault(usize),
    Start(NodeId),
    Arrival {
        to: NodeId,
        start: u32,
        from: NodeId,
        message: M,
    },
    Expiry {
        node: NodeId,
        setting: u64,
    },
}

impl<M> Event<M> {
    /// Returns the node that it happens to.
    pub(super) const fn node(&self) -> Option<NodeId> {
        match self {
            Self::Fault(_) => None,
            Self::Start(node) | Self::Arrival { to: node, .. } | Self::Expiry { node, .. } => {
                Some(*node)
            }
        }
    }
}

/// Whether a node reacts.
#[derive(Debug)]
pub(super) enum Mode<M> {
    Runs,
    /// The node is paused. The events wait for it.
    Stopped(Vec<Event<M>>),
    Dead,
}

/// The machine of a node.
#[derive(Debug)]
pub(super) struct Machine<M, T> {
    pub(super) mode: Mode<M>,
    /// How often it was killed. Messages to an earlier start are lost with its connections.
    start: u32,
    clock: Clock,
    /// Each timer with its valid setting, and the time by the clock at which it ends.
    timers: Vec<(T, u64, Duration)>,
}

pub(super) struct Stage<M, T> {
    pub(super) now: Duration,
    pub(super) candidates: usize,
    pub(super) chance: Chance,
    pub(super) events: Events<Event<M>>,
    pub(super) machines: Vec<Machine<M, T>>,
    pub(super) wires: Wires,
    pub(super) history: History,
    settings: u64,
}

impl<M, T: Copy + PartialEq> Stage<M, T> {
    pub(super) fn new(network: &Network, candidates: usize, nodes: usize, chance: Chance) -> Self {
        let machine =
            || Machine { mode: Mode::Runs, start: 0, clock: Clock::default(), timers: Vec::new() };
        Self {
            now: Duration::ZERO,
            candidates,
            chance,
            events: Events::default(),
            machines: (0..nodes).map(|_| machine()).collect(),
            wires: Wires::new(network, nodes),
            history: History::default(),
            settings: 0,
        }
    }

    pub(super) fn shows(&self, node: NodeId) -> Duration {
        self.machines[node].clock.shows(self.now)
    }

    pub(super) fn send(&mut self, from: NodeId, to: NodeId, kind: &'static str, message: M) {
        self.history.sent(kind);
        if let Some(at) = self.wires.send(from, to, self.now, &mut self.chance) {
            let start = self.machines[to].start;
            self.events.put(at, Event::Arrival { to, start, from, message });
        }
    }

    pub(super) fn set(&mut self, node: NodeId, timer: T, after: Duration) {
        self.cancel(node, timer);
        self.settings += 1;
        let setting = self.settings;
        let due = self.shows(node).saturating_add(after);
        let machine = &mut self.machines[node];
        machine.timers.push((timer, setting, due));
        self.events.put(machine.clock.when(due), Event::Expiry { node, setting });
    }

    pub(super) fn cancel(&mut self, node: NodeId, timer: T) {
        self.machines[node].timers.retain(|(other, _, _)| *other != timer);
    }

    /// Takes the timer of this setting, if it is still valid and has ended. If a slower clock has put it off, its event
    /// comes again later.
    pub(super) fn expired(&mut self, node: NodeId, setting: u64) -> Option<T> {
        let machine = &mut self.machines[node];
        let index = machine.timers.iter().position(|(_, other, _)| *other == setting)?;
        let (timer, _, due) = machine.timers[index];
        if machine.clock.shows(self.now) < due {
            self.events.put(machine.clock.when(due), Event::Expiry { node, setting });
            return None;
        }
        machine.timers.remove(index);
        Some(timer)
    }

    /// Returns whether a message to this start of the node still reaches it.
    pub(super) fn is_reached(&self, node: NodeId, start: u32) -> bool {
        self.machines[node].start == start
    }

    /// Sets the drift of the node's clock from now on. With a faster clock its timers end earlier.
    pub(super) fn drift(&mut self, node: NodeId, drift: Drift) {
        self.machines[node].clock.run_with(drift, self.now);
        self.schedule_timers(node);
    }

    /// Schedules the ends of its timers by its clock as it is now.
    fn schedule_timers(&mut self, node: NodeId) {
        let machine = &self.machines[node];
        for &(_, setting, due) in &machine.timers {
            self.events.put(machine.clock.when(due), Event::Expiry { node, setting });
        }
    }

    /// Kills the node. Its timers and its connections are gone.
    pub(super) fn kill(&mut self, node: NodeId) {
        let machine = &mut self.machines[node];
        machine.mode = Mode::Dead;
        if machine.clock.stands() {
            machine.clock.stand(false, self.now);
        }
        machine.start += 1;
        machine.timers.clear();
    }

    /// Pauses the node, if it runs.
    pub(super) fn pause(&mut self, node: NodeId) {
        let mode = &mut self.machines[node].mode;
        if matches!(mode, Mode::Runs) {
            *mode = Mode::Stopped(Vec::new());
        }
    }

    /// Pauses the node, and stops its clock too.
    pub(super) fn suspend(&mut self, node: NodeId) {
        if !matches!(self.machines[node].mode, Mode::Dead) {
            self.pause(node);
            self.machines[node].clock.stand(true, self.now);
        }
    }

    pub(super) fn is_suspended(&self, node: NodeId) -> bool {
        self.machines[node].clock.stands()
    }

    /// Continues the node. All events in between happen now, in the same order.
    pub(super) fn resume(&mut self, node: NodeId) {
        if self.is_suspended(node) {
            self.machines[node].clock.stand(false, self.now);
            self.schedule_timers(node);
        }
        let mode = &mut self.machines[node].mode;
        if let Mode::Stopped(waiting) = mode {
            let waiting = std::mem::take(waiting);
            *mode = Mode::Runs;
            for event in waiting {
                self.events.put(self.now, event);
            }
        }
    }
}

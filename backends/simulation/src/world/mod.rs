//! The world: nodes that react to messages and timers, a network between them, and a script of faults.
//!
//! Events happen in the order of their true times. A reaction takes no time. The messages and timers that it creates
//! become events.

mod clock;
mod events;
mod history;
mod network;
mod node;
mod script;
mod stage;

use std::time::Duration;

pub use self::clock::Drift;
pub use self::history::{History, Lead, Overlap};
pub use self::network::Network;
pub use self::node::{Context, Host, Node, NodeId};
pub use self::script::{Blow, Fault, Process, Script, Target};
use self::stage::{Event, Mode, Stage};
use crate::chance::Chance;
use crate::measure::Progress;
use crate::{End, Scenario};

/// A run that is under way.
pub(crate) struct World<'s, N: Node> {
    scenario: &'s Scenario,
    nodes: Vec<N>,
    stage: Stage<N::Message, N::Timer>,
    /// The node that was last hit as the leader.
    hit: Option<NodeId>,
}

impl<'s, N: Node> World<'s, N> {
    /// Creates a world with these nodes at the start, and with the events of the script.
    pub(crate) fn new(scenario: &'s Scenario, nodes: Vec<N>, mut chance: Chance) -> Self {
        let shift = chance.between(Duration::ZERO, scenario.shift);
        let mut stage = Stage::new(&scenario.network, scenario.candidates, nodes.len(), chance);
        for (index, (at, _)) in scenario.script.faults().iter().enumerate() {
            let shift = if at.is_zero() { Duration::ZERO } else { shift };
            stage.events.put(*at + shift, Event::Fault(index));
        }
        for node in 0..nodes.len() {
            stage.events.put(Duration::ZERO, Event::Start(node));
        }
        Self { scenario, nodes, stage, hit: None }
    }

    /// Runs until the end of the scenario, or until the measurement is cancelled.
    pub(crate) fn run(mut self, progress: &Progress) -> History {
        let faults = self.scenario.script.faults().len();
        let end = self.scenario.end.latest();
        while let Some((at, event)) = self.stage.events.next(end) {
            if progress.is_cancelled() {
                return self.stage.history.ended(self.stage.now);
            }
            self.stage.now = at;
            self.happen(event);
            let history = &self.stage.history;
            if matches!(self.scenario.end, End::Replaced { .. })
                && history.faults().len() == faults
                && history.replaced().is_some()
            {
                return self.stage.history.ended(at);
            }
        }
        self.stage.history.ended(end)
    }

    fn happen(&mut self, event: Event<N::Message>) {
        if let Event::Fault(index) = event {
            let scenario = self.scenario;
            self.stage.history.fault(self.stage.now);
            self.strike(&scenario.script.faults()[index].1);
            return;
        }
        let Some(node) = event.node() else { return };
        match &mut self.stage.machines[node].mode {
            Mode::Runs => self.react(node, event),
            Mode::Stopped(waiting) => waiting.push(event),
            Mode::Dead => {}
        }
    }

    fn react(&mut self, node: NodeId, event: Event<N::Message>) {
        match event {
            Event::Fault(_) => {}
            Event::Start(_) => self.tell(node, N::start),
            Event::Arrival { start, from, message, .. } => {
                if self.stage.is_reached(node, start) {
                    self.tell(node, |node, context| node.receive(from, message, context));
                }
            }
            Event::Expiry { setting, .. } => {
                if let Some(timer) = self.stage.expired(node, setting) {
                    self.tell(node, |node, context| node.expire(timer, context));
                }
            }
        }
    }

    /// Has a node react, and records whether it leads.
    fn tell<R>(
        &mut self,
        id: NodeId,
        reaction: impl FnOnce(&mut N, &mut Context<'_, N>) -> R,
    ) -> R {
        let answer = reaction(&mut self.nodes[id], &mut Context::new(id, &mut self.stage));
        self.note(id);
        answer
    }

    /// Records whether a node leads and serves. Beside a paused candidate the command runs on. A paused member of a
    /// store serves no client.
    fn note(&mut self, id: NodeId) {
        let (node, now) = (&self.nodes[id], self.stage.now);
        let (leads, serves) = match self.stage.machines[id].mode {
            Mode::Runs => (node.leads(), node.serves()),
            Mode::Stopped(_) if !self.stage.is_suspended(id) => (node.leads(), None),
            Mode::Stopped(_) | Mode::Dead => (None, None),
        };
        self.stage.history.note(id, leads, serves, now);
    }

    fn strike(&mut self, fault: &Fault) {
        match fault {
            Fault::Kill(target) => self.hit(*target, Self::kill),
            Fault::Suspend(target) => self.hit(*target, |world, node| {
                world.stage.suspend(node);
                world.note(node);
            }),
            Fault::Restart(target) => self.restart(self.mended(*target)),
            Fault::Resume(target) => self.resume(self.mended(*target)),
            Fault::KillProcess(target, process) => {
                self.hit(*target, |world, node| world.blow(node, Blow::Kill, *process));
            }
            Fault::PauseProcess(target, process) => {
                self.hit(*target, |world, node| world.blow(node, Blow::Pause, *process));
            }
            Fault::Pause(target) => {
                self.hit(*target, |world, node| world.blow(node, Blow::Pause, Process::Both));
            }
            Fault::Isolate(target) => {
                self.hit(*target, |world, node| world.stage.wires.isolate(node));
            }
            Fault::Drift(target, drift) => {
                self.hit(*target, |world, node| world.stage.drift(node, *drift));
            }
            Fault::Split(sides) => self.stage.wires.split(sides),
            Fault::OneWay { from, to } => self.stage.wires.cut(*from, *to),
            Fault::Heal => self.stage.wires.heal(),
            Fault::Loss(loss) => self.stage.wires.lose(*loss),
            Fault::Suspect(node) => {
                if matches!(self.stage.machines[*node].mode, Mode::Runs) {
                    self.tell(*node, N::suspect);
                }
            }
        }
    }

    fn hit(&mut self, target: Target, how: impl FnOnce(&mut Self, NodeId)) {
        let node = match target {
            Target::Node(node) => node,
            Target::Leader => match self.stage.history.leader() {
                Some(node) => node,
                None => return,
            },
        };
        if target == Target::Leader {
            self.hit = Some(node);
        }
        self.stage.history.hit(node);
        how(self, node);
    }

    const fn mended(&self, target: Target) -> Option<NodeId> {
        match target {
            Target::Node(node) => Some(node),
            Target::Leader => self.hit,
        }
    }

    fn kill(&mut self, node: NodeId) {
        self.stage.kill(node);
        self.note(node);
    }

    /// Hits processes on a machine that runs. A node of one process is hit as a whole.
    fn blow(&mut self, node: NodeId, blow: Blow, process: Process) {
        let is_dead = matches!(self.stage.machines[node].mode, Mode::Dead);
        if is_dead || self.stage.is_suspended(node) {
            return;
        }
        let is_taken = self.tell(node, |node, context| node.strike(blow, process, context));
        match blow {
            Blow::Kill if !is_taken => self.kill(node),
            Blow::Pause if !is_taken => self.stage.pause(node),
            _ => {}
        }
        self.note(node);
    }

    fn restart(&mut self, node: Option<NodeId>) {
        let Some(node) = node else { return };
        self.stage.history.hit(node);
        let mode = &mut self.stage.machines[node].mode;
        if matches!(mode, Mode::Dead) {
            *mode = Mode::Runs;
            self.tell(node, N::restart);
        } else {
            self.blow(node, Blow::Restart, Process::Both);
        }
    }

    fn resume(&mut self, node: Option<NodeId>) {
        let Some(node) = node else { return };
        self.stage.history.hit(node);
        self.stage.resume(node);
        self.blow(node, Blow::Resume, Process::Both);
    }
}

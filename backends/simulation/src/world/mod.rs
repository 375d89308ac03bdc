//! The world: nodes that react to messages and timers, a network between them, and a script of faults.
//!
//! Events happen in the order of their true times. A reaction takes no time; what it sends and sets becomes events.

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
pub use self::node::{Context, Node, NodeId};
pub use self::script::{Fault, Script, Who};
use self::stage::{Event, Process, Stage};
use crate::chance::Chance;
use crate::{End, Scenario};

/// A run under way.
pub(crate) struct World<'s, N: Node> {
    scenario: &'s Scenario,
    nodes: Vec<N>,
    stage: Stage<N::Message, N::Timer>,
    /// Who was the last to be hit as the leader.
    hit: Option<NodeId>,
}

impl<'s, N: Node> World<'s, N> {
    /// These nodes at the beginning, with what the script has in store for them.
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

    /// Runs until the end of the scenario.
    pub(crate) fn run(mut self) -> History {
        let faults = self.scenario.script.faults().len();
        let end = self.scenario.end.latest();
        while let Some((at, event)) = self.stage.events.next(end) {
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
        match &mut self.stage.machines[node].process {
            Process::Runs => self.react(node, event),
            Process::Stopped(waiting) => waiting.push(event),
            Process::Dead => {}
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

    /// Has a node react, and notes whether it leads.
    fn tell(&mut self, id: NodeId, reaction: impl FnOnce(&mut N, &mut Context<'_, N>)) {
        let node = &mut self.nodes[id];
        reaction(node, &mut Context::new(id, &mut self.stage));
        self.stage.history.note(id, node.leads(), self.stage.now);
    }

    fn strike(&mut self, fault: &Fault) {
        match fault {
            Fault::Kill(who) => self.hit(*who, |world, node| {
                world.stage.kill(node);
                world.stage.history.note(node, None, world.stage.now);
            }),
            Fault::Pause(who) => self.hit(*who, |world, node| {
                let process = &mut world.stage.machines[node].process;
                if matches!(process, Process::Runs) {
                    *process = Process::Stopped(Vec::new());
                }
            }),
            Fault::Restart(who) => self.restart(self.mended(*who)),
            Fault::Resume(who) => self.resume(self.mended(*who)),
            Fault::Isolate(who) => self.hit(*who, |world, node| world.stage.wires.isolate(node)),
            Fault::Drift(who, drift) => {
                self.hit(*who, |world, node| world.stage.drift(node, *drift));
            }
            Fault::Split(sides) => self.stage.wires.split(sides),
            Fault::OneWay { from, to } => self.stage.wires.cut(*from, *to),
            Fault::Heal => self.stage.wires.heal(),
            Fault::Loss(loss) => self.stage.wires.lose(*loss),
            Fault::Suspect(node) => {
                if matches!(self.stage.machines[*node].process, Process::Runs) {
                    self.tell(*node, N::suspect);
                }
            }
        }
    }

    fn hit(&mut self, who: Who, how: impl FnOnce(&mut Self, NodeId)) {
        let node = match who {
            Who::Node(node) => node,
            Who::Leader => match self.stage.history.leader() {
                Some(node) => node,
                None => return,
            },
        };
        if who == Who::Leader {
            self.hit = Some(node);
        }
        how(self, node);
    }

    const fn mended(&self, who: Who) -> Option<NodeId> {
        match who {
            Who::Node(node) => Some(node),
            Who::Leader => self.hit,
        }
    }

    fn restart(&mut self, node: Option<NodeId>) {
        let Some(node) = node else { return };
        let process = &mut self.stage.machines[node].process;
        if matches!(process, Process::Dead) {
            *process = Process::Runs;
            self.tell(node, N::restart);
        }
    }

    /// What has come in the meantime comes now, in the same order.
    fn resume(&mut self, node: Option<NodeId>) {
        let Some(node) = node else { return };
        let process = &mut self.stage.machines[node].process;
        if let Process::Stopped(waiting) = process {
            let waiting = std::mem::take(waiting);
            *process = Process::Runs;
            for event in waiting {
                self.stage.events.put(self.stage.now, event);
            }
        }
    }
}

//! The network: the delay of messages, lost messages, and links that are cut.

use std::collections::BTreeMap;
use std::time::Duration;

use super::NodeId;
use crate::chance::Chance;
use crate::{Delay, PerMillion};

/// The delays of messages between nodes without faults. Messages from one node to another arrive in the order in
/// which they were sent, as over TCP.
#[derive(Clone, Debug)]
pub struct Network {
    delay: Delay,
    links: BTreeMap<(NodeId, NodeId), Delay>,
}

impl Network {
    /// Creates a network with the same delays between any two nodes.
    pub const fn new(delay: Delay) -> Self {
        Self { delay, links: BTreeMap::new() }
    }

    /// Sets the delays between these two nodes, both ways: for two regions, for example.
    pub fn with_link(mut self, one: NodeId, other: NodeId, delay: Delay) -> Self {
        self.links.insert((one, other), delay.clone());
        self.links.insert((other, one), delay);
        self
    }

    /// Returns the nodes that have links of their own.
    pub(crate) fn named(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.links.keys().map(|(from, _)| *from)
    }
}

/// The state of the network in a run.
#[derive(Debug)]
pub(super) struct Wires {
    network: Network,
    nodes: usize,
    /// The wire of each pair, by `from * nodes + to`.
    all: Vec<Wire>,
    loss: PerMillion,
}

#[derive(Clone, Copy, Debug, Default)]
struct Wire {
    is_cut: bool,
    /// The arrival of the last message that was sent over it.
    busy_until: Duration,
}

impl Wires {
    pub(super) fn new(network: &Network, nodes: usize) -> Self {
        let all = vec![Wire::default(); nodes * nodes];
        Self { network: network.clone(), nodes, all, loss: PerMillion::NONE }
    }

    /// Returns when a message that is sent now arrives, or `None` if it gets lost. A message that is under way when a
    /// link is cut still arrives.
    pub(super) fn send(
        &mut self,
        from: NodeId,
        to: NodeId,
        now: Duration,
        chance: &mut Chance,
    ) -> Option<Duration> {
        let delay = self.network.links.get(&(from, to)).unwrap_or(&self.network.delay).draw(chance);
        let is_lost = chance.happens(self.loss);
        let wire = &mut self.all[from * self.nodes + to];
        if is_lost || wire.is_cut {
            return None;
        }
        wire.busy_until = now.saturating_add(delay).max(wire.busy_until);
        Some(wire.busy_until)
    }

    pub(super) fn lose(&mut self, loss: PerMillion) {
        self.loss = loss;
    }

    pub(super) fn cut(&mut self, from: NodeId, to: NodeId) {
        self.all[from * self.nodes + to].is_cut = true;
    }

    /// Cuts off a node from all others, both ways.
    pub(super) fn isolate(&mut self, node: NodeId) {
        for other in (0..self.nodes).filter(|&other| other != node) {
            self.cut(node, other);
            self.cut(other, node);
        }
    }

    /// Cuts the links between nodes of different sides.
    pub(super) fn split(&mut self, sides: &[Vec<NodeId>]) {
        for (index, side) in sides.iter().enumerate() {
            for other in sides.iter().enumerate().filter(|(other, _)| *other != index) {
                for (&from, &to) in
                    side.iter().flat_map(|from| other.1.iter().map(move |to| (from, to)))
                {
                    self.cut(from, to);
                }
            }
        }
    }

    /// Restores every link.
    pub(super) fn heal(&mut self) {
        for wire in &mut self.all {
            wire.is_cut = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Senseless;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn messages_of_a_link_arrive_in_order() -> Result<(), Senseless> {
        let mut wires = Wires::new(&Network::new(Delay::uniform(MS, 100 * MS)?), 2);
        let mut chance = Chance::with_seed(1);
        let arrivals: Vec<_> =
            (0..100).filter_map(|at| wires.send(0, 1, at * MS, &mut chance)).collect();
        assert_eq!(arrivals.len(), 100);
        assert!(arrivals.is_sorted());
        assert!(arrivals.iter().zip(0..).all(|(arrival, sent)| *arrival > sent * MS));
        Ok(())
    }

    /// A tenth of 10,000 messages, within four standard errors (120).
    #[test]
    fn a_network_loses_its_share_and_a_cut_stops_one_direction() -> Result<(), Senseless> {
        let mut wires = Wires::new(&Network::new(Delay::constant(MS)), 3);
        let mut chance = Chance::with_seed(1);
        wires.lose(PerMillion::new(100_000)?);
        let arrived = (0..10_000).filter_map(|_| wires.send(0, 1, MS, &mut chance)).count();
        assert!(arrived.abs_diff(9000) < 120, "{arrived}");
        wires.lose(PerMillion::NONE);
        wires.cut(0, 1);
        assert_eq!(wires.send(0, 1, MS, &mut chance), None);
        assert_eq!(wires.send(1, 0, MS, &mut chance), Some(2 * MS));
        wires.isolate(2);
        assert_eq!(wires.send(1, 2, MS, &mut chance), None);
        wires.heal();
        assert_eq!(wires.send(1, 2, MS, &mut chance), Some(2 * MS));
        Ok(())
    }
}

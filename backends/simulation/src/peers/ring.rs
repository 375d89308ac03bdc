//! Ring: the node with the greatest id leads, and each node sends only to the next one.
//!
//! Ernest Chang and Rosemary Roberts, "An Improved Algorithm for Decentralized Extrema-Finding in Circular
//! Configurations of Processes", Communications of the ACM 22, 1979.
//!
//! A node that suspects the leader sends its id around. A node passes a greater id on. It holds back a lesser id, and
//! sends its own instead, unless it has done so already. A node that gets its own id back leads, and sends that news
//! around.
//!
//! The paper's ring never breaks. Added are:
//! - acknowledgements: a message that the next node does not acknowledge goes to the one after it;
//! - an end: a message that has been around once is dropped, because its sender is dead;
//! - [heartbeats](Heartbeat), straight to all. A node that hears of a leader with a lesser id starts an election.

use std::time::Duration;

use super::Heartbeat;
use crate::chance::Chance;
use crate::{Context, Node, NodeId, Protocol, Senseless};

/// The algorithm with its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    /// How followers notice that the leader is dead.
    pub heartbeat: Heartbeat,
    /// The time without an acknowledgement after which the next node counts as dead for this message. It is more than a
    /// round trip.
    pub acknowledged_within: Duration,
    /// The order of the ids.
    pub ids: Ids,
}

/// The order of ids around a ring, in the direction of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ids {
    /// Each id is greater than the last. This costs the fewest messages if all nodes start at once.
    Ascending,
    /// Each id is less than the last. This costs the most messages.
    Descending,
    /// A random order, each with the same probability.
    Shuffled,
}

impl Protocol for Ring {
    type Node = RingNode;

    fn check(&self, _candidates: usize) -> Result<(), Senseless> {
        self.heartbeat.check()?;
        Senseless::unless_shorter(
            ("the time for an acknowledgement", self.acknowledged_within),
            ("the patience without a heartbeat", self.heartbeat.patience),
        )
    }

    fn nodes(&self, candidates: usize, chance: &mut Chance) -> Vec<RingNode> {
        let mut ids: Vec<u64> = (0..candidates as u64).collect();
        match self.ids {
            Ids::Ascending => {}
            Ids::Descending => ids.reverse(),
            Ids::Shuffled => chance.shuffle(&mut ids),
        }
        ids.into_iter().map(|id| RingNode::new(*self, id)).collect()
    }
}

/// A node of [`Ring`].
#[derive(Clone, Debug)]
pub struct RingNode {
    rules: Ring,
    id: u64,
    leads: bool,
    /// Whether its own id is under way, or it has passed a greater one on.
    participates: bool,
    /// The messages that wait for an acknowledgement, and the nodes that they went to.
    unacknowledged: Vec<(u64, NodeId, Round)>,
    parcels: u64,
}

/// A message that goes around.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    what: Claim,
    id: u64,
    /// How many nodes it is from its start.
    steps: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claim {
    /// The node with this id might lead.
    Candidate,
    /// The node with this id leads.
    Elected,
}

/// The messages between nodes of [`Ring`].
#[derive(Clone, Copy, Debug)]
pub enum Message {
    /// A message that goes around, with the number to acknowledge it by.
    Round(u64, Round),
    /// The acknowledgement of the message with this number.
    Acknowledgement(u64),
    /// The node with this id still leads.
    Heartbeat(u64),
}

/// The timers of a node of [`Ring`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// The wait for a sign of the leader, or for a new one.
    Patience,
    /// The wait for the next heartbeat.
    Heartbeat,
    /// The wait for the acknowledgement with this number.
    Acknowledgement(u64),
}

type In<'a> = Context<'a, RingNode>;

impl RingNode {
    const fn new(rules: Ring, id: u64) -> Self {
        Self { rules, id, leads: false, participates: false, unacknowledged: vec![], parcels: 0 }
    }

    fn follow(&mut self, context: &mut In<'_>) {
        self.leads = false;
        self.participates = false;
        context.cancel(Timer::Heartbeat);
        context.set(Timer::Patience, self.rules.heartbeat.patience);
    }

    fn call(&mut self, context: &mut In<'_>) {
        self.participates = true;
        if !self.leads {
            context.set(Timer::Patience, self.rules.heartbeat.patience);
        }
        self.begin(Claim::Candidate, context);
    }

    fn lead(&mut self, context: &mut In<'_>) {
        self.leads = true;
        self.participates = false;
        context.cancel(Timer::Patience);
        context.set(Timer::Heartbeat, self.rules.heartbeat.interval);
        self.begin(Claim::Elected, context);
    }

    /// Sends this node's own id around.
    fn begin(&mut self, what: Claim, context: &mut In<'_>) {
        self.pass_to(context.me() + 1, Round { what, id: self.id, steps: 1 }, context);
    }

    /// Passes on a message from the node before.
    fn pass(&mut self, round: Round, context: &mut In<'_>) {
        self.pass_to(context.me() + 1, Round { steps: round.steps + 1, ..round }, context);
    }

    fn pass_to(&mut self, to: NodeId, round: Round, context: &mut In<'_>) {
        if round.steps > context.candidates() {
            return;
        }
        let to = to % context.candidates();
        if to == context.me() {
            // No other node lives.
            self.hear(round, context);
            return;
        }
        self.parcels += 1;
        self.unacknowledged.push((self.parcels, to, round));
        context.send(to, Message::Round(self.parcels, round));
        context.set(Timer::Acknowledgement(self.parcels), self.rules.acknowledged_within);
    }

    /// Handles a message that goes around.
    fn hear(&mut self, round: Round, context: &mut In<'_>) {
        match round.what {
            Claim::Candidate if round.id == self.id => self.lead(context),
            Claim::Candidate if round.id > self.id => {
                self.participates = true;
                self.pass(round, context);
            }
            Claim::Candidate if !self.participates => self.call(context),
            Claim::Candidate => {}
            // The news has been around.
            Claim::Elected if round.id == self.id => {}
            Claim::Elected => {
                self.follow(context);
                self.pass(round, context);
            }
        }
    }
}

impl Node for RingNode {
    type Message = Message;
    type Timer = Timer;

    fn start(&mut self, context: &mut In<'_>) {
        self.follow(context);
    }

    fn restart(&mut self, context: &mut In<'_>) {
        let parcels = self.parcels;
        *self = Self { parcels, ..Self::new(self.rules, self.id) };
        self.call(context);
    }

    fn receive(&mut self, from: NodeId, message: Message, context: &mut In<'_>) {
        match message {
            Message::Round(parcel, round) => {
                context.send(from, Message::Acknowledgement(parcel));
                self.hear(round, context);
            }
            Message::Acknowledgement(parcel) => {
                context.cancel(Timer::Acknowledgement(parcel));
                self.unacknowledged.retain(|(other, _, _)| *other != parcel);
            }
            Message::Heartbeat(id) if id > self.id => {
                if self.leads || !self.participates {
                    self.follow(context);
                }
            }
            Message::Heartbeat(_) if self.participates => {}
            Message::Heartbeat(_) => self.call(context),
        }
    }

    fn expire(&mut self, timer: Timer, context: &mut In<'_>) {
        match timer {
            Timer::Patience => self.call(context),
            Timer::Heartbeat => {
                context.send_all(context.others(), &Message::Heartbeat(self.id));
                context.set(Timer::Heartbeat, self.rules.heartbeat.interval);
            }
            Timer::Acknowledgement(parcel) => {
                let lost = self.unacknowledged.iter().position(|(other, _, _)| *other == parcel);
                if let Some(index) = lost {
                    let (_, to, round) = self.unacknowledged.remove(index);
                    self.pass_to(to + 1, Round { steps: round.steps + 1, ..round }, context);
                }
            }
        }
    }

    fn suspect(&mut self, context: &mut In<'_>) {
        if !self.participates {
            self.call(context);
        }
    }

    /// There are no terms, so no number tells one leadership from another.
    fn leads(&self) -> Option<u64> {
        self.leads.then_some(0)
    }

    fn kind(message: &Message) -> &'static str {
        match message {
            Message::Round(_, Round { what: Claim::Candidate, .. }) => "candidate",
            Message::Round(_, Round { what: Claim::Elected, .. }) => "elected",
            Message::Acknowledgement(_) => "acknowledgement",
            Message::Heartbeat(_) => "heartbeat",
        }
    }
}

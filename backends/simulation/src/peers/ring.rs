//! Ring: the one with the greatest id leads, and each talks to the next one only.
//!
//! Ernest Chang and Rosemary Roberts, "An Improved Algorithm for Decentralized Extrema-Finding in Circular Configurations of
//! Processes", Communications of the ACM 22, 1979.
//!
//! Who suspects the leader sends its id around. A node passes a greater id on, and holds back a lesser one, in the place
//! of which it sends its own unless it has done so. One that gets its own id back leads, and sends that around.
//!
//! The paper's ring never breaks. Added are:
//! - acknowledgements: what the next node does not acknowledge goes to the one behind it;
//! - an end: what has been once around is dropped, as its sender is dead;
//! - [heartbeats](Heartbeat), straight to all. One that hears of a leader with a lesser id starts an election.

use std::time::Duration;

use super::Heartbeat;
use crate::chance::Chance;
use crate::{Context, Node, NodeId, Protocol, Senseless};

/// The algorithm with its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    /// How followers notice that the leader is dead.
    pub heartbeat: Heartbeat,
    /// After how long without an acknowledgement the next node counts as dead for this message: more than a round trip.
    pub acknowledged_within: Duration,
    /// Who has which id.
    pub ids: Ids,
}

/// The ids around a ring, in the direction of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ids {
    /// Each is greater than the last: the least messages if all start at once.
    Ascending,
    /// Each is less than the last: the most messages.
    Descending,
    /// Each order is as likely.
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
    /// Has its own id under way, or has passed a greater one on.
    participates: bool,
    /// What nobody has acknowledged yet, and to which node it went.
    unacknowledged: Vec<(u64, NodeId, Round)>,
    parcels: u64,
}

/// What goes around.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    what: What,
    id: u64,
    /// How many nodes on it goes from where it started.
    steps: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// Who has this id might lead.
    Candidate,
    /// Who has this id leads.
    Elected,
}

/// What nodes of [`Ring`] send each other.
#[derive(Clone, Copy, Debug)]
pub enum Message {
    /// Something goes around, with a number to acknowledge it by.
    Round(u64, Round),
    /// It has come.
    Acknowledgement(u64),
    /// Who has this id still leads.
    Heartbeat(u64),
}

/// What nodes of [`Ring`] wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// For a sign of the leader, or for a new one.
    Patience,
    /// For the time of the next heartbeat.
    Heartbeat,
    /// For the acknowledgement with this number.
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
        self.begin(What::Candidate, context);
    }

    fn lead(&mut self, context: &mut In<'_>) {
        self.leads = true;
        self.participates = false;
        context.cancel(Timer::Patience);
        context.set(Timer::Heartbeat, self.rules.heartbeat.interval);
        self.begin(What::Elected, context);
    }

    /// Sends our own id around.
    fn begin(&mut self, what: What, context: &mut In<'_>) {
        self.pass_to(context.me() + 1, Round { what, id: self.id, steps: 1 }, context);
    }

    /// Passes on what has come from the node before us.
    fn pass(&mut self, round: Round, context: &mut In<'_>) {
        self.pass_to(context.me() + 1, Round { steps: round.steps + 1, ..round }, context);
    }

    fn pass_to(&mut self, to: NodeId, round: Round, context: &mut In<'_>) {
        if round.steps > context.candidates() {
            return;
        }
        let to = to % context.candidates();
        if to == context.me() {
            // Nobody else lives.
            self.hear(round, context);
            return;
        }
        self.parcels += 1;
        self.unacknowledged.push((self.parcels, to, round));
        context.send(to, Message::Round(self.parcels, round));
        context.set(Timer::Acknowledgement(self.parcels), self.rules.acknowledged_within);
    }

    /// Something has come around.
    fn hear(&mut self, round: Round, context: &mut In<'_>) {
        match round.what {
            What::Candidate if round.id == self.id => self.lead(context),
            What::Candidate if round.id > self.id => {
                self.participates = true;
                self.pass(round, context);
            }
            What::Candidate if !self.participates => self.call(context),
            What::Candidate => {}
            // It has been around.
            What::Elected if round.id == self.id => {}
            What::Elected => {
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

    /// Nothing tells one leadership from another: there are no terms.
    fn leads(&self) -> Option<u64> {
        self.leads.then_some(0)
    }

    fn kind(message: &Message) -> &'static str {
        match message {
            Message::Round(_, Round { what: What::Candidate, .. }) => "candidate",
            Message::Round(_, Round { what: What::Elected, .. }) => "elected",
            Message::Acknowledgement(_) => "acknowledgement",
            Message::Heartbeat(_) => "heartbeat",
        }
    }
}

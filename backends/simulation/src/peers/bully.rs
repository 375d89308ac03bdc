//! Bully: the living node with the highest number leads.
//!
//! Hector Garcia-Molina, "Elections in a Distributed Computing System", IEEE Transactions on Computers C-31, 1982.
//!
//! A node that suspects the leader calls an election: it asks all higher nodes. If one of them answers, the caller
//! leaves the election to that one. If none answers in time, the caller leads, and tells all lower nodes. A node that
//! is asked answers, and calls an election itself. Silence counts as death, so two nodes lead once the network is split
//! or slow.
//!
//! [Heartbeats](Heartbeat) are added. Because of them a higher node also takes over from a lower leader once they hear
//! from each other again.

use std::time::Duration;

use super::Heartbeat;
use crate::chance::Chance;
use crate::{Context, Node, NodeId, Protocol, Senseless};

/// The algorithm with its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bully {
    /// How followers notice that the leader is dead.
    pub heartbeat: Heartbeat,
    /// How long a caller waits for answers: more than a round trip. After an answer it waits twice as long for the new
    /// leader.
    pub answer_within: Duration,
}

impl Protocol for Bully {
    type Node = BullyNode;

    fn check(&self, _candidates: usize) -> Result<(), Senseless> {
        self.heartbeat.check()?;
        Senseless::if_too_short("the time for an answer", self.answer_within)
    }

    fn nodes(&self, candidates: usize, _chance: &mut Chance) -> Vec<BullyNode> {
        (0..candidates).map(|_| BullyNode { rules: *self, role: Role::Follower(None) }).collect()
    }
}

/// A node of [`Bully`]. A higher number is stronger.
#[derive(Clone, Debug)]
pub struct BullyNode {
    rules: Bully,
    role: Role,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// A follower of this node, or of none yet.
    Follower(Option<NodeId>),
    /// A caller that has asked all higher nodes.
    Caller,
    /// A caller that was answered, and waits for a leader.
    Yielding,
    Coordinator,
}

/// The messages between nodes of [`Bully`].
#[derive(Clone, Copy, Debug)]
pub enum Message {
    /// To a higher node: are you there?
    Election,
    /// To a lower node: yes, leave it to me.
    Answer,
    /// To a lower node: I lead.
    Coordinator,
    /// To all: I still lead.
    Heartbeat,
}

/// The timers of a node of [`Bully`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// The wait for a sign of the leader, for answers, or for a new leader.
    Patience,
    /// The wait for the next heartbeat.
    Heartbeat,
}

type In<'a> = Context<'a, BullyNode>;

impl BullyNode {
    fn follow(&mut self, leader: Option<NodeId>, context: &mut In<'_>) {
        self.role = Role::Follower(leader);
        context.cancel(Timer::Heartbeat);
        context.set(Timer::Patience, self.rules.heartbeat.patience);
    }

    fn call(&mut self, context: &mut In<'_>) {
        self.role = Role::Caller;
        context.cancel(Timer::Heartbeat);
        let higher = context.me() + 1..context.candidates();
        if higher.is_empty() {
            self.lead(context);
            return;
        }
        context.send_all(higher, &Message::Election);
        context.set(Timer::Patience, self.rules.answer_within);
    }

    fn lead(&mut self, context: &mut In<'_>) {
        self.role = Role::Coordinator;
        context.cancel(Timer::Patience);
        context.send_all(0..context.me(), &Message::Coordinator);
        context.set(Timer::Heartbeat, self.rules.heartbeat.interval);
    }

    /// Handles the news that another node leads, or believes so.
    fn hear_of(&mut self, leader: NodeId, context: &mut In<'_>) {
        match self.role {
            _ if leader > context.me() => self.follow(Some(leader), context),
            Role::Follower(_) => self.call(context),
            // A lower leader will soon hear of this node.
            Role::Caller | Role::Yielding | Role::Coordinator => {}
        }
    }
}

impl Node for BullyNode {
    type Message = Message;
    type Timer = Timer;

    fn start(&mut self, context: &mut In<'_>) {
        self.follow(None, context);
    }

    /// A node that recovers calls an election, as in the paper.
    fn restart(&mut self, context: &mut In<'_>) {
        self.call(context);
    }

    fn receive(&mut self, from: NodeId, message: Message, context: &mut In<'_>) {
        match message {
            Message::Election => {
                context.send(from, Message::Answer);
                match self.role {
                    Role::Follower(_) => self.call(context),
                    Role::Coordinator => context.send(from, Message::Coordinator),
                    Role::Caller | Role::Yielding => {}
                }
            }
            Message::Answer if self.role == Role::Caller => {
                self.role = Role::Yielding;
                context.set(Timer::Patience, 2 * self.rules.answer_within);
            }
            Message::Answer => {}
            Message::Coordinator | Message::Heartbeat => self.hear_of(from, context),
        }
    }

    fn expire(&mut self, timer: Timer, context: &mut In<'_>) {
        match (timer, self.role) {
            (Timer::Heartbeat, Role::Coordinator) => {
                context.send_all(context.others(), &Message::Heartbeat);
                context.set(Timer::Heartbeat, self.rules.heartbeat.interval);
            }
            (Timer::Patience, Role::Caller) => self.lead(context),
            (Timer::Patience, Role::Follower(_) | Role::Yielding) => self.call(context),
            (Timer::Heartbeat, _) | (Timer::Patience, Role::Coordinator) => {}
        }
    }

    fn suspect(&mut self, context: &mut In<'_>) {
        if matches!(self.role, Role::Follower(_)) {
            self.call(context);
        }
    }

    /// There are no terms, so no number tells one leadership from another.
    fn leads(&self) -> Option<u64> {
        (self.role == Role::Coordinator).then_some(0)
    }

    fn kind(message: &Message) -> &'static str {
        match message {
            Message::Election => "election",
            Message::Answer => "answer",
            Message::Coordinator => "coordinator",
            Message::Heartbeat => "heartbeat",
        }
    }
}

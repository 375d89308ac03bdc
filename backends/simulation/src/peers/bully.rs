//! Bully: the highest that lives leads.
//!
//! Hector Garcia-Molina, "Elections in a Distributed Computing System", IEEE Transactions on Computers C-31, 1982.
//!
//! Who suspects the leader calls an election: it asks all that are higher. If one of them answers, it leaves the election
//! to that one; if none does in time, it leads, and says so to all that are lower. One that is asked answers, and calls an
//! election itself. It takes silence for death, so that two lead once the network is split, or slow.
//!
//! Added: [heartbeats](Heartbeat), which also make a higher node bully a lower leader once they hear of each other again.

use std::time::Duration;

use super::Heartbeat;
use crate::chance::Chance;
use crate::{Context, Node, NodeId, Protocol, Senseless};

/// The algorithm with its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bully {
    /// How followers notice that the leader is dead.
    pub heartbeat: Heartbeat,
    /// How long one that has asked waits for answers: more than a round trip. For the new leader it then waits twice as
    /// long.
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

/// A node of [`Bully`]: the higher its number, the stronger.
#[derive(Clone, Debug)]
pub struct BullyNode {
    rules: Bully,
    role: Role,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Follows this one, if any.
    Follower(Option<NodeId>),
    /// Has asked all that are higher.
    Caller,
    /// Was answered, and waits for a leader.
    Yielding,
    Coordinator,
}

/// What nodes of [`Bully`] send each other.
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

/// What nodes of [`Bully`] wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// For a sign of the leader, for answers, or for a new leader.
    Patience,
    /// For the time of the next heartbeat.
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

    /// Another one leads, or believes so.
    fn hear_of(&mut self, leader: NodeId, context: &mut In<'_>) {
        match self.role {
            _ if leader > context.me() => self.follow(Some(leader), context),
            Role::Follower(_) => self.call(context),
            // A lower leader hears of us soon.
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

    /// One that recovers calls an election, as in the paper.
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

    /// Nothing tells one leadership from another: there are no terms.
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

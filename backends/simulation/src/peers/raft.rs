//! Raft's leader election: the candidate with the votes of a majority leads for a term.
//!
//! Diego Ongaro and John Ousterhout, "In Search of an Understandable Consensus Algorithm", USENIX ATC 2014; Ongaro,
//! "Consensus: Bridging Theory and Practice", Stanford 2014 (the thesis: pre-vote 9.6, stickiness 4.2.3, check-quorum
//! 6.2).
//!
//! A follower that hears no leader for a random time becomes a candidate of the next term, and asks all members for
//! their vote. Each member votes once in a term, so no two lead in one term. A leader that is cut off leads on in its
//! own term until it hears of a later one. With check-quorum it also stops when it misses its quorum.
//!
//! There is no log, so each candidate is as up to date as its voters.

use super::elector::{Elector, RaftOptions};
pub use super::elector::{Message, Timer};
use crate::chance::Chance;
use crate::{Context, Node, NodeId, Protocol, Senseless};

/// The algorithm with its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raft(RaftOptions);

impl Raft {
    /// Returns Raft with these options.
    pub const fn new(options: RaftOptions) -> Self {
        Self(options)
    }
}

impl Protocol for Raft {
    type Node = RaftNode;

    fn check(&self, candidates: usize) -> Result<(), Senseless> {
        self.0.check()?;
        match self.0.priorities.as_ref().map(Vec::len) {
            Some(priorities) if priorities != candidates => {
                Err(Senseless::Priorities { priorities, candidates })
            }
            _ => Ok(()),
        }
    }

    fn nodes(&self, candidates: usize, _chance: &mut Chance) -> Vec<RaftNode> {
        let node = |id| RaftNode(Elector::new(self.0.clone(), id, 0..candidates));
        (0..candidates).map(node).collect()
    }
}

/// A node of [`Raft`].
#[derive(Clone, Debug)]
pub struct RaftNode(Elector);

type In<'a> = Context<'a, RaftNode>;

impl Node for RaftNode {
    type Message = Message;
    type Timer = Timer;

    fn start(&mut self, context: &mut In<'_>) {
        self.0.start(context);
    }

    fn restart(&mut self, context: &mut In<'_>) {
        self.0.restart(context);
    }

    fn receive(&mut self, from: NodeId, message: Message, context: &mut In<'_>) {
        self.0.receive(from, message, context);
    }

    fn expire(&mut self, timer: Timer, context: &mut In<'_>) {
        self.0.expire(timer, context);
    }

    /// Handles the end of its election timer.
    fn suspect(&mut self, context: &mut In<'_>) {
        self.0.suspect(context);
    }

    fn leads(&self) -> Option<u64> {
        self.0.leads()
    }

    fn kind(message: &Message) -> &'static str {
        match message {
            Message::RequestVote { pre: true, .. } => "pre-vote request",
            Message::RequestVote { pre: false, .. } => "vote request",
            Message::Vote { pre: true, .. } => "pre-vote",
            Message::Vote { pre: false, .. } => "vote",
            Message::AppendEntries { .. } => "heartbeat",
            Message::Appended { .. } => "heartbeat answer",
        }
    }
}

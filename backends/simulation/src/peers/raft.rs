//! Raft's leader election: who gets the votes of a majority leads for a term.
//!
//! Diego Ongaro and John Ousterhout, "In Search of an Understandable Consensus Algorithm", USENIX ATC 2014; Ongaro,
//! "Consensus: Bridging Theory and Practice", Stanford 2014 (the thesis: pre-vote 9.6, stickiness 4.2.3, check-quorum 6.2).
//!
//! A follower that hears no leader for a random time becomes a candidate of the next term, and asks all for their vote. Each
//! votes once in a term. So no two lead in one term; but one that is cut off leads on in its own until it hears of a later
//! one, or misses its quorum where it looks for that.
//!
//! There is no log: each candidate is as up to date as its voters.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::chance::Chance;
use crate::{Context, Node, NodeId, Protocol, Senseless};

/// How Raft is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RaftOptions {
    /// The least election time-out. Each is drawn anew, with each time from here to the most as likely.
    pub least_timeout: Duration,
    /// The greatest election time-out.
    pub most_timeout: Duration,
    /// How often a leader sends heartbeats: less than the least time-out.
    pub heartbeat: Duration,
    /// A candidate first asks whether it would get the votes, without a new term. Those say no who have heard from a leader
    /// within the least time-out.
    pub pre_vote: bool,
    /// Who has heard from a leader within the least time-out ignores requests for votes.
    pub stickiness: bool,
    /// A leader that has not heard from a majority within the least time-out steps down.
    pub check_quorum: bool,
    /// `NuRaft`'s priorities, one for each candidate; 0 never leads. A node stands and votes only where the priority is no
    /// less than its target, at first the greatest of all. The target decays by a fifth, and by 10 at least, with each
    /// time-out but the first without a leader. (`docs/leader_election_priority.md` and `raft_server` of eBay/NuRaft.)
    pub priorities: Option<Vec<u32>>,
}

impl RaftOptions {
    /// Plain Raft with these time-outs, and heartbeats at half of the least one, as in the thesis.
    pub fn with_timeout(least: Duration, most: Duration) -> Self {
        Self {
            least_timeout: least,
            most_timeout: most,
            heartbeat: least / 2,
            pre_vote: false,
            stickiness: false,
            check_quorum: false,
            priorities: None,
        }
    }
}

/// The algorithm with its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raft(RaftOptions);

impl Raft {
    /// Raft as it is set there.
    pub const fn new(options: RaftOptions) -> Self {
        Self(options)
    }
}

impl Protocol for Raft {
    type Node = RaftNode;

    fn check(&self, candidates: usize) -> Result<(), Senseless> {
        let RaftOptions { least_timeout, most_timeout, heartbeat, priorities, .. } = &self.0;
        if least_timeout > most_timeout {
            return Err(Senseless::Range { least: *least_timeout, most: *most_timeout });
        }
        Senseless::unless_shorter(
            ("the interval of heartbeats", *heartbeat),
            ("the least election time-out", *least_timeout),
        )?;
        match priorities.as_ref().map(Vec::len) {
            Some(priorities) if priorities != candidates => {
                Err(Senseless::Priorities { priorities, candidates })
            }
            _ => Ok(()),
        }
    }

    fn nodes(&self, candidates: usize, _chance: &mut Chance) -> Vec<RaftNode> {
        let priorities = self.0.priorities.as_deref().unwrap_or_default();
        let highest = priorities.iter().copied().max().unwrap_or(1).max(1);
        let node = |id| RaftNode {
            options: self.0.clone(),
            priority: priorities.get(id).copied().unwrap_or(highest),
            highest,
            term: 0,
            vote: None,
            role: Role::Follower,
            heard: None,
            target: highest,
            waited: false,
        };
        (0..candidates).map(node).collect()
    }
}

/// A node of [`Raft`].
#[derive(Clone, Debug)]
pub struct RaftNode {
    options: RaftOptions,
    priority: u32,
    /// The greatest priority of all.
    highest: u32,
    /// On disk.
    term: u64,
    /// Whom it votes for in this term. On disk.
    vote: Option<NodeId>,
    role: Role,
    /// When it last heard from the leader of its term.
    heard: Option<Duration>,
    target: u32,
    /// It has timed out since it last heard from a leader.
    waited: bool,
}

#[derive(Clone, Debug)]
enum Role {
    Follower,
    /// With those who would vote for it.
    PreCandidate(BTreeSet<NodeId>),
    /// With those who have voted for it.
    Candidate(BTreeSet<NodeId>),
    /// With when each node last answered; at first, when the term began.
    Leader(Vec<Duration>),
}

/// What nodes of [`Raft`] send each other.
#[derive(Clone, Copy, Debug)]
pub enum Message {
    /// Vote for me in this term; or would you?
    RequestVote {
        /// The term in question.
        term: u64,
        /// It is only asked whether the vote could be had.
        pre: bool,
        /// The candidate's.
        priority: u32,
    },
    /// An answer to that.
    Vote {
        /// The voter's.
        term: u64,
        /// It answers whether it would.
        pre: bool,
        /// Yes.
        granted: bool,
    },
    /// A heartbeat.
    AppendEntries {
        /// The leader's.
        term: u64,
    },
    /// An answer to that.
    Appended {
        /// The follower's.
        term: u64,
    },
}

/// What nodes of [`Raft`] wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// For a sign of a leader.
    Election,
    /// For the time of the next heartbeat.
    Heartbeat,
}

type In<'a> = Context<'a, RaftNode>;

impl RaftNode {
    fn majority(context: &In<'_>) -> usize {
        context.candidates() / 2 + 1
    }

    fn wait(&self, context: &mut In<'_>) {
        let (least, most) = (self.options.least_timeout, self.options.most_timeout);
        let timeout = context.chance().between(least, most);
        context.set(Timer::Election, timeout);
    }

    /// Steps down, into a later term if there is one.
    fn follow(&mut self, term: u64, context: &mut In<'_>) {
        if term > self.term {
            self.term = term;
            self.vote = None;
        }
        if matches!(self.role, Role::Leader(_)) {
            context.cancel(Timer::Heartbeat);
            self.wait(context);
        }
        self.role = Role::Follower;
        self.heard = None;
    }

    /// Whether a leader was there within the least time-out.
    fn is_led(&self, context: &In<'_>) -> bool {
        let heard = |at| context.now().saturating_sub(at) < self.options.least_timeout;
        matches!(self.role, Role::Leader(_)) || self.heard.is_some_and(heard)
    }

    fn time_out(&mut self, context: &mut In<'_>) {
        if self.waited {
            self.target = self.target.saturating_sub((self.target / 5).max(10)).max(1);
        }
        self.waited = true;
        self.wait(context);
        if self.priority < self.target {
            return;
        }
        if self.options.pre_vote {
            self.role = Role::PreCandidate(BTreeSet::new());
            self.ask(self.term + 1, true, context);
        } else {
            self.stand(context);
        }
    }

    /// Stands for the next term.
    fn stand(&mut self, context: &mut In<'_>) {
        self.term += 1;
        self.vote = Some(context.me());
        self.role = Role::Candidate(BTreeSet::new());
        self.heard = None;
        self.ask(self.term, false, context);
    }

    fn ask(&mut self, term: u64, pre: bool, context: &mut In<'_>) {
        let request = Message::RequestVote { term, pre, priority: self.priority };
        context.send_all(context.others(), &request);
        self.count(context.me(), pre, context);
    }

    /// Counts a vote for us.
    fn count(&mut self, voter: NodeId, pre: bool, context: &mut In<'_>) {
        match (&mut self.role, pre) {
            (Role::PreCandidate(voters), true) => {
                voters.insert(voter);
                if voters.len() >= Self::majority(context) {
                    self.wait(context);
                    self.stand(context);
                }
            }
            (Role::Candidate(voters), false) => {
                voters.insert(voter);
                if voters.len() >= Self::majority(context) {
                    self.lead(context);
                }
            }
            _ => {}
        }
    }

    fn lead(&mut self, context: &mut In<'_>) {
        self.role = Role::Leader(vec![context.now(); context.candidates()]);
        self.target = self.highest;
        self.waited = false;
        context.cancel(Timer::Election);
        self.beat(context);
    }

    /// Sends heartbeats, unless it misses its quorum.
    fn beat(&mut self, context: &mut In<'_>) {
        let Role::Leader(answered) = &mut self.role else { return };
        let now = context.now();
        answered[context.me()] = now;
        let lately = |at: &&Duration| now.saturating_sub(**at) < self.options.least_timeout;
        let reached = answered.iter().filter(lately).count();
        if self.options.check_quorum && reached < Self::majority(context) {
            self.follow(self.term, context);
            return;
        }
        context.send_all(context.others(), &Message::AppendEntries { term: self.term });
        context.set(Timer::Heartbeat, self.options.heartbeat);
    }

    fn vote(&mut self, from: NodeId, term: u64, priority: u32, context: &mut In<'_>) {
        if self.options.stickiness && self.is_led(context) {
            return;
        }
        if term > self.term {
            self.follow(term, context);
        }
        let is_free = self.vote.is_none_or(|vote| vote == from);
        let granted = term == self.term && is_free && priority >= self.target;
        if granted {
            self.vote = Some(from);
            self.wait(context);
        }
        context.send(from, Message::Vote { term: self.term, pre: false, granted });
    }

    fn hear_leader(&mut self, from: NodeId, term: u64, context: &mut In<'_>) {
        if term >= self.term {
            self.follow(term, context);
            self.heard = Some(context.now());
            self.target = self.highest;
            self.waited = false;
            self.wait(context);
        }
        context.send(from, Message::Appended { term: self.term });
    }
}

impl Node for RaftNode {
    type Message = Message;
    type Timer = Timer;

    fn start(&mut self, context: &mut In<'_>) {
        self.wait(context);
    }

    fn restart(&mut self, context: &mut In<'_>) {
        self.role = Role::Follower;
        self.heard = None;
        self.target = self.highest;
        self.waited = false;
        self.wait(context);
    }

    fn receive(&mut self, from: NodeId, message: Message, context: &mut In<'_>) {
        match message {
            Message::RequestVote { term, pre: true, priority } => {
                let granted = term > self.term && !self.is_led(context) && priority >= self.target;
                context.send(from, Message::Vote { term: self.term, pre: true, granted });
            }
            Message::RequestVote { term, pre: false, priority } => {
                self.vote(from, term, priority, context);
            }
            Message::AppendEntries { term } => self.hear_leader(from, term, context),
            Message::Vote { term, .. } | Message::Appended { term } if term > self.term => {
                self.follow(term, context);
            }
            // A vote counts for the term that it was asked for.
            Message::Vote { term, pre, granted: true } if pre || term == self.term => {
                self.count(from, pre, context);
            }
            Message::Vote { .. } => {}
            Message::Appended { term } => {
                if let (Role::Leader(answered), true) = (&mut self.role, term == self.term) {
                    answered[from] = context.now();
                }
            }
        }
    }

    fn expire(&mut self, timer: Timer, context: &mut In<'_>) {
        match timer {
            Timer::Election => self.time_out(context),
            Timer::Heartbeat => self.beat(context),
        }
    }

    /// Its election timer runs out.
    fn suspect(&mut self, context: &mut In<'_>) {
        if !matches!(self.role, Role::Leader(_)) {
            self.time_out(context);
        }
    }

    fn leads(&self) -> Option<u64> {
        matches!(self.role, Role::Leader(_)).then_some(self.term)
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

//! One of a group that elects its leader by [Raft](super::raft): the rules, whatever the node is in which it stands.
//!
//! It acts on the world through a [`Host`], as a candidate of an election or as a member of a store does. A leader numbers
//! its heartbeats. Once a majority has answered one of a number or of a later one, no other had begun to lead in a later
//! term with the votes of these when they answered: that confirms the leader from when it sent that number on.

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;

use crate::{Host, NodeId, Senseless};

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

    /// Refuses times that make no sense.
    pub(crate) fn check(&self) -> Result<(), Senseless> {
        let Self { least_timeout, most_timeout, heartbeat, .. } = self;
        if least_timeout > most_timeout {
            return Err(Senseless::Range { least: *least_timeout, most: *most_timeout });
        }
        Senseless::unless_shorter(
            ("the interval of heartbeats", *heartbeat),
            ("the least election time-out", *least_timeout),
        )
    }
}

/// What those of a group send each other.
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
        /// The heartbeat's number: each is greater than those before.
        round: u64,
    },
    /// An answer to that.
    Appended {
        /// The follower's.
        term: u64,
        /// That of the heartbeat.
        round: u64,
    },
}

/// What those of a group wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// For a sign of a leader.
    Election,
    /// For the time of the next heartbeat.
    Heartbeat,
}

/// One of a group.
#[derive(Clone, Debug)]
pub(crate) struct Elector {
    options: RaftOptions,
    me: NodeId,
    group: Range<NodeId>,
    priority: u32,
    /// The greatest priority of all.
    highest: u32,
    /// On disk.
    term: u64,
    /// Whom it votes for in this term. On disk.
    vote: Option<NodeId>,
    role: Role,
    /// The leader of its term, and when it last heard from it.
    heard: Option<(NodeId, Duration)>,
    target: u32,
    /// It has timed out since it last heard from a leader.
    waited: bool,
    /// The number of its last heartbeat.
    round: u64,
}

#[derive(Clone, Debug)]
enum Role {
    Follower,
    /// With those who would vote for it.
    PreCandidate(BTreeSet<NodeId>),
    /// With those who have voted for it.
    Candidate(BTreeSet<NodeId>),
    /// With what each of the group last answered.
    Leader(Vec<Answer>),
}

/// At first, when the term began, and no heartbeat.
#[derive(Clone, Copy, Debug)]
struct Answer {
    at: Duration,
    round: u64,
}

type Out<'a> = dyn Host<Message, Timer> + 'a;

impl Elector {
    /// One of a group that has no leader yet.
    pub(crate) fn new(options: RaftOptions, me: NodeId, group: Range<NodeId>) -> Self {
        let priorities = options.priorities.as_deref().unwrap_or_default();
        let highest = priorities.iter().copied().max().unwrap_or(1).max(1);
        Self {
            priority: priorities.get(me - group.start).copied().unwrap_or(highest),
            options,
            me,
            group,
            highest,
            term: 0,
            vote: None,
            role: Role::Follower,
            heard: None,
            target: highest,
            waited: false,
            round: 0,
        }
    }

    /// The same in a group that its first one leads already, in term 1.
    pub(crate) fn led_by_first(mut self) -> Self {
        let first = self.group.start;
        (self.term, self.vote) = (1, Some(first));
        if self.me == first {
            self.role = self.leader_from(Duration::ZERO);
        } else {
            self.heard = Some((first, Duration::ZERO));
        }
        self
    }

    pub(crate) const fn me(&self) -> NodeId {
        self.me
    }

    pub(crate) fn is_alone(&self) -> bool {
        self.group.len() == 1
    }

    /// The term in which it leads, as it believes.
    pub(crate) fn leads(&self) -> Option<u64> {
        matches!(self.role, Role::Leader(_)).then_some(self.term)
    }

    /// Whom it follows, if it does.
    pub(crate) fn leader(&self) -> Option<NodeId> {
        let (leader, _) = self.heard?;
        matches!(self.role, Role::Follower).then_some(leader)
    }

    /// Sends a heartbeat beside the regular ones, and gives its number.
    pub(crate) fn probe(&mut self, host: &mut Out<'_>) -> u64 {
        self.round += 1;
        let heartbeat = Message::AppendEntries { term: self.term, round: self.round };
        self.send_all(heartbeat, host);
        self.round
    }

    /// The number of its last heartbeat.
    pub(crate) const fn round(&self) -> u64 {
        self.round
    }

    /// The number of the last heartbeat that a majority has answered, itself included; `None` if it does not lead.
    pub(crate) fn confirmed(&self) -> Option<u64> {
        let Role::Leader(answers) = &self.role else { return None };
        let mut rounds: Vec<u64> = answers.iter().map(|answer| answer.round).collect();
        rounds[self.me - self.group.start] = self.round;
        rounds.sort_unstable();
        Some(rounds[rounds.len() - self.majority()])
    }

    pub(crate) fn start(&mut self, host: &mut Out<'_>) {
        match self.role {
            Role::Leader(_) => self.beat(host),
            _ => self.wait(host),
        }
    }

    pub(crate) fn restart(&mut self, host: &mut Out<'_>) {
        self.role = Role::Follower;
        self.heard = None;
        self.target = self.highest;
        self.waited = false;
        self.wait(host);
    }

    pub(crate) fn receive(&mut self, from: NodeId, message: Message, host: &mut Out<'_>) {
        match message {
            Message::RequestVote { term, pre: true, priority } => {
                let granted = term > self.term && !self.is_led(host) && priority >= self.target;
                host.send(from, Message::Vote { term: self.term, pre: true, granted });
            }
            Message::RequestVote { term, pre: false, priority } => {
                self.vote(from, term, priority, host);
            }
            Message::AppendEntries { term, round } => self.hear_leader(from, term, round, host),
            Message::Vote { term, .. } | Message::Appended { term, .. } if term > self.term => {
                self.follow(term, host);
            }
            // A vote counts for the term that it was asked for.
            Message::Vote { term, pre, granted: true } if pre || term == self.term => {
                self.count(from, pre, host);
            }
            Message::Vote { .. } => {}
            Message::Appended { term, round } => {
                if let (Role::Leader(answers), true) = (&mut self.role, term == self.term) {
                    answers[from - self.group.start] = Answer { at: host.now(), round };
                }
            }
        }
    }

    pub(crate) fn expire(&mut self, timer: Timer, host: &mut Out<'_>) {
        match timer {
            Timer::Election => self.time_out(host),
            Timer::Heartbeat => self.beat(host),
        }
    }

    /// Its election timer runs out.
    pub(crate) fn suspect(&mut self, host: &mut Out<'_>) {
        if !matches!(self.role, Role::Leader(_)) {
            self.time_out(host);
        }
    }

    /// Stands for the next term.
    pub(crate) fn stand(&mut self, host: &mut Out<'_>) {
        self.term += 1;
        self.vote = Some(self.me);
        self.role = Role::Candidate(BTreeSet::new());
        self.heard = None;
        self.ask(self.term, false, host);
    }

    fn majority(&self) -> usize {
        self.group.len() / 2 + 1
    }

    fn send_all(&self, message: Message, host: &mut Out<'_>) {
        for other in self.group.clone().filter(|other| *other != self.me) {
            host.send(other, message);
        }
    }

    fn wait(&self, host: &mut Out<'_>) {
        let (least, most) = (self.options.least_timeout, self.options.most_timeout);
        let timeout = host.chance().between(least, most);
        host.set(Timer::Election, timeout);
    }

    /// Steps down, into a later term if there is one.
    fn follow(&mut self, term: u64, host: &mut Out<'_>) {
        if term > self.term {
            self.term = term;
            self.vote = None;
        }
        if matches!(self.role, Role::Leader(_)) {
            host.cancel(Timer::Heartbeat);
            self.wait(host);
        }
        self.role = Role::Follower;
        self.heard = None;
    }

    /// Whether a leader was there within the least time-out.
    fn is_led(&self, host: &Out<'_>) -> bool {
        let lately = |(_, at)| host.now().saturating_sub(at) < self.options.least_timeout;
        matches!(self.role, Role::Leader(_)) || self.heard.is_some_and(lately)
    }

    fn time_out(&mut self, host: &mut Out<'_>) {
        if self.waited {
            self.target = self.target.saturating_sub((self.target / 5).max(10)).max(1);
        }
        self.waited = true;
        self.wait(host);
        if self.priority < self.target {
            return;
        }
        if self.options.pre_vote {
            self.role = Role::PreCandidate(BTreeSet::new());
            self.ask(self.term + 1, true, host);
        } else {
            self.stand(host);
        }
    }

    fn ask(&mut self, term: u64, pre: bool, host: &mut Out<'_>) {
        self.send_all(Message::RequestVote { term, pre, priority: self.priority }, host);
        self.count(self.me, pre, host);
    }

    /// Counts a vote for us.
    fn count(&mut self, voter: NodeId, pre: bool, host: &mut Out<'_>) {
        let majority = self.majority();
        match (&mut self.role, pre) {
            (Role::PreCandidate(voters), true) => {
                voters.insert(voter);
                if voters.len() >= majority {
                    self.wait(host);
                    self.stand(host);
                }
            }
            (Role::Candidate(voters), false) => {
                voters.insert(voter);
                if voters.len() >= majority {
                    self.lead(host);
                }
            }
            _ => {}
        }
    }

    fn leader_from(&self, now: Duration) -> Role {
        Role::Leader(vec![Answer { at: now, round: 0 }; self.group.len()])
    }

    fn lead(&mut self, host: &mut Out<'_>) {
        self.role = self.leader_from(host.now());
        self.target = self.highest;
        self.waited = false;
        host.cancel(Timer::Election);
        self.beat(host);
    }

    /// Sends heartbeats, unless it misses its quorum.
    fn beat(&mut self, host: &mut Out<'_>) {
        let majority = self.majority();
        let Role::Leader(answers) = &mut self.role else { return };
        let now = host.now();
        answers[self.me - self.group.start].at = now;
        let lately = |answer: &&Answer| now.saturating_sub(answer.at) < self.options.least_timeout;
        let reached = answers.iter().filter(lately).count();
        if self.options.check_quorum && reached < majority {
            self.follow(self.term, host);
            return;
        }
        self.probe(host);
        host.set(Timer::Heartbeat, self.options.heartbeat);
    }

    fn vote(&mut self, from: NodeId, term: u64, priority: u32, host: &mut Out<'_>) {
        if self.options.stickiness && self.is_led(host) {
            return;
        }
        if term > self.term {
            self.follow(term, host);
        }
        let is_free = self.vote.is_none_or(|vote| vote == from);
        let granted = term == self.term && is_free && priority >= self.target;
        if granted {
            self.vote = Some(from);
            self.wait(host);
        }
        host.send(from, Message::Vote { term: self.term, pre: false, granted });
    }

    fn hear_leader(&mut self, from: NodeId, term: u64, round: u64, host: &mut Out<'_>) {
        if term >= self.term {
            self.follow(term, host);
            self.heard = Some((from, host.now()));
            self.target = self.highest;
            self.waited = false;
            self.wait(host);
        }
        host.send(from, Message::Appended { term: self.term, round });
    }
}

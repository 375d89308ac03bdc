//! One member of a group that elects its leader by [Raft](super::raft): the rules, whatever kind of node it belongs to.
//!
//! It acts on the world through a [`Host`], both for candidates of an election and for members of a store.
//!
//! A leader numbers its heartbeats. A number is confirmed once a majority has answered it or a later one. When these
//! members answered, none had begun to lead in a later term with their votes. So a confirmed number proves that the
//! leader still led when it sent that heartbeat.

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;

use crate::{Host, NodeId, Senseless};

/// The settings of Raft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RaftOptions {
    /// The least election time-out. Each time-out is drawn anew, and uniformly, from here to the greatest.
    pub least_timeout: Duration,
    /// The greatest election time-out.
    pub most_timeout: Duration,
    /// The interval of a leader's heartbeats, which is less than the least time-out.
    pub heartbeat: Duration,
    /// Whether a candidate first asks if it would get the votes, without a new term. A member that has heard from a
    /// leader within the least time-out says no.
    pub pre_vote: bool,
    /// Whether a member that has heard from a leader within the least time-out ignores requests for votes.
    pub stickiness: bool,
    /// Whether a leader that has not heard from a majority within the least time-out steps down.
    pub check_quorum: bool,
    /// `NuRaft`'s priorities, one for each candidate. A candidate with priority 0 never leads. A node stands only if
    /// its own priority is at least its target, and votes only for a candidate whose priority is. The target starts at
    /// the greatest priority. Each time-out without a leader, except the first, lowers it by a fifth, and by 10 at
    /// least. (`docs/leader_election_priority.md` and `raft_server` of eBay/NuRaft.)
    pub priorities: Option<Vec<u32>>,
}

impl RaftOptions {
    /// Returns plain Raft with these time-outs. Heartbeats come at half of the least time-out, as in the thesis.
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

    /// Returns an error for times that make no sense.
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

/// The messages between members of a group.
#[derive(Clone, Copy, Debug)]
pub enum Message {
    /// A request for a vote, or the question whether it would be granted.
    RequestVote {
        /// The term of the vote.
        term: u64,
        /// Whether it is only the question.
        pre: bool,
        /// The candidate's priority.
        priority: u32,
    },
    /// An answer to that request.
    Vote {
        /// The voter's term.
        term: u64,
        /// Whether it answers only the question.
        pre: bool,
        /// Whether the vote is granted.
        granted: bool,
    },
    /// A heartbeat.
    AppendEntries {
        /// The leader's term.
        term: u64,
        /// The heartbeat's number, which is greater than all before.
        round: u64,
    },
    /// An answer to a heartbeat.
    Appended {
        /// The follower's term.
        term: u64,
        /// The heartbeat's number.
        round: u64,
    },
}

/// The timers of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// The wait for a sign of a leader.
    Election,
    /// The wait for the next heartbeat.
    Heartbeat,
}

/// One member of a group.
#[derive(Clone, Debug)]
pub(crate) struct Elector {
    options: RaftOptions,
    me: NodeId,
    group: Range<NodeId>,
    priority: u32,
    /// The greatest priority of all.
    highest: u32,
    /// The current term, kept on disk.
    term: u64,
    /// The member that it votes for in this term, kept on disk.
    vote: Option<NodeId>,
    role: Role,
    /// The leader of its term, and the time of that leader's last heartbeat.
    heard: Option<(NodeId, Duration)>,
    target: u32,
    /// Whether it has timed out since it last heard from a leader.
    waited: bool,
    /// The number of its last heartbeat.
    round: u64,
}

#[derive(Clone, Debug)]
enum Role {
    Follower,
    /// The members that would vote for it.
    PreCandidate(BTreeSet<NodeId>),
    /// The members that have voted for it.
    Candidate(BTreeSet<NodeId>),
    /// The last answer of each member.
    Leader(Vec<Answer>),
}

/// The last answer of a member. At first it is the start of the term, and no heartbeat.
#[derive(Clone, Copy, Debug)]
struct Answer {
    at: Duration,
    round: u64,
}

type Out<'a> = dyn Host<Message, Timer> + 'a;

impl Elector {
    /// Creates a member of a group that has no leader yet.
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

    /// Returns the same member in a group whose first member already leads, in term 1.
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

    /// Returns the term in which it believes that it leads.
    pub(crate) fn leads(&self) -> Option<u64> {
        matches!(self.role, Role::Leader(_)).then_some(self.term)
    }

    /// Returns the leader that it follows, if any.
    pub(crate) fn leader(&self) -> Option<NodeId> {
        let (leader, _) = self.heard?;
        matches!(self.role, Role::Follower).then_some(leader)
    }

    /// Sends a heartbeat beside the regular ones, and returns its number.
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

    /// Returns the number of the last heartbeat that a majority has answered, itself included. `None` if it does not
    /// lead.
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
            // A vote counts only for the term that it was asked for.
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

    /// Handles the end of its election timer.
    pub(crate) fn suspect(&mut self, host: &mut Out<'_>) {
        if !matches!(self.role, Role::Leader(_)) {
            self.time_out(host);
        }
    }

    /// Stands as a candidate for the next term.
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

    /// Becomes a follower, in a later term if there is one.
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

    /// Returns whether there was a leader within the least time-out.
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

    /// Counts a vote for this member.
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

    /// Sends heartbeats, unless its quorum is missing.
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

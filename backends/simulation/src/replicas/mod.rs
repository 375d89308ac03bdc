//! A store of several members that copy each other: which of them leads, and which clients it can serve.
//!
//! A store is a [`State`] that answers requests. Its [members](Member) are nodes of the world behind the candidates.
//! They elect a leader by [Raft](crate::peers::raft), with pre-vote and check-quorum, as etcd does:
//!
//! - A client asks any member. A follower passes the request on to the leader that it knows, and the answer comes back
//!   the same way. A member without a leader does not answer, so the client has to time out and ask another one.
//! - The leader sends a heartbeat when a request arrives. Once a majority has answered it, the state takes the request
//!   by the leader's clock. So a leader without a majority takes none.
//! - Changes of the state by itself, such as the end of a lease, need a majority in the same way.
//! - A new leader first has a majority answer its heartbeat. With that its term [begins](State::begin_term), and it
//!   serves.
//! - Messages to other clients, such as the event of a watch, go by the member that such a client asked last.
//! - A single member leads without an election. After a restart it begins a term.
//!
//! When a run starts, the first member leads in term 1.
//!
//! # Why one state will do
//!
//! All members of a run share one committed state, instead of a log each.
//!
//! - A request is taken in term T only after a majority has answered in T since it arrived. In Raft it would be in the
//!   log of this majority by then. A leader of a later term has the vote of one of them, given after its answer. So
//!   that leader has all that was taken in T (Raft's leader completeness). The shared state contains no more than that.
//! - Answers may still be under way to a leader when a later term begins. So the state records the last term that has
//!   begun, and takes nothing more of an earlier one. Otherwise it would mix the times of two clocks.
//! - A read is a request like any other. What it returns was there after the reader asked, and no later term had begun.
//!
//! Each request happens at once in that order, between its question and its answer: the store is linearizable.
//!
//! Work that is under way when a leader dies is left out. Such a request is lost as a whole. In a real store the next
//! leader may still take it, without an answer. Clients here meet that case if the answer is lost. A lost event of a
//! watch does not come again.

mod member;

use std::cell::RefCell;
use std::fmt::Debug;
use std::rc::Rc;
use std::time::Duration;

use self::member::Committed;
pub use self::member::Member;
use crate::peers::RaftOptions;
use crate::peers::elector;
use crate::{NodeId, Senseless};

/// The greatest number of members. No real store has more.
const MOST_MEMBERS: usize = 99;

/// The contents of a store, whatever its members are. All times are by the clock of the leading member.
pub trait State: Clone + Debug {
    /// A client's request.
    type Ask: Clone + Debug;
    /// A message to a client: an answer, or an event of a watch. An answer says which request it belongs to.
    type Reply: Clone + Debug;

    /// Takes a request, and returns the messages to clients. Everything due was done by [`advance`](Self::advance)
    /// before.
    fn apply(
        &mut self,
        now: Duration,
        client: NodeId,
        ask: &Self::Ask,
    ) -> Vec<(NodeId, Self::Reply)>;

    /// Returns when it next changes by itself. After [`advance`](Self::advance) that is later than its `now`.
    fn next_end(&self) -> Option<Duration>;

    /// Does all that is due by now, such as the end of leases, and returns the messages to clients.
    fn advance(&mut self, now: Duration) -> Vec<(NodeId, Self::Reply)>;

    /// Handles a new term, whether of another leader or of the same one. The leader's clock shows `now`. Times by
    /// another clock mean nothing to it, so each lease has its whole length again.
    fn begin_term(&mut self, now: Duration);

    /// Returns the kind that a request counts as.
    fn ask_kind(ask: &Self::Ask) -> &'static str;

    /// Returns the kind that an answer or an event counts as.
    fn reply_kind(reply: &Self::Reply) -> &'static str;
}

/// The number of a store's members, and the times of their elections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replicas {
    /// The number of members, from 1 to 99.
    pub members: usize,
    /// The least election time-out. A follower stands after a silence of this time up to twice that, drawn anew each
    /// time. A leader that does not hear from a majority for this time steps down.
    pub election_timeout: Duration,
    /// The interval of the leader's heartbeats, which is less than the time-out.
    pub heartbeat: Duration,
}

impl Replicas {
    /// Returns etcd's defaults: a time-out of 1 s, and heartbeats after 100 ms.
    pub const fn of(members: usize) -> Self {
        let (election_timeout, heartbeat) = (Duration::from_secs(1), Duration::from_millis(100));
        Self { members, election_timeout, heartbeat }
    }

    fn raft(&self) -> RaftOptions {
        let timeout = self.election_timeout;
        RaftOptions {
            heartbeat: self.heartbeat,
            pre_vote: true,
            stickiness: true,
            check_quorum: true,
            ..RaftOptions::with_timeout(timeout, timeout.saturating_mul(2))
        }
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// [`Senseless::Members`] without a member, or with too many. [`Senseless::TooLong`] and [`Senseless::TooShort`]
    /// for a heartbeat that does not fit the time-out.
    pub fn check(&self) -> Result<(), Senseless> {
        if !(1..=MOST_MEMBERS).contains(&self.members) {
            return Err(Senseless::Members { members: self.members, most: MOST_MEMBERS });
        }
        self.raft().check()
    }

    /// Creates the members of a store with this state. They are the nodes from `first` on, which is the number of
    /// candidates.
    pub fn nodes<S: State>(&self, first: NodeId, state: S) -> Vec<Member<S>> {
        let committed = Rc::new(RefCell::new(Committed::new(state)));
        let group = first..first + self.members;
        let raft = self.raft();
        let elector = |id| elector::Elector::new(raft.clone(), id, group.clone()).led_by_first();
        group.clone().map(|id| Member::new(elector(id), Rc::clone(&committed))).collect()
    }
}

/// The messages of clients and members.
#[derive(Clone, Debug)]
pub enum Message<S: State> {
    /// A client's request.
    Ask(S::Ask),
    /// The request of this client, which a member passes on.
    Forward(NodeId, S::Ask),
    /// The leader's message for that client, which a member passes on.
    Back(NodeId, S::Reply),
    /// A message to a client.
    Reply(S::Reply),
    /// A message of an election among members, or one by which the leader makes sure that it still leads.
    Election(elector::Message),
}

/// The [kinds](Message::kind) of messages between members. A client sees one store, and none of these.
pub const WITHIN: [&str; 3] = [PASSED_ON, HEARTBEAT, ELECTION];

const PASSED_ON: &str = "passed on by a member";
const HEARTBEAT: &str = "members' heartbeat";
const ELECTION: &str = "members' election";

impl<S: State> Message<S> {
    /// Returns the kind that it counts as.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Ask(ask) => S::ask_kind(ask),
            Self::Reply(reply) => S::reply_kind(reply),
            Self::Forward(..) | Self::Back(..) => PASSED_ON,
            Self::Election(
                elector::Message::AppendEntries { .. } | elector::Message::Appended { .. },
            ) => HEARTBEAT,
            Self::Election(_) => ELECTION,
        }
    }
}

/// The timers of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// A timer of elections and heartbeats.
    Election(elector::Timer),
    /// The next change of the state by itself.
    End,
}

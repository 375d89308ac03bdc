//! A store of several members that copy each other: which of them leads, whom it can serve, and what that needs.
//!
//! A store is a [`State`] that answers requests. Its [members](Member) are nodes of the world behind the candidates. They
//! elect a leader by [Raft](crate::peers::raft), with pre-vote and check-quorum, as etcd does:
//!
//! - A client asks any member. A follower passes that on to the leader that it knows, and the answer comes back the same
//!   way. A member without a leader says nothing: the client has to time out and to ask another one.
//! - The leader sends a heartbeat when a request comes. Once a majority has answered that one, the state takes the request
//!   by the leader's clock. So a leader without a majority takes none.
//! - What the state does by itself, such as the end of a lease, needs a majority in the same way.
//! - A new leader first has a majority answer its heartbeat. With that its term [begins](State::begin_term), and it serves.
//! - What other clients hear of, such as the event of a watch, goes by the member which that client was the last to ask.
//! - One member alone leads without an election. After a restart it begins a term.
//!
//! When a run starts, the first member leads in term 1.
//!
//! # Why one state will do
//!
//! All members of a run share one committed state, instead of a log each.
//!
//! - A request is taken in term T only after a majority has answered in T since the request came. In Raft it would be in
//!   the log of this majority by then. A leader of a later term has the vote of one of them, given after its answer. So
//!   that leader has all that was taken in T (Raft's leader completeness): what it finds in the shared state is no more.
//! - Answers may still be under way to a leader when a later term begins. So the state knows the term that was the last to
//!   begin, and takes nothing more of a lesser one. Without that, time by two clocks would be mixed.
//! - Reading is a request like others: what is read was there after the reader asked, and no later term had begun.
//!
//! In that order, and between its question and its answer, each request happens at once: the store is linearizable.
//!
//! It leaves out what is under way when a leader dies. There a request is lost as a whole, while a real one may still be
//! taken by the next leader, without an answer. Clients here meet that case if the answer is lost. An event of a watch
//! that is lost does not come again.

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

/// The most members of a store: more than that, nobody has.
const MOST_MEMBERS: usize = 99;

/// What a store does, whatever its members are. Time is the clock of the member that leads.
pub trait State: Clone + Debug {
    /// What clients ask.
    type Ask: Clone + Debug;
    /// What they are told: answers, and events of what they watch. Which question an answer belongs to is said in it.
    type Reply: Clone + Debug;

    /// Takes a request, and says what goes to which clients. What was due has [settled](Self::settle) before.
    fn apply(
        &mut self,
        now: Duration,
        client: NodeId,
        ask: &Self::Ask,
    ) -> Vec<(NodeId, Self::Reply)>;

    /// When it changes by itself the next time. After [`settle`](Self::settle) that is later than the `now` of it.
    fn next_end(&self) -> Option<Duration>;

    /// Does what is due by now, such as the end of leases, and says what clients hear of it.
    fn settle(&mut self, now: Duration) -> Vec<(NodeId, Self::Reply)>;

    /// Another member leads now, or the same one again. Its clock shows `now`, and what was measured by another one means
    /// nothing to it: a lease has its whole time before it again.
    fn begin_term(&mut self, now: Duration);

    /// What to count a request as.
    fn ask_kind(ask: &Self::Ask) -> &'static str;

    /// What to count an answer or an event as.
    fn reply_kind(reply: &Self::Reply) -> &'static str;
}

/// How many members a store has, and how they elect their leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replicas {
    /// From 1 to 99.
    pub members: usize,
    /// A follower that hears nothing for this time up to twice that, drawn anew each time, stands. A leader that does not hear
    /// from a majority for this time steps down.
    pub election_timeout: Duration,
    /// How often the leader sends heartbeats: less than the time-out.
    pub heartbeat: Duration,
}

impl Replicas {
    /// As etcd is set unless told otherwise: a time-out of 1 s, and heartbeats after 100 ms.
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

    /// Refuses what makes no sense.
    ///
    /// # Errors
    /// [`Senseless::Members`] without a member, or with too many. [`Senseless::TooLong`] and [`Senseless::TooShort`] for a
    /// heartbeat that does not fit the time-out.
    pub fn check(&self) -> Result<(), Senseless> {
        if !(1..=MOST_MEMBERS).contains(&self.members) {
            return Err(Senseless::Members { members: self.members, most: MOST_MEMBERS });
        }
        self.raft().check()
    }

    /// The members of a store that has this state now. They are the nodes from `first` on, which is the number of candidates.
    pub fn nodes<S: State>(&self, first: NodeId, state: S) -> Vec<Member<S>> {
        let committed = Rc::new(RefCell::new(Committed::new(state)));
        let group = first..first + self.members;
        let raft = self.raft();
        let elector = |id| elector::Elector::new(raft.clone(), id, group.clone()).led_by_first();
        group.clone().map(|id| Member::new(elector(id), Rc::clone(&committed))).collect()
    }
}

/// What clients and members send each other.
#[derive(Clone, Debug)]
pub enum Message<S: State> {
    /// A client asks.
    Ask(S::Ask),
    /// A member passes on what this client asks.
    Forward(NodeId, S::Ask),
    /// The leader has this for that client, which a member passes on.
    Back(NodeId, S::Reply),
    /// What a client hears.
    Reply(S::Reply),
    /// Members elect their leader, and the leader makes sure that it still is it.
    Election(elector::Message),
}

/// What [`Message::kind`] says of what members send each other. Who uses a store sees one, and none of that.
pub const WITHIN: [&str; 3] = [PASSED_ON, HEARTBEAT, ELECTION];

const PASSED_ON: &str = "passed on by a member";
const HEARTBEAT: &str = "members' heartbeat";
const ELECTION: &str = "members' election";

impl<S: State> Message<S> {
    /// What to count it as.
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

/// What members wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// For a leader, or the time of the next heartbeat.
    Election(elector::Timer),
    /// For what the state does by itself.
    End,
}

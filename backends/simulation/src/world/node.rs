//! What takes part: a state that reacts to messages and timers.

use std::fmt::Debug;
use std::time::Duration;

use super::script::{Blow, Process};
use super::stage::Stage;
use crate::chance::Chance;

/// A node, counted from 0. Candidates come first, then what else an election needs, such as its store.
pub type NodeId = usize;

/// A node of a simulated election. It does no I/O and reads no clock: all that it does to the world it does through
/// [`Context`], while it reacts. Reactions take no time.
pub trait Node: Sized {
    /// What nodes send each other.
    type Message: Clone + Debug;
    /// What a node sets timers for: one timer for each value.
    type Timer: Copy + PartialEq + Debug;

    /// Starts, at the beginning of the run.
    fn start(&mut self, context: &mut Context<'_, Self>);

    /// Starts again after a kill: whatever it had not on disk is gone.
    fn restart(&mut self, context: &mut Context<'_, Self>);

    /// A message has come.
    fn receive(&mut self, from: NodeId, message: Self::Message, context: &mut Context<'_, Self>);

    /// A timer has run out.
    fn expire(&mut self, timer: Self::Timer, context: &mut Context<'_, Self>);

    /// Is made to doubt that the leader lives. By itself a node comes to that when it has heard nothing for too long.
    fn suspect(&mut self, context: &mut Context<'_, Self>);

    /// Whether it believes that it leads. The number is that by which others can tell this leadership from an earlier one,
    /// a term for example; 0 where the algorithm has none.
    fn leads(&self) -> Option<u64>;

    /// Whether it serves as the leader of a store's members, as it believes. The number is as that of
    /// [`leads`](Self::leads), of which this is apart: a store that has a leader is no election that has one.
    fn serves(&self) -> Option<u64> {
        None
    }

    /// Something happens to some of its processes. `false` says that it is one process: then the world kills or pauses the
    /// node as a whole. One that answers `true` sees itself to what becomes of each process, until it [restarts](Self::restart)
    /// because its machine was killed.
    fn strike(&mut self, _blow: Blow, _process: Process, _context: &mut Context<'_, Self>) -> bool {
        false
    }

    /// What to count a message as: its name in the paper.
    fn kind(message: &Self::Message) -> &'static str;
}

/// What a node sees of the world, and does to it.
pub struct Context<'a, N: Node> {
    me: NodeId,
    stage: &'a mut Stage<N::Message, N::Timer>,
}

impl<'a, N: Node> Context<'a, N> {
    pub(super) const fn new(me: NodeId, stage: &'a mut Stage<N::Message, N::Timer>) -> Self {
        Self { me, stage }
    }

    /// Who the node is.
    pub const fn me(&self) -> NodeId {
        self.me
    }

    /// How many candidates there are; they are the nodes from 0 on.
    pub fn candidates(&self) -> usize {
        self.stage.candidates
    }

    /// All candidates but this node.
    pub fn others(&self) -> impl Iterator<Item = NodeId> + use<N> {
        let me = self.me;
        (0..self.candidates()).filter(move |&other| other != me)
    }

    /// What the node's own clock shows.
    pub fn now(&self) -> Duration {
        self.stage.shows(self.me)
    }

    /// Chance: the same in each run of a seed.
    pub fn chance(&mut self) -> &mut Chance {
        &mut self.stage.chance
    }

    /// Sends a message, and hears nothing of what becomes of it.
    pub fn send(&mut self, to: NodeId, message: N::Message) {
        self.stage.send(self.me, to, N::kind(&message), message);
    }

    /// Sends a message to each of these.
    pub fn send_all(&mut self, to: impl IntoIterator<Item = NodeId>, message: &N::Message) {
        for to in to {
            self.send(to, message.clone());
        }
    }

    /// Sets a timer to run out when so much has passed by the node's own clock; set before, it is set anew.
    pub fn set(&mut self, timer: N::Timer, after: Duration) {
        self.stage.set(self.me, timer, after);
    }

    /// The timer no longer runs out.
    pub fn cancel(&mut self, timer: N::Timer) {
        self.stage.cancel(self.me, timer);
    }
}

/// What a part of a node does to the world, with messages and timers of its own: those that the node's are made of.
///
/// A part that several kinds of nodes have, such as a [member of a store](crate::replicas::Member), acts through this. Each
/// [`Context`] is one, if the node's messages and timers are made [from](From) the part's.
pub trait Host<M, T> {
    /// What the node's own clock shows.
    fn now(&self) -> Duration;

    /// Chance: the same in each run of a seed.
    fn chance(&mut self) -> &mut Chance;

    /// Sends a message, and hears nothing of what becomes of it.
    fn send(&mut self, to: NodeId, message: M);

    /// Sets a timer to run out when so much has passed by the node's own clock; set before, it is set anew.
    fn set(&mut self, timer: T, after: Duration);

    /// The timer no longer runs out.
    fn cancel(&mut self, timer: T);
}

impl<N: Node, M: Into<N::Message>, T: Into<N::Timer>> Host<M, T> for Context<'_, N> {
    fn now(&self) -> Duration {
        Context::now(self)
    }

    fn chance(&mut self) -> &mut Chance {
        Context::chance(self)
    }

    fn send(&mut self, to: NodeId, message: M) {
        Context::send(self, to, message.into());
    }

    fn set(&mut self, timer: T, after: Duration) {
        Context::set(self, timer.into(), after);
    }

    fn cancel(&mut self, timer: T) {
        Context::cancel(self, timer.into());
    }
}

//! The nodes of an election: states that react to messages and timers.

use std::fmt::Debug;
use std::time::Duration;

use super::script::{Blow, Process};
use super::stage::Stage;
use crate::chance::Chance;

/// The number of a node, from 0. Candidates come first, then the other nodes of an election, such as its store.
pub type NodeId = usize;

/// A node of a simulated election. It does no I/O and reads no clock. It acts on the world only through [`Context`],
/// while it reacts. Reactions take no time.
pub trait Node: Sized {
    /// The messages between nodes.
    type Message: Clone + Debug;
    /// The timers of a node, one for each value.
    type Timer: Copy + PartialEq + Debug;

    /// Starts at the beginning of the run.
    fn start(&mut self, context: &mut Context<'_, Self>);

    /// Starts again after a kill. All that was not on disk is gone.
    fn restart(&mut self, context: &mut Context<'_, Self>);

    /// Handles a message.
    fn receive(&mut self, from: NodeId, message: Self::Message, context: &mut Context<'_, Self>);

    /// Handles the end of a timer.
    fn expire(&mut self, timer: Self::Timer, context: &mut Context<'_, Self>);

    /// Makes the node doubt that the leader lives. A node also does so by itself after too long a silence.
    fn suspect(&mut self, context: &mut Context<'_, Self>);

    /// Returns a number while it believes that it leads. The number tells this leadership from an earlier one, for
    /// example a term. It is 0 where the algorithm has none.
    fn leads(&self) -> Option<u64>;

    /// Returns a number while it believes that it serves as the leader of a store's members. The number is as in
    /// [`leads`](Self::leads). The two are apart: a store with a leader is not an election with one.
    fn serves(&self) -> Option<u64> {
        None
    }

    /// Hits some of its processes. A node that returns `false` is one process, and the world kills or pauses it as a
    /// whole. A node that returns `true` handles each process itself, until it [restarts](Self::restart) after a kill
    /// of its machine.
    fn strike(&mut self, _blow: Blow, _process: Process, _context: &mut Context<'_, Self>) -> bool {
        false
    }

    /// Returns the kind that a message counts as: its name in the paper.
    fn kind(message: &Self::Message) -> &'static str;
}

/// A node's view of the world, and its means to act on it.
pub struct Context<'a, N: Node> {
    me: NodeId,
    stage: &'a mut Stage<N::Message, N::Timer>,
}

impl<'a, N: Node> Context<'a, N> {
    pub(super) const fn new(me: NodeId, stage: &'a mut Stage<N::Message, N::Timer>) -> Self {
        Self { me, stage }
    }

    /// The node's own number.
    pub const fn me(&self) -> NodeId {
        self.me
    }

    /// Returns the number of candidates, which are the nodes from 0 on.
    pub fn candidates(&self) -> usize {
        self.stage.candidates
    }

    /// Returns all candidates but this node.
    pub fn others(&self) -> impl Iterator<Item = NodeId> + use<N> {
        let me = self.me;
        (0..self.candidates()).filter(move |&other| other != me)
    }

    /// Returns the time by the node's own clock.
    pub fn now(&self) -> Duration {
        self.stage.shows(self.me)
    }

    /// Returns the run's generator, which is the same in each run of a seed.
    pub fn chance(&mut self) -> &mut Chance {
        &mut self.stage.chance
    }

    /// Sends a message. The node does not learn whether it arrives.
    pub fn send(&mut self, to: NodeId, message: N::Message) {
        self.stage.send(self.me, to, N::kind(&message), message);
    }

    /// Sends a message to each of these nodes.
    pub fn send_all(&mut self, to: impl IntoIterator<Item = NodeId>, message: &N::Message) {
        for to in to {
            self.send(to, message.clone());
        }
    }

    /// Sets a timer that ends after so much time by the node's own clock. A timer that was set before starts anew.
    pub fn set(&mut self, timer: N::Timer, after: Duration) {
        self.stage.set(self.me, timer, after);
    }

    /// Cancels a timer.
    pub fn cancel(&mut self, timer: N::Timer) {
        self.stage.cancel(self.me, timer);
    }
}

/// The means of a part of a node to act on the world, with messages and timers of its own. The node's are made from
/// them.
///
/// A part that several kinds of nodes have, such as a [member of a store](crate::replicas::Member), acts through this.
/// Each [`Context`] is a host if the node's messages and timers are made [from](From) the part's.
pub trait Host<M, T> {
    /// Returns the time by the node's own clock.
    fn now(&self) -> Duration;

    /// Returns the run's generator, which is the same in each run of a seed.
    fn chance(&mut self) -> &mut Chance;

    /// Sends a message. The node does not learn whether it arrives.
    fn send(&mut self, to: NodeId, message: M);

    /// Sets a timer that ends after so much time by the node's own clock. A timer that was set before starts anew.
    fn set(&mut self, timer: T, after: Duration);

    /// Cancels a timer.
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

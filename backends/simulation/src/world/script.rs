//! What goes wrong, and when.

use std::collections::BTreeSet;
use std::time::Duration;

use super::{Drift, NodeId};
use crate::{PerMillion, Senseless};

/// Whom a fault hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// This node.
    Node(NodeId),
    /// The node that leads by then; if several do, that of the greatest term, and of these the last to begin. To
    /// [restart](Fault::Restart) or to [resume](Fault::Resume) it is the one that was the last to be hit as the leader.
    /// Nobody is hit if nobody leads.
    Leader,
}

/// Which of a node's processes a fault hits, where it has two as elect has. A node of one process is hit as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Process {
    /// The one that talks to the store.
    Wrapper,
    /// The one beside it that ends the command in time.
    Guardian,
    /// The two of them, at once.
    Both,
}

/// What happens to processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blow {
    /// They end, as after SIGKILL.
    Kill,
    /// They stand still, as after SIGSTOP.
    Pause,
    /// They go on where they stood still.
    Resume,
    /// They start again where they were killed.
    Restart,
}

/// What goes wrong, or right again.
///
/// What happens to processes reaches a machine only that runs: none that is dead or suspended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The machine stops: the node loses what it has not on disk.
    Kill(Who),
    /// The node starts again, with what it had on disk, if its machine or its processes were killed.
    Restart(Who),
    /// These processes of the node are killed; its machine runs on.
    KillProcess(Who, Process),
    /// These processes of the node stand still, as after SIGSTOP. Its clock runs on, messages wait for it, and what it
    /// believed to lead it still leads: a command beside it runs on.
    PauseProcess(Who, Process),
    /// Short for [`PauseProcess`](Self::PauseProcess) of [both](Process::Both).
    Pause(Who),
    /// A hypervisor stops the machine: nothing runs on it, and its clock stands still too. It counts as not leading as long.
    /// When it goes on, it knows nothing of that, and leads again if it led.
    Suspend(Who),
    /// A machine that was suspended goes on, and so do processes that were paused, with all that has come in between.
    Resume(Who),
    /// Nodes of different sides cannot reach each other. One that is on no side reaches all.
    Split(Vec<Vec<NodeId>>),
    /// Messages from the one no longer reach the other.
    OneWay {
        /// Who sends.
        from: NodeId,
        /// Who hears nothing.
        to: NodeId,
    },
    /// The node reaches nobody, and nobody reaches it.
    Isolate(Who),
    /// Every link works again.
    Heal,
    /// From now on so many messages get lost.
    Loss(PerMillion),
    /// From now on the node's clock runs at this rate.
    Drift(Who, Drift),
    /// The node has its doubts about the leader, as if it had heard nothing of it for too long. One that does not run
    /// has none.
    Suspect(NodeId),
}

/// Faults at true times.
#[derive(Clone, Debug, Default)]
pub struct Script(Vec<(Duration, Fault)>);

impl Script {
    /// Nothing goes wrong.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// This happens at `at`, after what was given for the same time before. A node that is killed at zero never starts.
    pub fn at(mut self, at: Duration, fault: Fault) -> Self {
        self.0.push((at, fault));
        self
    }

    /// What happens, in the order in which it was given.
    pub fn faults(&self) -> &[(Duration, Fault)] {
        &self.0
    }

    /// Refuses what names a node that is not there, and what comes after the end.
    pub(crate) fn check(&self, nodes: usize, end: Duration) -> Result<(), Senseless> {
        for (at, fault) in &self.0 {
            if *at > end {
                return Err(Senseless::AfterTheEnd { at: *at, end });
            }
            fault.check(nodes)?;
        }
        Ok(())
    }
}

impl Fault {
    /// Whether it hits one node.
    pub const fn is_of_one(&self) -> bool {
        matches!(
            self,
            Self::Kill(_)
                | Self::Restart(_)
                | Self::KillProcess(..)
                | Self::PauseProcess(..)
                | Self::Pause(_)
                | Self::Suspend(_)
                | Self::Resume(_)
                | Self::Isolate(_)
                | Self::Drift(..)
        )
    }

    fn check(&self, nodes: usize) -> Result<(), Senseless> {
        let named: Vec<NodeId> = match self {
            Self::Kill(who)
            | Self::Restart(who)
            | Self::KillProcess(who, _)
            | Self::PauseProcess(who, _)
            | Self::Pause(who)
            | Self::Suspend(who)
            | Self::Resume(who)
            | Self::Isolate(who)
            | Self::Drift(who, _) => match who {
                Who::Node(node) => vec![*node],
                Who::Leader => vec![],
            },
            Self::Split(sides) => sides.concat(),
            Self::OneWay { from, to } => vec![*from, *to],
            Self::Suspect(node) => vec![*node],
            Self::Heal | Self::Loss(_) => vec![],
        };
        if let Some(&node) = named.iter().find(|node| **node >= nodes) {
            return Err(Senseless::NoNode { node, nodes });
        }
        let mut seen = BTreeSet::new();
        match named.into_iter().find(|node| !seen.insert(*node)) {
            Some(node) if matches!(self, Self::Split(_)) => Err(Senseless::TwoSides { node }),
            _ => Ok(()),
        }
    }
}

//! The script of a run: its faults and their times.

use std::collections::BTreeSet;
use std::time::Duration;

use super::{Drift, NodeId};
use crate::{PerMillion, Senseless};

/// The node that a fault hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// This node.
    Node(NodeId),
    /// The node that leads by then. If several lead, it is the one of the greatest term, and of these the last to
    /// begin. For a [restart](Fault::Restart) or a [resume](Fault::Resume) it is the node that was last hit as the
    /// leader. If none leads, no node is hit.
    Leader,
}

/// The processes of a node that a fault hits, if the node has two, as elect has. A node of one process is hit as a
/// whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Process {
    /// The process that talks to the store.
    Wrapper,
    /// The process beside it that ends the command in time.
    Guardian,
    /// Both processes at once.
    Both,
}

/// What a fault does to processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blow {
    /// Ends them, as SIGKILL does.
    Kill,
    /// Stops them, as SIGSTOP does.
    Pause,
    /// Continues them where they were stopped.
    Resume,
    /// Starts them again after a kill.
    Restart,
}

/// A fault, or the end of one.
///
/// Faults of processes affect only a machine that runs, not one that is dead or suspended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Stops the machine. The node loses all that is not on its disk.
    Kill(Target),
    /// Starts the node again with what was on its disk, if its machine or its processes were killed.
    Restart(Target),
    /// Kills these processes of the node. Its machine runs on.
    KillProcess(Target, Process),
    /// Stops these processes of the node, as SIGSTOP does. Its clock runs on, and messages wait for it. It still leads
    /// if it believed so, because a command beside it runs on.
    PauseProcess(Target, Process),
    /// Short for [`PauseProcess`](Self::PauseProcess) of [both](Process::Both).
    Pause(Target),
    /// Suspends the machine, as a hypervisor does. Nothing runs on it, and its clock stands still too. It does not
    /// count as leading in that time. When it goes on, it knows nothing of the gap, and leads again if it led.
    Suspend(Target),
    /// Continues a suspended machine and paused processes, with all messages that came in between.
    Resume(Target),
    /// Cuts the links between nodes of different sides. A node on no side reaches all.
    Split(Vec<Vec<NodeId>>),
    /// Loses all messages from one node to another.
    OneWay {
        /// The node that sends.
        from: NodeId,
        /// The node that hears nothing.
        to: NodeId,
    },
    /// Cuts off the node from all others, both ways.
    Isolate(Target),
    /// Restores every link.
    Heal,
    /// Loses this share of messages from now on.
    Loss(PerMillion),
    /// Sets the drift of the node's clock from now on.
    Drift(Target, Drift),
    /// Makes the node suspect the leader, as after too long a silence. A node that does not run is not affected.
    Suspect(NodeId),
}

/// Faults at true times.
#[derive(Clone, Debug, Default)]
pub struct Script(Vec<(Duration, Fault)>);

impl Script {
    /// Returns a script without faults.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a fault at `at`, after the earlier ones for the same time. A node that is killed at zero never starts.
    pub fn at(mut self, at: Duration, fault: Fault) -> Self {
        self.0.push((at, fault));
        self
    }

    /// Returns the faults in the order in which they were added.
    pub fn faults(&self) -> &[(Duration, Fault)] {
        &self.0
    }

    /// Returns an error for a node that does not exist, and for a fault after the end.
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
    /// Returns whether it hits one node.
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
            Self::Kill(target)
            | Self::Restart(target)
            | Self::KillProcess(target, _)
            | Self::PauseProcess(target, _)
            | Self::Pause(target)
            | Self::Suspend(target)
            | Self::Resume(target)
            | Self::Isolate(target)
            | Self::Drift(target, _) => match target {
                Target::Node(node) => vec![*node],
                Target::Leader => vec![],
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

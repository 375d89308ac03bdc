use std::os::unix::process::CommandExt;

use super::arena::{Arena, DIES_WITH_THE_TEST};
use super::programs::Programs;
use crate::prelude::*;

/// A program other than elect that takes part in its elections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    EtcdctlElect,
    EtcdctlLock,
    KazooLock,
    KazooElection,
    LeaderLatch,
    LeaderSelector,
    InterProcessMutex,
}

impl Peer {
    /// The layout of an election in ZooKeeper that it shares with elect; `None` if its store is etcd.
    pub(super) const fn layout(self) -> Option<&'static str> {
        match self {
            Self::EtcdctlElect | Self::EtcdctlLock => None,
            Self::KazooLock | Self::KazooElection => Some("kazoo"),
            Self::LeaderLatch => Some("curator-latch"),
            Self::LeaderSelector | Self::InterProcessMutex => Some("curator-lock"),
        }
    }

    /// Does what takes long before the first start.
    #[track_caller]
    pub(super) fn get_ready(self, arena: &Arena) {
        self.program(&arena.programs);
    }

    /// Starts one in the arena's election. It takes part until the file `until` is there, and runs the
    /// stamper whenever it leads.
    #[track_caller]
    pub(crate) fn start(
        self,
        arena: &Arena,
        tag: &str,
        stamper: &Stamper,
        until: &Path,
    ) -> Running {
        let (program, kind) = self.program(&arena.programs);
        let mut command = Command::new(DIES_WITH_THE_TEST[0]);
        command.args(&DIES_WITH_THE_TEST[1..]).args(program);
        command.args([kind, &arena.address, &arena.election, tag]).arg(until);
        command.args(stamper.command());
        // To be killed with all that it has started.
        command.process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running::new(command.spawn().expect("setpriv runs: apt-get install util-linux"))
    }

    /// The program, and the word that makes it this peer.
    #[track_caller]
    fn program(self, programs: &Programs) -> (Vec<String>, &'static str) {
        match self {
            Self::EtcdctlElect => (Programs::etcdctl(), "elect"),
            Self::EtcdctlLock => (Programs::etcdctl(), "lock"),
            Self::KazooLock => (Programs::kazoo(), "lock"),
            Self::KazooElection => (Programs::kazoo(), "election"),
            Self::LeaderLatch => (programs.curator(), "latch"),
            Self::LeaderSelector => (programs.curator(), "selector"),
            Self::InterProcessMutex => (programs.curator(), "mutex"),
        }
    }
}

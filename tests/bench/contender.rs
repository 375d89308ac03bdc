//! Who is measured: elect on its stores, and its peers.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use elect_testkit::servers::fetched;

use crate::stage::Stage;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    File,
    Etcd,
    ZooKeeper,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contender {
    Elect(Store),
    Peer(Store),
}

impl Store {
    pub(crate) const ALL: [Self; 3] = [Self::File, Self::Etcd, Self::ZooKeeper];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Etcd => "etcd",
            Self::ZooKeeper => "zookeeper",
        }
    }
}

impl Contender {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Elect(_) => "elect",
            Self::Peer(Store::File) => "flock",
            Self::Peer(Store::Etcd) => "etcdctl lock",
            Self::Peer(Store::ZooKeeper) => "kazoo",
        }
    }

    /// One that runs a command under the lock or election of this name.
    pub(crate) fn command(self, stage: &Stage, name: &str, words: &[OsString]) -> Command {
        let mut command = match self {
            Self::Elect(store) => {
                let mut elect = Command::new(env!("CARGO_BIN_EXE_elect"));
                let url = match store {
                    Store::File => format!("file://{}", stage.path("state").display()),
                    Store::Etcd => stage.etcd.url(),
                    Store::ZooKeeper => stage.zookeeper.url(),
                };
                elect.args(["run", "-b", &url, "-e", name, "--"]);
                elect
            }
            Self::Peer(Store::File) => {
                let mut flock = Command::new("flock");
                flock.arg(stage.path(name));
                flock
            }
            Self::Peer(Store::Etcd) => {
                let mut etcdctl = stage.etcd.etcdctl();
                etcdctl.args(["lock", name]);
                etcdctl
            }
            Self::Peer(Store::ZooKeeper) => {
                let mut python = Command::new(python());
                let peer = Path::new(env!("CARGO_MANIFEST_DIR"));
                python.arg(peer.join("tests/suite/foreign/kazoo_peer.py")).arg("lock");
                // It takes part once, as the file that ends it is there.
                python.arg(stage.zookeeper.address(0).to_string()).arg(format!("/{name}"));
                python.arg("bench").arg(stage.folder());
                python
            }
        };
        command.args(words).stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    pub(crate) fn start(self, stage: &Stage, name: &str, words: &[OsString]) -> Child {
        let mut command = self.command(stage, name, words);
        command.spawn().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"))
    }
}

/// Where tests/run has put what comes from `PyPI`.
fn python() -> PathBuf {
    fetched("python/bin/python").expect("kazoo: run tests/run setup")
}

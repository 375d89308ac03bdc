//! The stores and the names that contenders share.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use elect_testkit::servers::{Etcd, ZooKeeper, ZooKeeperSetup};
use tempfile::TempDir;

/// Sessions last 20 of them at most: enough for the usual TTL.
const TICK: Duration = Duration::from_secs(1);

/// A server of each store, and a folder.
pub(crate) struct Stage {
    folder: TempDir,
    pub(crate) etcd: Etcd,
    pub(crate) zookeeper: ZooKeeper,
    next: Cell<u32>,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self {
            folder: TempDir::new().expect("a temporary folder"),
            etcd: Etcd::start_own(1),
            zookeeper: ZooKeeper::start(&ZooKeeperSetup {
                tick: TICK,
                ..ZooKeeperSetup::default()
            }),
            next: Cell::new(0),
        }
    }

    /// A name that nothing else has.
    pub(crate) fn fresh(&self, what: &str) -> String {
        let number = self.next.get();
        self.next.set(number + 1);
        format!("{what}-{number}")
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

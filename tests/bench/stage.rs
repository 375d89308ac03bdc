//! The stores and the names that contenders share.

use std::cell::Cell;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use elect_testkit::servers::{Etcd, ZooKeeper, ZooKeeperSetup};
use tempfile::TempDir;

use crate::asked::Asked;
use crate::contender::Store;

/// Of ZooKeeper's; a session ends with one.
const TICK: Duration = Duration::from_secs(1);
/// So that a crowd need not renew while it is looked at: 100 minutes.
const LONGEST_SESSION: &str = "maxSessionTimeout=6000000";

/// A server of each store, and a folder.
pub(crate) struct Stage {
    folder: TempDir,
    pub(crate) etcd: Etcd,
    pub(crate) zookeeper: ZooKeeper,
    next: Cell<u32>,
    /// The number of times that ZooKeeper was asked for its count of requests.
    looks: Cell<u64>,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        fs::create_dir(folder.path().join("state")).expect("a folder");
        let zookeeper = ZooKeeper::start(&ZooKeeperSetup {
            tick: TICK,
            lines: vec![LONGEST_SESSION.to_owned()],
            ..ZooKeeperSetup::default()
        });
        let (next, looks) = (Cell::new(0), Cell::new(0));
        Self { folder, etcd: Etcd::start_own(1), zookeeper, next, looks }
    }

    /// A name that nothing else has.
    pub(crate) fn fresh(&self, what: &str) -> String {
        let number = self.next.get();
        self.next.set(number + 1);
        format!("{what}-{number}")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the place of a store: a folder, or HOST:PORT.
    pub(crate) fn place(&self, store: Store) -> String {
        match store {
            Store::File => self.path("state").display().to_string(),
            Store::Etcd => self.etcd.endpoints()[0].to_string(),
            Store::ZooKeeper => self.zookeeper.address(0).to_string(),
        }
    }

    /// Returns the counts of a store's server, without these questions. They are zero for the local disk.
    pub(crate) fn asked(&self, store: Store) -> Asked {
        match store {
            Store::File => Asked::default(),
            Store::Etcd => Asked::of_etcd(&self.etcd),
            Store::ZooKeeper => {
                self.looks.set(self.looks.get() + 1);
                Asked::of_zookeeper(&self.zookeeper, self.looks.get())
            }
        }
    }
}

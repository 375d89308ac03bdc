//! The real stores, seen alike.

use std::net::SocketAddr;
use std::time::Duration;

use elect_testkit::program::eventually;
use elect_testkit::servers::{Etcd, Place, Process, ZooKeeper, ZooKeeperSetup};

/// Which store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Brand {
    Etcd,
    ZooKeeper,
}

impl Brand {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ZooKeeper => "ZooKeeper",
        }
    }

    /// So many members, at a place of their own.
    pub(crate) fn start(self, members: usize, place: &Place) -> Box<dyn Cluster> {
        match self {
            Self::Etcd => Box::new(Etcd::start_at(members, place)),
            Self::ZooKeeper => {
                let setup = ZooKeeperSetup {
                    members,
                    place: place.clone(),
                    lines: vec!["maxSessionTimeout=15000".into(), "syncLimit=2".into()],
                    ..ZooKeeperSetup::default()
                };
                Box::new(ZooKeeper::start(&setup))
            }
        }
    }

    /// So many members on the loopback interface.
    pub(crate) fn here(self, members: usize) -> Box<dyn Cluster> {
        self.start(members, &Place::here())
    }

    /// One member that grants leases of 100 minutes.
    pub(crate) fn slow(self) -> Box<dyn Cluster> {
        match self {
            Self::Etcd => Box::new(Etcd::start(1)),
            Self::ZooKeeper => Box::new(ZooKeeper::start(&ZooKeeperSetup {
                tick: Duration::from_secs(300),
                ..ZooKeeperSetup::default()
            })),
        }
    }

    /// The URL of those at these addresses.
    pub(crate) fn url(self, addresses: &[SocketAddr]) -> String {
        let addresses: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
        let scheme = match self {
            Self::Etcd => "etcd",
            Self::ZooKeeper => "zk",
        };
        format!("{scheme}://{}", addresses.join(","))
    }
}

/// Servers that form one store.
pub(crate) trait Cluster: Send {
    /// Where its members serve clients.
    fn addresses(&self) -> Vec<SocketAddr>;

    /// A member.
    fn member(&mut self, index: usize) -> &mut Process;

    /// The member that leads the others; waits until there is one.
    fn leader(&self) -> usize;
}

impl Cluster for Etcd {
    fn addresses(&self) -> Vec<SocketAddr> {
        self.endpoints()
    }

    fn member(&mut self, index: usize) -> &mut Process {
        Self::member(self, index)
    }

    fn leader(&self) -> usize {
        Self::leader(self)
    }
}

impl Cluster for ZooKeeper {
    fn addresses(&self) -> Vec<SocketAddr> {
        (0..self.count()).map(|index| self.address(index)).collect()
    }

    fn member(&mut self, index: usize) -> &mut Process {
        Self::member(self, index)
    }

    fn leader(&self) -> usize {
        eventually("ZooKeeper to have a leader", || Self::leader(self))
    }
}

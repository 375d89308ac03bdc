//! The real stores, seen alike.

use std::cell::{RefCell, RefMut};
use std::net::SocketAddr;
use std::time::Duration;

use elect_testkit::fault::Frames;
use elect_testkit::program::eventually;
use elect_testkit::servers::{Etcd, Part, Place, Process, ZooKeeper, ZooKeeperSetup};

/// Which store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Brand {
    Etcd,
    ZooKeeper,
}

fn usual() -> ZooKeeperSetup {
    let lines = vec!["maxSessionTimeout=15000".into(), "syncLimit=2".into()];
    ZooKeeperSetup { lines, ..ZooKeeperSetup::default() }
}

fn slow() -> ZooKeeperSetup {
    ZooKeeperSetup { tick: Duration::from_secs(300), ..ZooKeeperSetup::default() }
}

impl Brand {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ZooKeeper => "ZooKeeper",
        }
    }

    /// What its servers' replies come in.
    pub(crate) const fn frames(self) -> Frames {
        match self {
            Self::Etcd => Frames::Grpc,
            Self::ZooKeeper => Frames::Lengths,
        }
    }

    /// So many members, at a place of their own.
    pub(crate) fn start(self, members: usize, place: &Place) -> Box<dyn Cluster> {
        match self {
            Self::Etcd => Box::new(Etcd::start_at(members, place)),
            Self::ZooKeeper => Box::new(ZooKeeper::start(&ZooKeeperSetup {
                members,
                place: place.clone(),
                ..usual()
            })),
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
            Self::ZooKeeper => Box::new(ZooKeeper::start(&slow())),
        }
    }

    /// A part of one member that `tests/run` holds for this setup.
    fn part(self, setup: &ZooKeeperSetup) -> Option<Part> {
        match self {
            Self::Etcd => Part::of_etcd(1),
            Self::ZooKeeper => Part::of_zookeeper(setup.members, setup.tick, &setup.lines),
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

/// One member of a store, or a part of one that others use, too, where somebody holds it for tests.
pub(crate) struct Home {
    brand: Brand,
    part: Option<Part>,
    /// If there is no part.
    own: Option<RefCell<Box<dyn Cluster>>>,
}

impl Home {
    pub(crate) fn usual(brand: Brand) -> Self {
        Self::new(brand, &usual(), || brand.here(1))
    }

    /// That grants leases of 100 minutes.
    pub(crate) fn slow(brand: Brand) -> Self {
        Self::new(brand, &slow(), || brand.slow())
    }

    /// Where nobody else is.
    pub(crate) fn alone(brand: Brand) -> Self {
        Self { brand, part: None, own: Some(RefCell::new(brand.here(1))) }
    }

    fn new(brand: Brand, setup: &ZooKeeperSetup, start: impl FnOnce() -> Box<dyn Cluster>) -> Self {
        let part = brand.part(setup);
        let own = part.is_none().then(|| RefCell::new(start()));
        Self { brand, part, own }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.part.as_ref().map_or_else(|| self.own().addresses()[0], |part| part.servers[0])
    }

    pub(crate) fn url(&self) -> String {
        self.url_through(self.address())
    }

    /// By another way to the server.
    pub(crate) fn url_through(&self, way: SocketAddr) -> String {
        let url = self.brand.url(&[way]);
        self.part.as_ref().map_or_else(|| url.clone(), |part| format!("{url}/{}", part.name))
    }

    /// What nobody else uses.
    pub(crate) fn own(&self) -> RefMut<'_, Box<dyn Cluster>> {
        self.own.as_ref().expect("a test that needs this is alone").borrow_mut()
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

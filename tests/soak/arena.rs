//! The store, the machines around it, and each candidate's ways to it.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use elect_testkit::fault::{Disk, Network, TcpProxy};
use elect_testkit::program::{Elect, copy};
use elect_testkit::servers::{Etcd, Place, ZooKeeper, ZooKeeperSetup};
use tempfile::TempDir;

use crate::cluster::{Brand, Cluster};

/// The candidates.
pub(crate) const CANDIDATES: usize = 8;
const MEMBERS: usize = 3;
/// More than two elections take.
const STATE_KIB: u32 = 4096;
/// The machine of the store; those of the candidates come after it.
const STORE: usize = 0;
/// Kills a program when the soak test that started it dies, so that no program waits for ever.
const DIES_WITH_US: [&str; 4] = ["setpriv", "--pdeathsig", "KILL", "--"];

/// Which store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backend {
    File,
    Remote(Brand),
}

impl Backend {
    pub(crate) fn parse(word: &str) -> Option<Self> {
        match word {
            "file" => Some(Self::File),
            "etcd" => Some(Self::Remote(Brand::Etcd)),
            "zookeeper" => Some(Self::Remote(Brand::ZooKeeper)),
            _ => None,
        }
    }

    /// Returns true if its leases end by time.
    pub(crate) fn is_timed(self) -> bool {
        self != Self::File
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File => "file",
            Self::Remote(Brand::Consul) => "consul",
            Self::Remote(Brand::DynamoDb) => "dynamodb",
            Self::Remote(Brand::Etcd) => "etcd",
            Self::Remote(Brand::ZooKeeper) => "zookeeper",
            Self::Remote(Brand::Kubernetes) => "kubernetes",
            Self::Remote(Brand::MariaDb) => "mariadb",
            Self::Remote(Brand::Redis) => "redis",
            Self::Remote(Brand::S3) => "s3",
            Self::Remote(Brand::PostgreSql) => "postgresql",
        })
    }
}

/// A store of three members on a machine of its own, which it shares with one that is not meant.
struct Remote {
    brand: Brand,
    cluster: Box<dyn Cluster>,
    other: Box<dyn Cluster>,
    network: Arc<Network>,
}

pub(crate) struct Arena {
    pub(crate) backend: Backend,
    remote: Option<Remote>,
    store_id: Option<String>,
    /// The disk that holds the state when there is no remote store.
    disk: Disk,
    folder: TempDir,
    binary: PathBuf,
}

impl Arena {
    pub(crate) fn new(backend: Backend) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let binary = folder.path().join("elect");
        copy(env!("CARGO_BIN_EXE_elect").as_ref(), &binary);
        let remote = match backend {
            Backend::File => None,
            Backend::Remote(brand) => {
                let network = Arc::new(Network::new(1 + CANDIDATES));
                let place = Place::on(&network, STORE);
                let [cluster, other] = [MEMBERS, 1].map(|members| start(brand, members, &place));
                Some(Remote { brand, cluster, other, network })
            }
        };
        let disk = Disk::of_kib(STATE_KIB);
        let mut arena = Self { backend, remote, store_id: None, disk, folder, binary };
        arena.store_id = arena.christen();
        arena
    }

    /// Has each of the two stores know what it is called, and returns the name of the one that is meant.
    fn christen(&self) -> Option<String> {
        let remote = self.remote.as_ref()?;
        let [meant, _] = [&remote.cluster, &remote.other].map(|cluster| {
            let url = remote.brand.url(&cluster.addresses());
            self.near_elect().args(["run", "-b", &url, "-e", "first", "true"]).run().exits(0);
            url
        });
        let said = self.near_elect().args(["doctor", "-o", "json", "-b", &meant]).run().stdout;
        let report: serde_json::Value = serde_json::from_str(&said).expect("JSON");
        Some(report["store_id"].as_str().expect("a store id").to_owned())
    }

    /// For whatever is written besides.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Ends the store, and keeps what was written.
    pub(crate) fn keep(mut self) -> PathBuf {
        if let Some(remote) = &mut self.remote {
            for index in 0..MEMBERS {
                let log = self.folder.path().join(format!("member{index}.log"));
                let _ = std::fs::write(log, remote.cluster.member(index).log());
            }
        }
        self.folder.keep()
    }

    pub(crate) fn network(&self) -> Option<&Network> {
        self.remote.as_ref().map(|remote| &*remote.network)
    }

    /// The disk of the state, of which remote stores know nothing.
    pub(crate) fn disk(&self) -> &Disk {
        &self.disk
    }

    /// The members of the store, where it has any.
    pub(crate) fn cluster(&mut self) -> Option<&mut dyn Cluster> {
        Some(&mut *self.remote.as_mut()?.cluster)
    }

    /// A candidate's ways to the store: a proxy before each member.
    pub(crate) fn ways(&self, candidate: usize) -> Vec<TcpProxy> {
        let Some(remote) = &self.remote else { return Vec::new() };
        let targets = remote.cluster.addresses();
        remote
            .network
            .inside(machine(candidate), move || targets.into_iter().map(TcpProxy::start).collect())
    }

    /// The addresses of the store's members.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.remote.as_ref().map(|remote| remote.cluster.addresses()).unwrap_or_default()
    }

    /// The address of a store that is not meant.
    pub(crate) fn other(&self) -> Option<SocketAddr> {
        Some(self.remote.as_ref()?.other.addresses()[0])
    }

    /// Returns the store's URL for a candidate that reaches it through these proxies and knows its id.
    pub(crate) fn url(&self, ways: &[TcpProxy]) -> String {
        let addresses: Vec<SocketAddr> = ways.iter().map(TcpProxy::address).collect();
        let id = self.store_id.as_ref().map(|id| format!("?store-id={id}"));
        self.url_at(&addresses) + &id.unwrap_or_default()
    }

    fn url_at(&self, addresses: &[SocketAddr]) -> String {
        match &self.remote {
            Some(remote) => remote.brand.url(addresses),
            None => format!("file://{}", self.disk.path().join("state").display()),
        }
    }

    /// The store, as it is seen on its own machine.
    pub(crate) fn near_url(&self) -> String {
        self.url_at(&self.addresses())
    }

    /// `elect` on a candidate's machine, with this before it.
    pub(crate) fn elect(&self, candidate: usize, before: &[String]) -> Elect {
        self.elect_on(machine(candidate), before)
    }

    /// `elect` on the machine of the store.
    pub(crate) fn near_elect(&self) -> Elect {
        self.elect_on(STORE, &[])
    }

    fn elect_on(&self, machine: usize, before: &[String]) -> Elect {
        let elect = Elect::new(&self.binary).under(DIES_WITH_US).under(before);
        match &self.remote {
            Some(remote) => elect.under(remote.network.enter(machine)),
            None => elect,
        }
    }
}

/// The machine of a candidate.
pub(crate) const fn machine(candidate: usize) -> usize {
    STORE + 1 + candidate
}

/// With sessions as long as any TTL here, and quick elections among the members.
fn start(brand: Brand, members: usize, place: &Place) -> Box<dyn Cluster> {
    match brand {
        Brand::Etcd => Box::new(Etcd::start_at(members, place)),
        Brand::ZooKeeper => Box::new(ZooKeeper::start(&ZooKeeperSetup {
            members,
            tick: Duration::from_millis(500),
            lines: vec!["maxSessionTimeout=60000".into(), "syncLimit=4".into()],
            place: place.clone(),
            ..ZooKeeperSetup::default()
        })),
        _ => brand.start(members, place),
    }
}

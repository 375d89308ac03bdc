//! The real stores, seen alike.

use std::cell::{RefCell, RefMut};
use std::fs::{self, Permissions};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use elect_testkit::fault::Frames;
use elect_testkit::program::eventually;
use elect_testkit::servers::Database as _;
use elect_testkit::servers::kubernetes::Fault;
use elect_testkit::servers::{
    ApiServer, Consul, DatabaseServer, DatabaseSetup, Etcd, MariaDb, Moto, MotoS3, Part, Place,
    Postgres, Process, Redis, ZooKeeper, ZooKeeperSetup,
};
use nix::sys::signal::Signal;
use serde_json::Value;

/// Which store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Brand {
    Consul,
    DynamoDb,
    Etcd,
    ZooKeeper,
    Kubernetes,
    MariaDb,
    PostgreSql,
    Redis,
    S3,
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
            Self::Consul => "Consul",
            Self::DynamoDb => "DynamoDB",
            Self::Etcd => "etcd",
            Self::ZooKeeper => "ZooKeeper",
            Self::Kubernetes => "Kubernetes",
            Self::MariaDb => "MariaDB",
            Self::PostgreSql => "PostgreSQL",
            Self::Redis => "Redis",
            Self::S3 => "S3",
        }
    }

    /// Returns the framing of the servers' replies, if they have one.
    pub(crate) const fn frames(self) -> Option<Frames> {
        match self {
            Self::Etcd => Some(Frames::Grpc),
            Self::ZooKeeper => Some(Frames::Lengths),
            Self::Consul
            | Self::DynamoDb
            | Self::Kubernetes
            | Self::MariaDb
            | Self::PostgreSql
            | Self::Redis
            | Self::S3 => None,
        }
    }

    /// Returns true if a store of this brand has several members. An API server is one, whatever is behind it.
    pub(crate) const fn has_members(self) -> bool {
        matches!(self, Self::Consul | Self::Etcd | Self::ZooKeeper)
    }

    /// As long as a lease has to be there.
    pub(crate) const fn least_ttl(self) -> Duration {
        Duration::from_secs(if matches!(self, Self::Kubernetes) { 6 } else { 1 })
    }

    /// So many members, at a place of their own.
    pub(crate) fn start(self, members: usize, place: &Place) -> Box<dyn Cluster> {
        match self {
            Self::Consul => {
                let setup = DatabaseSetup { place: place.clone(), ..DatabaseSetup::default() };
                Box::new(Consul::start_as(members, &setup, &Value::Null))
            }
            Self::Etcd => Box::new(Etcd::start_at(members, place)),
            Self::ZooKeeper => Box::new(ZooKeeper::start(&ZooKeeperSetup {
                members,
                place: place.clone(),
                ..usual()
            })),
            Self::Kubernetes => Box::new(ApiServer::start_at(place)),
            Self::DynamoDb | Self::MariaDb | Self::PostgreSql | Self::Redis | Self::S3 => {
                let setup = DatabaseSetup { place: place.clone(), ..DatabaseSetup::default() };
                Box::new(self.database(&setup))
            }
        }
    }

    /// The server of a store of rows.
    pub(crate) fn database(self, setup: &DatabaseSetup) -> Box<dyn DatabaseServer> {
        match self {
            Self::DynamoDb => {
                let server = Moto::start_as(setup);
                server.create_here();
                Box::new(server)
            }
            Self::MariaDb => Box::new(MariaDb::start_as(setup)),
            Self::PostgreSql => Box::new(Postgres::start_as(setup)),
            Self::Redis => {
                let server = Redis::start_as(setup);
                server.begin_here();
                Box::new(server)
            }
            Self::S3 => Box::new(MotoS3::start_as(setup)),
            Self::Consul | Self::Etcd | Self::ZooKeeper | Self::Kubernetes => {
                panic!("it has no rows")
            }
        }
    }

    /// Returns true if it is a store of rows.
    pub(crate) const fn has_rows(self) -> bool {
        matches!(self, Self::MariaDb | Self::PostgreSql | Self::Redis)
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
            _ => self.here(1),
        }
    }

    /// A part of one member that `tests/run` holds for this setup.
    fn part(self, setup: &ZooKeeperSetup) -> Option<Part> {
        match self {
            Self::Consul => Part::of_consul(1),
            Self::Etcd => Part::of_etcd(1),
            Self::ZooKeeper => Part::of_zookeeper(setup.members, setup.tick, &setup.lines),
            // One of its own starts at once.
            Self::Kubernetes => None,
            Self::DynamoDb => Moto::part(),
            Self::MariaDb => Part::of_mariadb(),
            Self::PostgreSql => Part::of_postgres(),
            Self::Redis => {
                let part = Part::of_redis();
                part.inspect(|part| Redis::begin(part.servers[0], &part.name))
            }
            Self::S3 => MotoS3::part(),
        }
    }

    /// The URL of those at these addresses.
    pub(crate) fn url(self, addresses: &[SocketAddr]) -> String {
        let all: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
        match self {
            Self::Consul => {
                format!("consul://elect:{}@{}", Consul::token("elect"), all.join(","))
            }
            Self::DynamoDb => Moto::url(addresses[0], "", "elect"),
            Self::Etcd => format!("etcd://{}", all.join(",")),
            Self::ZooKeeper => format!("zk://{}", all.join(",")),
            Self::Kubernetes => url_of_leases(addresses[0]),
            Self::MariaDb => format!("mariadb://elect@{}/jobs", all.join(",")),
            Self::PostgreSql => format!("postgresql://elect@{}/postgres", all.join(",")),
            Self::Redis => format!("redis://elect@{}", all.join(",")),
            Self::S3 => MotoS3::url(addresses[0], "", "elect"),
        }
    }
}

/// The folder of the kubeconfigs, each named by the address in it.
const KUBECONFIGS: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/kubeconfigs");
/// The token of a user who may do everything.
pub(crate) const TOKEN: &str = "kubernetes-admin-token";

/// Returns the URL of the Leases of an API server, for a candidate that reaches it at this address. The kubeconfig that
/// it writes is the same for all candidates at the address.
fn url_of_leases(address: SocketAddr) -> String {
    let file = Path::new(KUBECONFIGS).join(format!("{}-{}.yaml", address.ip(), address.port()));
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: elect\nclusters:\n- name: fake\n  cluster:\n    \
         server: http://{address}\ncontexts:\n- name: elect\n  context:\n    cluster: fake\n    user: admin\n\
         users:\n- name: admin\n  user:\n    token: {TOKEN}\n"
    );
    fs::create_dir_all(KUBECONFIGS).expect("a folder");
    let part = file.with_extension(format!("{:016x}", fastrand::u64(..)));
    fs::write(&part, text).expect("a file");
    fs::set_permissions(&part, Permissions::from_mode(0o600)).expect("our own");
    fs::rename(part, &file).expect("a file");
    ApiServer::url_with("elect", &file)
}

/// Returns the address of the API server of such a URL, or `None` for another URL.
pub(crate) fn api_server(url: &str) -> Option<SocketAddr> {
    let file = url.split_once("kubeconfig=").filter(|(head, _)| head.starts_with("kubernetes:"))?.1;
    let (ip, port) = Path::new(file).file_stem()?.to_str()?.rsplit_once('-')?;
    Some(SocketAddr::new(ip.parse().ok()?, port.parse().ok()?))
}

/// One member of a store: one of its own, or a part of a running one that other tests use, too.
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

    /// Returns a home that grants leases of 100 minutes.
    pub(crate) fn slow(brand: Brand) -> Self {
        Self::new(brand, &slow(), || brand.slow())
    }

    /// Returns a home that no other test uses.
    pub(crate) fn alone(brand: Brand) -> Self {
        Self { brand, part: None, own: Some(RefCell::new(brand.here(1))) }
    }

    fn new(brand: Brand, setup: &ZooKeeperSetup, start: impl FnOnce() -> Box<dyn Cluster>) -> Self {
        let part = brand.part(setup);
        let own = part.is_none().then(|| RefCell::new(start()));
        Self { brand, part, own }
    }

    /// Returns true if the store itself ends leases that are not renewed.
    pub(crate) const fn ends_leases(&self) -> bool {
        matches!(self.brand, Brand::Etcd | Brand::ZooKeeper)
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
        match (&self.part, self.brand) {
            (None, _) => url,
            (Some(part), Brand::DynamoDb) => Moto::url(way, "", &part.name),
            (Some(part), Brand::MariaDb) => format!("{url}?table={}", part.name),
            (Some(part), Brand::PostgreSql) => format!("{url}?schema={}", part.name),
            (Some(part), Brand::Redis) => format!("{url}?prefix={}", part.name),
            (Some(part), Brand::S3) => MotoS3::url(way, "", &part.name),
            (Some(part), _) => format!("{url}/{}", part.name),
        }
    }

    /// Returns the store, which no other test uses.
    pub(crate) fn own(&self) -> RefMut<'_, Box<dyn Cluster>> {
        self.own.as_ref().expect("a test that needs this is alone").borrow_mut()
    }
}

/// Servers that form one store.
pub(crate) trait Cluster: Send {
    /// Returns the addresses at which the members serve clients.
    fn addresses(&self) -> Vec<SocketAddr>;

    /// A member.
    fn member(&mut self, index: usize) -> &mut Process;

    /// The member that leads the others; waits until there is one.
    fn leader(&self) -> usize;

    /// Ends what is stopped, dead or fails at a test's word.
    fn heal(&mut self) {
        for index in 0..self.addresses().len() {
            let member = self.member(index);
            if member.is_alive() {
                member.signal(Signal::SIGCONT);
            } else {
                member.restart();
            }
        }
    }

    /// Starts an agent that passes requests on to the members.
    fn agent(&self) -> Consul {
        panic!("it has no agents");
    }

    /// The service in a cloud that it is.
    fn cloud(&self) -> &dyn DatabaseServer {
        panic!("it is in no cloud");
    }

    /// The API server that it is.
    fn api_server(&mut self) -> &mut ApiServer {
        panic!("it is no API server");
    }
}

impl Cluster for ApiServer {
    fn addresses(&self) -> Vec<SocketAddr> {
        vec![self.address()]
    }

    fn member(&mut self, _: usize) -> &mut Process {
        self.process()
    }

    fn leader(&self) -> usize {
        0
    }

    fn heal(&mut self) {
        if self.process().is_alive() {
            self.resume();
            self.fault(Fault::None);
        } else {
            self.restart();
        }
    }

    fn api_server(&mut self) -> &mut ApiServer {
        self
    }
}

impl Cluster for Consul {
    fn addresses(&self) -> Vec<SocketAddr> {
        Self::addresses(self)
    }

    fn member(&mut self, index: usize) -> &mut Process {
        self.server(index)
    }

    fn leader(&self) -> usize {
        Self::leader(self)
    }

    fn agent(&self) -> Consul {
        Self::agent(self)
    }
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

impl Cluster for Box<dyn DatabaseServer> {
    fn addresses(&self) -> Vec<SocketAddr> {
        vec![self.address()]
    }

    fn member(&mut self, _: usize) -> &mut Process {
        self.process()
    }

    fn leader(&self) -> usize {
        0
    }

    fn heal(&mut self) {
        if self.process().is_alive() {
            self.process().signal(Signal::SIGCONT);
        } else {
            self.process().restart();
        }
        self.end_fault();
    }

    fn cloud(&self) -> &dyn DatabaseServer {
        &**self
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

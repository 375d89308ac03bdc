//! The ZooKeeper that the tests use.

use std::net::SocketAddr;
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{Boottime, Candidate, ElectionName, Seat, Store};
use elect_testkit::fault::{Mode, TcpProxy};
use elect_testkit::servers::{Part, ZooKeeper, ZooKeeperSetup};
use elect_testkit::{Bench, Servers, Stall};
use nix::sys::signal::{Signal, kill};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use std::sync::Arc;
use zookeeper_client::Client;

/// Short, so that tests that wait for a whole lease are quick.
pub(crate) const TTL: Duration = Duration::from_secs(4);

/// A separate directory on shared servers for each test, or separate servers.
pub(crate) struct ZkBench {
    servers: Vec<SocketAddr>,
    directory: String,
    /// The servers, if no other test uses them.
    own: Option<ZooKeeper>,
    /// The proxy to the server, if connections go through one.
    proxy: Option<Arc<TcpProxy>>,
}

impl ZkBench {
    /// Uses this many servers.
    pub(crate) fn new(servers: Servers, members: usize) -> Self {
        let part = Part::of_zookeeper(members, ZooKeeperSetup::default().tick, &[])
            .filter(|_| servers == Servers::Shared);
        if let Some(Part { servers, name }) = part {
            return Self { servers, directory: format!("/{name}"), own: None, proxy: None };
        }
        let setup = ZooKeeperSetup { members, ..ZooKeeperSetup::default() };
        let own = ZooKeeper::start(&setup);
        let servers = own.addresses();
        Self { servers, directory: DIRECTORY.to_owned(), own: Some(own), proxy: None }
    }

    /// Puts a proxy between all candidates and the server.
    pub(crate) fn proxied(servers: Servers) -> Self {
        let straight = Self::new(servers, 1);
        let proxy = Arc::new(TcpProxy::start(straight.servers[0]));
        Self { proxy: Some(proxy), ..straight }
    }

    fn url(&self) -> String {
        let hosts = match &self.proxy {
            Some(proxy) => vec![proxy.address().to_string()],
            None => self.servers.iter().map(SocketAddr::to_string).collect(),
        };
        format!("zk://{}{}", hosts.join(","), self.directory)
    }

    /// Returns a client of no candidate, without the proxy.
    async fn raw(&self) -> Client {
        raw(&self.servers).await
    }

    fn path_of(&self, election: &ElectionName) -> String {
        format!("{}/{election}", self.directory)
    }
}

/// Returns a client of no candidate.
pub(crate) async fn raw(addresses: &[SocketAddr]) -> Client {
    let hosts: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
    Client::connect(&hosts.join(",")).await.expect("a session")
}

/// The default directory of elections.
const DIRECTORY: &str = "/elect";

/// The path of an election in the default directory.
pub(crate) fn path_of(election: &ElectionName) -> String {
    format!("{DIRECTORY}/{election}")
}

/// The nodes of an election in the default directory, with their data.
pub(crate) async fn nodes(client: &Client, election: &ElectionName) -> Vec<(String, Vec<u8>)> {
    nodes_below(client, &path_of(election)).await
}

async fn nodes_below(client: &Client, directory: &str) -> Vec<(String, Vec<u8>)> {
    client.sync(directory).await.expect("a sync");
    let mut nodes = Vec::new();
    for child in client.list_children(directory).await.unwrap_or_default() {
        let path = format!("{directory}/{child}");
        if let Ok((data, _)) = client.get_data(&path).await {
            nodes.push((path, data));
        }
    }
    nodes
}

/// The present instant of the clock that counts suspend.
pub(crate) fn now() -> Boottime {
    let time = clock_gettime(ClockId::CLOCK_BOOTTIME).expect("a clock");
    Boottime::from_boot(Duration::from(time))
}

struct Stopped(Vec<i32>);

impl Drop for Stopped {
    fn drop(&mut self) {
        for pid in &self.0 {
            let _ = kill(Pid::from_raw(*pid), Signal::SIGCONT);
        }
    }
}

struct Held(Arc<TcpProxy>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.both(Mode::Pass);
    }
}

#[async_trait]
impl Bench for ZkBench {
    async fn connect(&self) -> Box<dyn Store> {
        elect_zookeeper::connect(&self.url()).expect("a good URL")
    }

    fn now(&self) -> Boottime {
        now()
    }

    fn ttl(&self) -> Duration {
        TTL
    }

    async fn crash(&self, store: Box<dyn Store>, seat: Box<dyn Seat>) {
        let ticket = seat.ticket();
        drop((seat, store));
        // Stopped servers carry this out only when they go on.
        let noticed = async {
            let client = self.raw().await;
            let Some(ticket) = ticket else { return };
            let guid = ticket.as_str();
            let children = client.list_children(&self.directory).await.unwrap_or_default();
            let elections = children.iter().filter_map(|child| child.parse::<ElectionName>().ok());
            for election in elections {
                for (path, _) in nodes_below(&client, &self.path_of(&election)).await {
                    if path.replace('-', "").contains(guid) {
                        let _ = client.delete(&path, None).await;
                    }
                }
            }
        };
        let _ = tokio::time::timeout(Duration::from_secs(2), noticed).await;
    }

    async fn wipe(&self, election: &ElectionName) {
        let client = self.raw().await;
        for (path, _) in nodes_below(&client, &self.path_of(election)).await {
            let _ = client.delete(&path, None).await;
        }
        let gone = client.delete(&self.path_of(election), None).await;
        gone.expect("it is empty");
    }

    async fn evict(&self, election: &ElectionName, candidate: &Candidate) {
        let client = self.raw().await;
        let id = format!("\"id\":{}", serde_json::to_string(&candidate.id).expect("an id"));
        let all = nodes_below(&client, &self.path_of(election)).await;
        let ours = |(_, data): &&(String, Vec<u8>)| String::from_utf8_lossy(data).contains(&id);
        let (path, _) = all.iter().find(ours).expect("an entry of this candidate");
        client.delete(path, None).await.expect("it is there");
    }

    async fn stall(&self, _election: &ElectionName) -> Stall {
        if let Some(proxy) = &self.proxy {
            proxy.both(Mode::Hold);
            return Box::new(Held(Arc::clone(proxy)));
        }
        let pids = self.own.as_ref().expect("servers of its own").pids();
        for pid in &pids {
            kill(Pid::from_raw(*pid), Signal::SIGSTOP).expect("the server lives");
        }
        Box::new(Stopped(pids))
    }
}

//! ZooKeeper under test.

use std::net::SocketAddr;
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{Boottime, Candidate, ElectionName, Seat, Store};
use elect_testkit::fault::{Mode, TcpProxy};
use elect_testkit::servers::ZooKeeper;
use elect_testkit::{Bench, Stall};
use nix::sys::signal::{Signal, kill};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use std::sync::Arc;
use zookeeper_client::Client;

/// Short, so that what takes a lease's length does not take long.
pub(crate) const TTL: Duration = Duration::from_secs(4);

/// Servers of its own for each test.
pub(crate) struct ZkBench {
    pub(crate) servers: ZooKeeper,
    /// The way there, where it is not the straight one.
    proxy: Option<Arc<TcpProxy>>,
}

impl ZkBench {
    pub(crate) const fn new(servers: ZooKeeper) -> Self {
        Self { servers, proxy: None }
    }

    /// With a proxy between all candidates and the first server.
    pub(crate) fn proxied(servers: ZooKeeper) -> Self {
        let proxy = Arc::new(TcpProxy::start(servers.address(0)));
        Self { servers, proxy: Some(proxy) }
    }

    pub(crate) fn url(&self) -> String {
        match &self.proxy {
            Some(proxy) => format!("zk://{}", proxy.address()),
            None => self.servers.url(),
        }
    }

    /// A client of no candidate, on the straight way.
    pub(crate) async fn raw(&self) -> Client {
        raw(&self.addresses()).await
    }

    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        (0..self.servers.count()).map(|index| self.servers.address(index)).collect()
    }
}

/// A client of no candidate.
pub(crate) async fn raw(addresses: &[SocketAddr]) -> Client {
    let hosts: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
    Client::connect(&hosts.join(",")).await.expect("a session")
}

/// The path of an election in the default directory.
pub(crate) fn path_of(election: &ElectionName) -> String {
    format!("/elect/{}", election.as_str())
}

/// The nodes of an election, with what they hold.
pub(crate) async fn nodes(client: &Client, election: &ElectionName) -> Vec<(String, Vec<u8>)> {
    let directory = path_of(election);
    client.sync(&directory).await.expect("a sync");
    let mut nodes = Vec::new();
    for child in client.list_children(&directory).await.unwrap_or_default() {
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
        // While the servers are stopped nobody can notice.
        let noticed = async {
            let client = self.raw().await;
            let Some(ticket) = ticket else { return };
            let guid = ticket.as_str();
            let children = client.list_children("/elect").await.unwrap_or_default();
            let elections = children.iter().filter_map(|child| child.parse::<ElectionName>().ok());
            for election in elections {
                for (path, _) in nodes(&client, &election).await {
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
        for (path, _) in nodes(&client, election).await {
            let _ = client.delete(&path, None).await;
        }
        let gone = client.delete(&path_of(election), None).await;
        gone.expect("nobody is in it");
    }

    async fn evict(&self, election: &ElectionName, candidate: &Candidate) {
        let client = self.raw().await;
        let id = format!("\"id\":{}", serde_json::to_string(&candidate.id).expect("an id"));
        let all = nodes(&client, election).await;
        let ours = |(_, data): &&(String, Vec<u8>)| String::from_utf8_lossy(data).contains(&id);
        let (path, _) = all.iter().find(ours).expect("an entry of this candidate");
        client.delete(path, None).await.expect("it is there");
    }

    async fn stall(&self, _election: &ElectionName) -> Stall {
        if let Some(proxy) = &self.proxy {
            proxy.both(Mode::Hold);
            return Box::new(Held(Arc::clone(proxy)));
        }
        let pids = self.servers.pids();
        for pid in &pids {
            kill(Pid::from_raw(*pid), Signal::SIGSTOP).expect("the server lives");
        }
        Box::new(Stopped(pids))
    }
}

//! The etcd that the conformance suite tests.

use std::net::SocketAddr;
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{Boottime, Candidate, ElectionName, Seat, Store};
use elect_testkit::fault::TcpProxy;
use elect_testkit::servers::{Etcd, Part};
use elect_testkit::{Bench, Servers, Stall, oracle};
use etcd_client::{Client, DeleteOptions, GetOptions};

/// A separate prefix of a shared cluster for each test, or a separate cluster.
pub(crate) struct EtcdBench {
    members: Vec<SocketAddr>,
    /// The prefix of the keys of all elections.
    prefix: String,
    /// The cluster, if no other test uses it.
    own: Option<Etcd>,
    /// The proxies to the members, if connections go through proxies.
    proxies: Vec<TcpProxy>,
}

impl EtcdBench {
    /// Uses a cluster of `members` members.
    pub(crate) fn new(servers: Servers, members: usize) -> Self {
        let part = Part::of_etcd(members).filter(|_| servers == Servers::Shared);
        if let Some(Part { servers, name }) = part {
            return Self { members: servers, prefix: name, own: None, proxies: Vec::new() };
        }
        let own = Etcd::start(members);
        let members = own.endpoints();
        Self { members, prefix: "elect".to_owned(), own: Some(own), proxies: Vec::new() }
    }

    /// Uses a member behind a proxy.
    pub(crate) fn through_a_proxy(servers: Servers) -> Self {
        let straight = Self::new(servers, 1);
        let proxies = straight.members.iter().copied().map(TcpProxy::start).collect();
        Self { proxies, ..straight }
    }

    fn url(&self) -> String {
        let proxies = self.proxies.iter().map(TcpProxy::address);
        let straight = self.members.iter().copied().filter(|_| self.proxies.is_empty());
        let ways: Vec<String> = proxies.chain(straight).map(|way| way.to_string()).collect();
        format!("etcd://{}/{}", ways.join(","), self.prefix)
    }

    /// Returns a client that elect does not use.
    async fn client(&self) -> Client {
        Client::connect([self.members[0].to_string()], None).await.expect("a client")
    }

    fn prefix_of(&self, election: &ElectionName) -> String {
        format!("{}/{election}/", self.prefix)
    }
}

#[async_trait]
impl Bench for EtcdBench {
    async fn connect(&self) -> Box<dyn Store> {
        elect_etcd::connect(&self.url()).expect("a good URL")
    }

    fn now(&self) -> Boottime {
        oracle::now()
    }

    fn ttl(&self) -> Duration {
        Duration::from_secs(4)
    }

    async fn crash(&self, store: Box<dyn Store>, seat: Box<dyn Seat>) {
        let ticket = seat.ticket().expect("a ticket");
        drop((seat, store));
        let client = self.client().await;
        let lease = i64::from_str_radix(ticket.as_str(), 16).expect("a lease");
        let revoke = async move { client.lease_client().revoke(lease).await };
        // A stalled store carries this out only when it goes on.
        let _ = tokio::time::timeout(Duration::from_millis(500), revoke).await;
    }

    async fn wipe(&self, election: &ElectionName) {
        let all = DeleteOptions::new().with_prefix();
        self.client().await.delete(self.prefix_of(election), Some(all)).await.expect("a deletion");
    }

    async fn evict(&self, election: &ElectionName, candidate: &Candidate) {
        let mut client = self.client().await;
        let id = serde_json::to_string(&candidate.id).expect("an id");
        let all = GetOptions::new().with_prefix();
        let entries = client.get(self.prefix_of(election), Some(all)).await.expect("a listing");
        let ours = entries
            .kvs()
            .iter()
            .find(|kv| kv.value_str().is_ok_and(|text| text.contains(&format!("\"id\":{id}"))))
            .expect("an entry of this candidate");
        client.delete(ours.key(), None).await.expect("a deletion");
    }

    async fn stall(&self, _election: &ElectionName) -> Stall {
        Box::new(self.own.as_ref().expect("a cluster of its own").stop())
    }
}

//! etcd under test.

use std::net::SocketAddr;
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{Boottime, Candidate, ElectionName, Seat, Store};
use elect_testkit::fault::TcpProxy;
use elect_testkit::servers::Etcd;
use elect_testkit::{Bench, Stall, oracle};
use etcd_client::{Client, DeleteOptions, GetOptions};

/// A cluster of its own for each test, which goes with it.
pub(crate) struct EtcdBench {
    cluster: Etcd,
    proxies: Vec<TcpProxy>,
}

impl EtcdBench {
    /// A cluster of so many members.
    pub(crate) fn new(members: usize) -> Self {
        Self { cluster: Etcd::start(members), proxies: Vec::new() }
    }

    /// A member behind a proxy.
    pub(crate) fn through_a_proxy() -> Self {
        let cluster = Etcd::start(1);
        let proxies = cluster.endpoints().into_iter().map(TcpProxy::start).collect();
        Self { cluster, proxies }
    }

    fn url(&self) -> String {
        let ways: Vec<SocketAddr> = self.proxies.iter().map(TcpProxy::address).collect();
        if ways.is_empty() { self.cluster.url() } else { self.cluster.url_through(&ways) }
    }

    /// A client that is none of elect's.
    async fn client(&self) -> Client {
        let endpoint = self.cluster.endpoints()[0].to_string();
        Client::connect([endpoint], None).await.expect("a client")
    }
}

fn prefix(election: &ElectionName) -> String {
    format!("elect/{election}/")
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
        // A store that is stalled notices nothing until then.
        let _ = tokio::time::timeout(Duration::from_millis(500), revoke).await;
    }

    async fn wipe(&self, election: &ElectionName) {
        let all = DeleteOptions::new().with_prefix();
        self.client().await.delete(prefix(election), Some(all)).await.expect("a deletion");
    }

    async fn evict(&self, election: &ElectionName, candidate: &Candidate) {
        let mut client = self.client().await;
        let id = serde_json::to_string(&candidate.id).expect("an id");
        let all = GetOptions::new().with_prefix();
        let entries = client.get(prefix(election), Some(all)).await.expect("a listing");
        let ours = entries
            .kvs()
            .iter()
            .find(|kv| kv.value_str().is_ok_and(|text| text.contains(&format!("\"id\":{id}"))))
            .expect("an entry of this candidate");
        client.delete(ours.key(), None).await.expect("a deletion");
    }

    async fn stall(&self, _election: &ElectionName) -> Stall {
        Box::new(self.cluster.stop())
    }
}

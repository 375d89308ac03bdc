//! Gives each test a separate namespace of an API server.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use elect_api::{Boottime, Candidate, ElectionName, Seat, Store};
use elect_testkit::servers::ApiServer;
use elect_testkit::{Bench, Stall, oracle};
use serde_json::Value;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// The time in which a server carries out all changes by hand, unless it is stopped.
const PATIENCE: Duration = Duration::from_secs(2);

pub(crate) struct LeaseBench {
    server: Arc<ApiServer>,
    namespace: String,
    order: &'static str,
}

impl LeaseBench {
    /// Uses an existing namespace.
    pub(crate) fn new(server: Arc<ApiServer>, namespace: &str, order: &'static str) -> Self {
        Self { server, namespace: namespace.to_owned(), order }
    }

    /// Does something with each Lease by hand. A stopped server carries this out only when it goes on.
    async fn with_leases(&self, what: impl Fn(&ApiServer, Value) + Send + 'static) {
        let server = Arc::clone(&self.server);
        let path = format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases", self.namespace);
        let all = spawn_blocking(move || {
            let (_, list) = server.call("GET", &path, None);
            for lease in list["items"].as_array().into_iter().flatten() {
                what(&server, lease.clone());
            }
        });
        let _ = timeout(PATIENCE, all).await;
    }
}

fn path(lease: &Value) -> String {
    let metadata = |field: &str| lease["metadata"][field].as_str().expect("a text").to_owned();
    let (namespace, name) = (metadata("namespace"), metadata("name"));
    format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}")
}

/// Deletes a Lease as `kubectl delete lease` does.
fn delete(server: &ApiServer, lease: &Value) {
    let (status, answer) = server.call("DELETE", &path(lease), None);
    assert!([200, 404].contains(&status), "{answer}");
}

/// Gives a Lease up as client-go does, unless another candidate has it by then.
fn release(server: &ApiServer, mut lease: Value) {
    let (path, holder) = (path(&lease), lease["spec"]["holderIdentity"].take());
    loop {
        lease["spec"]["holderIdentity"] = "".into();
        lease["spec"]["leaseDurationSeconds"] = 1.into();
        let (status, answer) = server.call("PUT", &path, Some(&lease));
        assert!([200, 409].contains(&status), "{answer}");
        if status == 200 {
            return;
        }
        lease = server.call("GET", &path, None).1;
        if lease["spec"]["holderIdentity"] != holder {
            return;
        }
    }
}

fn annotation(lease: &Value, key: &str) -> Value {
    let text = lease["metadata"]["annotations"][key].as_str();
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

#[async_trait]
impl Bench for LeaseBench {
    async fn connect(&self) -> Box<dyn Store> {
        let url = format!("{}&order={}", self.server.url(&self.namespace), self.order);
        elect_kubernetes::connect(&url).expect("a good URL")
    }

    fn now(&self) -> Boottime {
        oracle::now()
    }

    fn ttl(&self) -> Duration {
        Duration::from_secs(6)
    }

    async fn crash(&self, store: Box<dyn Store>, seat: Box<dyn Seat>) {
        let ticket = seat.ticket().expect("a ticket");
        drop((seat, store));
        let digits =
            ticket.as_str().strip_prefix("record-").expect("a ticket of records").to_owned();
        let nonce = u64::from_str_radix(&digits, 16).expect("a nonce");
        self.with_leases(move |server, lease| {
            let name = lease["metadata"]["name"].as_str().expect("a name");
            if name.ends_with(&format!(".{digits}")) {
                delete(server, &lease);
            } else if annotation(&lease, "elect/record")["record"]["holder"]["nonce"] == nonce {
                release(server, lease);
            }
        })
        .await;
    }

    async fn wipe(&self, election: &ElectionName) {
        let election = election.to_string();
        self.with_leases(move |server, lease| {
            let name = lease["metadata"]["name"].as_str().expect("a name");
            if name.starts_with(&election) {
                delete(server, &lease);
            }
        })
        .await;
    }

    async fn evict(&self, _: &ElectionName, candidate: &Candidate) {
        let id = candidate.id.clone();
        self.with_leases(move |server, lease| {
            if annotation(&lease, "elect/waiter")["candidate"]["id"] == id {
                delete(server, &lease);
            } else if lease["spec"]["holderIdentity"] == id {
                release(server, lease);
            }
        })
        .await;
    }

    async fn stall(&self, _: &ElectionName) -> Stall {
        self.server.stop();
        Box::new(Stopped(Arc::clone(&self.server)))
    }
}

/// A stopped API server.
struct Stopped(Arc<ApiServer>);

impl Drop for Stopped {
    fn drop(&mut self) {
        self.0.resume();
    }
}

//! Events on the Lease of an election, in client-go's format: a candidate became leader, or stopped leading. They are
//! for people. Only the exit of the process waits for them, and only for a short time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use hyper::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::api::Api;
use crate::client::Failure;
use crate::lease;

/// The time limit for one event.
const LIMIT: Duration = Duration::from_secs(2);

/// Writes the events, unless the API server refuses that.
pub(crate) struct Events {
    api: Arc<Api>,
    are_refused: Arc<AtomicBool>,
    under_way: Mutex<JoinSet<()>>,
}

impl Events {
    pub(crate) fn new(api: Arc<Api>) -> Self {
        Self { api, are_refused: Arc::default(), under_way: Mutex::default() }
    }

    /// Writes an event if the holder of a Lease has changed.
    pub(crate) async fn tell(&self, before: Option<&Value>, after: &Value, now: SystemTime) {
        let was = before.map_or("", lease::holder);
        let is = lease::holder(after);
        if was == is || self.are_refused.load(Ordering::Relaxed) {
            return;
        }
        let message = if is.is_empty() {
            format!("{was} stopped leading")
        } else {
            format!("{is} became leader")
        };
        let event = self.event(after, &message, now);
        let (api, are_refused) = (Arc::clone(&self.api), Arc::clone(&self.are_refused));
        let told = async move {
            let path = format!("/api/v1/namespaces/{}/events", api.namespace);
            let told = api.client.call(Method::POST, &path, Some(&event), LIMIT).await;
            if let Err(Failure::Refused { status: 403, .. }) = told {
                are_refused.store(true, Ordering::Relaxed);
            }
        };
        if is.is_empty() {
            // The process may be about to end.
            return told.await;
        }
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        while under_way.try_join_next().is_some() {}
        under_way.spawn(told);
    }

    fn event(&self, of: &Value, message: &str, now: SystemTime) -> Value {
        let name = lease::name(of);
        let now = humantime::format_rfc3339_seconds(now).to_string();
        json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": format!("{name}.{:016x}", fastrand::u64(..))},
            "involvedObject": {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "namespace": self.api.namespace,
                "name": name,
                "uid": of["metadata"]["uid"],
                "resourceVersion": of["metadata"]["resourceVersion"],
            },
            "reason": "LeaderElection",
            "message": message,
            "type": "Normal",
            "source": {"component": "elect"},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        })
    }
}

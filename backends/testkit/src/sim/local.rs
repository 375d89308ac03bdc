use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use elect_api::{Boottime, Error, Store};
use tokio::sync::watch;

use super::controls::Steer;
use super::message::{Envelope, Reply};
use super::service::{CallId, Command, Outcome, Service};
use super::store;
use super::transport::Transport;
use super::{Clock, Controls, Options};

/// A simulated store in this process, on any clock, even a paused one.
#[derive(Clone)]
pub struct Sim {
    options: Options,
    inner: Arc<Inner>,
}

struct Inner {
    service: Mutex<Service>,
    clock: Arc<dyn Clock>,
    /// Changes whenever there are replies to take.
    bell: watch::Sender<u64>,
}

impl Sim {
    /// Creates a store without any election. Its time comes from `clock`, at the store's own rate.
    pub fn new(options: Options, clock: Arc<dyn Clock>) -> Self {
        let service = Mutex::new(Service::new(options.clone()));
        let bell = watch::Sender::new(0);
        Self { options, inner: Arc::new(Inner { service, clock, bell }) }
    }

    /// Opens a new connection to it.
    pub fn connect(&self) -> Box<dyn Store> {
        let transport = Arc::clone(&self.inner);
        let Options { kind, promise, .. } = self.options;
        store::connect(transport, (kind, promise), format!("sim:{}", self.options.query()))
    }

    /// Returns its controls.
    pub fn controls(&self) -> Controls {
        Controls::new(Arc::clone(&self.inner) as Arc<dyn Steer>)
    }
}

impl Inner {
    /// Calls `act` on the store at the present time, and wakes the calls that have a reply then.
    fn with<T>(&self, act: impl FnOnce(&mut Service, Boottime) -> T) -> T {
        let mut service = self.service.lock().unwrap_or_else(PoisonError::into_inner);
        let result = act(&mut service, self.clock.now());
        let news = service.take_news();
        drop(service);
        if news {
            self.bell.send_modify(|count| *count += 1);
        }
        result
    }

    async fn until(&self, due: Option<Boottime>) {
        match due {
            Some(due) => self.clock.until(due).await,
            None => std::future::pending().await,
        }
    }
}

/// A call under way. A drop abandons it.
struct Call<'a> {
    inner: &'a Inner,
    id: CallId,
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.inner.with(|service, _| service.abandon(self.id));
    }
}

#[async_trait]
impl Transport for Inner {
    /// Yields once before the request arrives and once before its reply is read. A test that drops the
    /// call can do so at either point, as with a real connection.
    async fn call(&self, envelope: Envelope) -> Result<Reply, Error> {
        tokio::task::yield_now().await;
        let mut bell = self.bell.subscribe();
        let id = self.with(|service, now| service.receive(now, envelope));
        let call = Call { inner: self, id };
        tokio::task::yield_now().await;
        loop {
            bell.mark_unchanged();
            let (reply, due) = self.with(|service, now| {
                service.run(now);
                (service.take(call.id), service.next_due())
            });
            if let Some(reply) = reply {
                return Ok(reply);
            }
            tokio::select! {
                changed = bell.changed() => drop(changed),
                () = self.until(due) => {}
            }
        }
    }
}

impl Steer for Inner {
    fn steer(&self, command: Command) -> Outcome {
        self.with(|service, now| service.command(now, command))
    }
}

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard};

use elect_api::Wake;
use zookeeper_client::Error as Zk;

use crate::client::Client;
use crate::task::lock;
use crate::watch::NodeWatch;

/// An observer's client. Closing a session does not wait for its observers.
#[derive(Clone)]
pub(crate) struct Observer {
    client: Client,
    observers: Arc<Observers>,
}

/// The part that all observers of one session share.
#[derive(Default)]
pub(crate) struct Observers {
    /// Watches on cells, by their paths. None is cancelled before it has fired: the library would cancel all watches of
    /// the path at the server. One of these may be a seat's, requested but not answered yet.
    watches: Mutex<HashMap<String, NodeWatch>>,
}

impl Observer {
    pub(crate) const fn new(client: Client, observers: Arc<Observers>) -> Self {
        Self { client, observers }
    }

    /// Returns a wake that ends when the cell at this path is made, changed or removed later. One request, unless
    /// another observer waits for the same cell already.
    pub(crate) async fn wake_of(&self, path: &str) -> Result<Wake, Zk> {
        if let Some(watch) = self.watches().get(path).filter(|watch| watch.is_armed()) {
            return Ok(watch.wake());
        }
        let (_, watcher) = self.client.check_and_watch_stat(path).await?;
        let watch = NodeWatch::new(&self.client, path.to_owned(), watcher);
        let wake = watch.wake();
        self.watches().insert(path.to_owned(), watch);
        Ok(wake)
    }

    fn watches(&self) -> MutexGuard<'_, HashMap<String, NodeWatch>> {
        lock(&self.observers.watches)
    }
}

impl Deref for Observer {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

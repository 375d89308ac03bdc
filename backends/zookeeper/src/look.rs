use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard};

use elect_api::Wake;
use zookeeper_client::Error as Zk;

use crate::client::Client;
use crate::task::lock;
use crate::watch::NodeWatch;

/// A session of whoever looks: the end of one waits for nobody who looks by it.
#[derive(Clone)]
pub(crate) struct Look {
    client: Client,
    lookers: Arc<Lookers>,
}

/// What all have in common who look by one session.
#[derive(Default)]
pub(crate) struct Lookers {
    /// On sheets. None is taken back before it has fired: the library takes back what the server keeps for a
    /// path, and with it the watch of a seat on the same sheet that has been asked for and is not answered yet.
    watches: Mutex<HashMap<String, NodeWatch>>,
}

impl Look {
    pub(crate) const fn new(client: Client, lookers: Arc<Lookers>) -> Self {
        Self { client, lookers }
    }

    /// Ends when the sheet at this path comes, changes or goes after this returned. One request, if nobody
    /// waits for that already.
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
        lock(&self.lookers.watches)
    }
}

impl Deref for Look {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

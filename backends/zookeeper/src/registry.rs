use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use elect_api::Boottime;

use crate::client::Client;
use crate::directory::Directory;
use crate::guid::Guid;
use crate::task::{Task, lock};

/// Between two attempts to remove what a seat has left.
const PAUSE: Duration = Duration::from_secs(1);

/// Who has entries in one session.
///
/// A session goes on as long as one of its seats asks, and the entries of the others with it. So that a seat
/// that asks no more, dropped or stuck, loses its place as if it had a session of its own, the others remove
/// its entries once it has not asked for S: no proof of it counts from later than its last call.
#[derive(Default)]
pub(crate) struct Registry {
    sharers: Mutex<HashMap<u64, Sharer>>,
    sweep: Mutex<Option<Task<()>>>,
}

/// What a seat has in a session, or may have.
pub(crate) struct Sharer {
    /// When it began its last call.
    pub(crate) asked: Boottime,
    pub(crate) directory: Directory,
    pub(crate) guids: Vec<Guid>,
}

impl Registry {
    /// The seat of this number asks, and has this. Removes what is left of those who have not asked for
    /// `window`.
    pub(crate) fn enter(&self, number: u64, sharer: Sharer, window: Duration, client: &Client) {
        let now = sharer.asked;
        let mut sharers = lock(&self.sharers);
        sharers.insert(number, sharer);
        let mut sweep = lock(&self.sweep);
        if sharers.len() == 1 || sweep.as_ref().is_some_and(|sweep| !sweep.is_finished()) {
            return;
        }
        let late = sharers.extract_if(|_, sharer| sharer.asked + window <= now);
        let late: Vec<Sharer> = late.map(|(_, sharer)| sharer).collect();
        *sweep = (!late.is_empty()).then(|| Task::start(remove(client.clone(), late)));
    }

    /// Nothing is left of this seat.
    pub(crate) fn strike(&self, number: u64) {
        lock(&self.sharers).remove(&number);
    }
}

async fn remove(client: Client, sharers: Vec<Sharer>) {
    for Sharer { directory, guids, .. } in sharers {
        while let Err(error) = directory.remove_all(&client, &guids).await
            && !error.is_permanent()
            && !client.state().is_terminated()
        {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

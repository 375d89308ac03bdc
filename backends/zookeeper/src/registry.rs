use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use elect_api::Boottime;

use crate::client::Client;
use crate::directory::Directory;
use crate::guid::Guid;
use crate::task::{Task, lock};

/// The pause between two attempts to remove a seat's entries.
const PAUSE: Duration = Duration::from_secs(1);

/// The seats that have entries in one session.
///
/// A session goes on as long as one of its seats asks, and with it the entries of all seats. But a seat that was
/// dropped or is stuck must lose its place, as it would with its own session. So the others remove its entries once it
/// has not asked for S. None of its proofs counts from later than its last call.
#[derive(Default)]
pub(crate) struct Registry {
    sharers: Mutex<HashMap<u64, Sharer>>,
    sweep: Mutex<Option<Task<()>>>,
}

/// The entries that a seat has in a session, or may have.
pub(crate) struct Sharer {
    /// The start of its last call.
    pub(crate) asked: Boottime,
    pub(crate) directory: Directory,
    pub(crate) guids: Vec<Guid>,
}

impl Registry {
    /// Records a call of the seat with this number, and its entries. Removes the entries of seats that have not called
    /// for `window`.
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

    /// Forgets this seat, which has no entries left.
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

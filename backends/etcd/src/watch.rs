use std::sync::Arc;
use std::time::Duration;

use elect_api::Wake;
use etcd_client::{Client, WatchFilterType, WatchOptions};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::sleep;

use crate::link::Attempt;
use crate::queue::Rival;

/// An event that a watch waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A candidate's entry ends.
    End(Rival),
    /// The cell with this key changes.
    Change(String),
}

impl Event {
    fn key(&self) -> &str {
        match self {
            Self::End(rival) => &rival.key,
            Self::Change(key) => key,
        }
    }

    fn options(&self, from: i64) -> WatchOptions {
        let unwanted = match self {
            Self::End(_) => vec![WatchFilterType::NoPut],
            Self::Change(_) => Vec::new(),
        };
        WatchOptions::new().with_start_revision(from).with_filters(unwanted)
    }
}

/// The state of a watch, as its wakes see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bell {
    Silent,
    /// One of its events has happened.
    Came,
    /// It has broken off.
    Deaf,
}

/// When a watch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stand {
    AtOnce,
    /// After [`CALM`], so that no short command pays for it. It misses nothing, because it begins at the revision that
    /// was seen.
    InTime,
}

/// Longer than the shortest commands take. A request to a new leader waits no longer than this.
const CALM: Duration = Duration::from_millis(500);

/// A watch over one connection for the first of some events. All wakes of a seat for the same events share it.
pub(crate) struct Watch {
    events: Vec<Event>,
    generation: u64,
    bell: Arc<watch::Sender<Bell>>,
    task: AbortHandle,
}

impl Watch {
    /// Starts a watch for all events after `revision`.
    ///
    /// A watch that breaks off after it stood wakes once if it is `loud`. One that replaces a watch that broke off is
    /// not loud. Otherwise each would cause the next without end.
    fn start(
        client: Client,
        generation: u64,
        events: Vec<Event>,
        revision: i64,
        (stand, loud): (Stand, bool),
    ) -> Self {
        let bell = Arc::new(watch::Sender::new(Bell::Silent));
        let looked_for = events.clone();
        let rings = Arc::clone(&bell);
        let task = tokio::spawn(async move {
            if stand == Stand::InTime {
                sleep(CALM).await;
            }
            match listen(client, &looked_for, revision + 1).await {
                End::Came => rings.send_replace(Bell::Came),
                End::BrokeOff if loud => rings.send_replace(Bell::Deaf),
                End::BrokeOff | End::NeverStood => Bell::Silent,
            };
        });
        Self { events, generation, bell, task: task.abort_handle() }
    }

    /// Returns whether it still watches for these events, over this connection.
    fn is_on(&self, events: &[Event], generation: u64) -> bool {
        self.events == events && self.generation == generation && !self.task.is_finished()
    }

    /// Returns whether it watched for these events and ended before one happened.
    fn broke_off(&self, events: &[Event]) -> bool {
        self.events == events && self.task.is_finished() && *self.bell.borrow() != Bell::Came
    }

    /// Wakes if it has broken off without a wake: for cells that no refresh reads.
    pub(crate) fn wake_if_deaf(&self) {
        if self.task.is_finished() {
            self.bell.send_replace(Bell::Deaf);
        }
    }

    /// Returns a wake that ends at the first event, or when another refresh is useful for another reason.
    fn wake(&self) -> Wake {
        let mut rung = self.bell.subscribe();
        Box::pin(async move {
            if rung.wait_for(|bell| *bell != Bell::Silent).await.is_err() {
                // Another watch has replaced this one.
                std::future::pending::<()>().await;
            }
        })
    }
}

/// Returns the wake of a watch for events after `seen`, over the connection of `attempt`. Keeps the watch in `place` if
/// it fits, and otherwise replaces it.
pub(crate) fn watch_for(
    place: &mut Option<Watch>,
    attempt: &Attempt,
    seen: i64,
    events: Vec<Event>,
    stand: Stand,
) -> Wake {
    let generation = attempt.generation();
    let watch = match place.take() {
        Some(watch) if watch.is_on(&events, generation) => watch,
        old => {
            let broke_off = old.is_some_and(|watch| watch.broke_off(&events));
            Watch::start(attempt.client(), generation, events, seen, (stand, !broke_off))
        }
    };
    place.insert(watch).wake()
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The number of replies without content that a watch reads: etcd sends none without a request.
const IDLE: usize = 16;

enum End {
    Came,
    BrokeOff,
    NeverStood,
}

async fn listen(mut client: Client, events: &[Event], from: i64) -> End {
    let Some((first, others)) = events.split_first() else { return End::NeverStood };
    let Ok(mut stream) = client.watch(first.key(), Some(first.options(from))).await else {
        return End::NeverStood;
    };
    for event in others {
        if stream.watch(event.key(), Some(event.options(from))).await.is_err() {
            return End::NeverStood;
        }
    }
    let mut standing = 0;
    for _ in 0..events.len() + IDLE {
        let Ok(Some(reply)) = stream.message().await else { break };
        if !reply.events().is_empty() {
            return End::Came;
        }
        if reply.canceled() {
            break;
        }
        standing += usize::from(reply.created());
    }
    if standing == events.len() { End::BrokeOff } else { End::NeverStood }
}

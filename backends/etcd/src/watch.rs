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

/// The state of a watch. Each state but the first ends the wakes of the watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Watching,
    /// An event has happened.
    Happened,
    /// The watch has broken off, and sees no further event.
    BrokenOff,
}

/// The time at which elect asks etcd to watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    AtOnce,
    /// [`DELAY`] later, so that short commands end before. The watch misses nothing: it begins at the revision that the
    /// caller has seen.
    Later,
}

/// The delay is longer than the shortest commands take. A new leader may learn of a request that much later.
const DELAY: Duration = Duration::from_millis(500);

/// A watch over one connection, which ends at the first of its events. All wakes of a seat for the same events share
/// it.
pub(crate) struct Watch {
    events: Vec<Event>,
    generation: u64,
    state: Arc<watch::Sender<State>>,
    task: AbortHandle,
}

impl Watch {
    /// Starts a watch for all events after `revision`.
    ///
    /// A `loud` watch wakes once if it breaks off after etcd has confirmed it. A watch that replaces a broken one is
    /// not loud: otherwise each one would cause the next without end.
    fn start(
        client: Client,
        generation: u64,
        events: Vec<Event>,
        revision: i64,
        (begin, loud): (Begin, bool),
    ) -> Self {
        let state = Arc::new(watch::Sender::new(State::Watching));
        let (awaited, sender) = (events.clone(), Arc::clone(&state));
        let task = tokio::spawn(async move {
            if begin == Begin::Later {
                sleep(DELAY).await;
            }
            match listen(client, &awaited, revision + 1).await {
                End::Happened => sender.send_replace(State::Happened),
                End::BrokenOff if loud => sender.send_replace(State::BrokenOff),
                End::BrokenOff | End::Unconfirmed => State::Watching,
            };
        });
        Self { events, generation, state, task: task.abort_handle() }
    }

    /// Returns whether this watch still goes on, for these events and over this connection.
    fn is_on(&self, events: &[Event], generation: u64) -> bool {
        self.events == events && self.generation == generation && !self.task.is_finished()
    }

    /// Returns whether this watch was for these events, and ended before one happened.
    fn broke_off(&self, events: &[Event]) -> bool {
        self.events == events && self.task.is_finished() && *self.state.borrow() != State::Happened
    }

    /// Wakes if the watch has broken off without a wake: for cells that no refresh reads.
    pub(crate) fn wake_if_broken_off(&self) {
        if self.task.is_finished() {
            self.state.send_replace(State::BrokenOff);
        }
    }

    /// Returns a wake that ends at the first event, or when another refresh is useful for another reason.
    fn wake(&self) -> Wake {
        let mut state = self.state.subscribe();
        Box::pin(async move {
            if state.wait_for(|state| *state != State::Watching).await.is_err() {
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
    begin: Begin,
) -> Wake {
    let generation = attempt.generation();
    let watch = match place.take() {
        Some(watch) if watch.is_on(&events, generation) => watch,
        old => {
            let broke_off = old.is_some_and(|watch| watch.broke_off(&events));
            Watch::start(attempt.client(), generation, events, seen, (begin, !broke_off))
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
    Happened,
    BrokenOff,
    /// etcd has not confirmed the watch for all events.
    Unconfirmed,
}

async fn listen(mut client: Client, events: &[Event], from: i64) -> End {
    let Some((first, others)) = events.split_first() else { return End::Unconfirmed };
    let Ok(mut stream) = client.watch(first.key(), Some(first.options(from))).await else {
        return End::Unconfirmed;
    };
    for event in others {
        if stream.watch(event.key(), Some(event.options(from))).await.is_err() {
            return End::Unconfirmed;
        }
    }
    let mut confirmed = 0;
    for _ in 0..events.len() + IDLE {
        let Ok(Some(reply)) = stream.message().await else { break };
        if !reply.events().is_empty() {
            return End::Happened;
        }
        if reply.canceled() {
            break;
        }
        confirmed += usize::from(reply.created());
    }
    if confirmed == events.len() { End::BrokenOff } else { End::Unconfirmed }
}

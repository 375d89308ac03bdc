use std::sync::Arc;

use elect_api::Wake;
use etcd_client::{Client, WatchFilterType, WatchOptions};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::link::Attempt;
use crate::queue::Rival;

/// What is looked out for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The end of a candidate.
    End(Rival),
    /// A change of the note with this key.
    Change(String),
}

impl Event {
    fn key(&self) -> &str {
        match self {
            Self::End(rival) => &rival.key,
            Self::Change(key) => key,
        }
    }

    fn unwanted(&self) -> Vec<WatchFilterType> {
        match self {
            Self::End(_) => vec![WatchFilterType::NoPut],
            Self::Change(_) => Vec::new(),
        }
    }
}

/// A look-out over one connection. All wakes of a seat for the same event share it.
pub(crate) struct Watch {
    event: Event,
    generation: u64,
    bell: Arc<watch::Sender<bool>>,
    task: AbortHandle,
}

impl Watch {
    /// Looks out from `revision` on, at which it had not come yet.
    ///
    /// A look-out that breaks off after it stood wakes once if it is `loud`: one that takes the place of
    /// another that broke off is not, or the two would keep each other busy.
    fn start(client: Client, generation: u64, event: Event, revision: i64, loud: bool) -> Self {
        let bell = Arc::new(watch::Sender::new(false));
        let looked_for = event.clone();
        let rings = Arc::clone(&bell);
        let task = tokio::spawn(async move {
            match listen(client, looked_for, revision + 1).await {
                End::Came => rings.send_replace(true),
                End::BrokeOff if loud => rings.send_replace(true),
                End::BrokeOff | End::NeverStood => false,
            };
        });
        Self { event, generation, bell, task: task.abort_handle() }
    }

    /// Whether it still looks out for this, over this connection.
    fn is_on(&self, event: &Event, generation: u64) -> bool {
        self.event == *event && self.generation == generation && !self.task.is_finished()
    }

    /// Whether it looked out for this and has ended.
    fn broke_off(&self, event: &Event) -> bool {
        self.event == *event && self.task.is_finished()
    }

    /// Wakes if it has broken off in silence: for what no refresh looks at.
    pub(crate) fn wake_if_deaf(&self) {
        if self.task.is_finished() {
            self.bell.send_replace(true);
        }
    }

    /// Ends when it has come, or when asking again is wise for another reason.
    fn wake(&self) -> Wake {
        let mut rung = self.bell.subscribe();
        Box::pin(async move {
            if rung.wait_for(|rung| *rung).await.is_err() {
                // Replaced.
                std::future::pending::<()>().await;
            }
        })
    }
}

/// The wake of a look-out from `seen` on, over the connection of `attempt`: of the one in `place` if that
/// will do, else of another in its place.
pub(crate) fn look_out(
    place: &mut Option<Watch>,
    attempt: &Attempt,
    seen: i64,
    event: Event,
) -> Wake {
    let generation = attempt.generation();
    let watch = match place.take() {
        Some(watch) if watch.is_on(&event, generation) => watch,
        old => {
            let broke_off = old.is_some_and(|watch| watch.broke_off(&event));
            Watch::start(attempt.client(), generation, event, seen, !broke_off)
        }
    };
    place.insert(watch).wake()
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

enum End {
    Came,
    BrokeOff,
    NeverStood,
}

async fn listen(mut client: Client, event: Event, from: i64) -> End {
    let options = WatchOptions::new().with_start_revision(from).with_filters(event.unwanted());
    let Ok(mut stream) = client.watch(event.key(), Some(options)).await else {
        return End::NeverStood;
    };
    let mut stood = false;
    while let Ok(Some(reply)) = stream.message().await {
        if !reply.events().is_empty() {
            return End::Came;
        }
        if reply.canceled() {
            break;
        }
        stood |= reply.created();
    }
    if stood { End::BrokeOff } else { End::NeverStood }
}

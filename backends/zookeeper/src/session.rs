use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Waker};
use std::time::Duration;

use elect_api::Boottime;
use tokio::sync::watch;
use tokio::time::timeout;
use zookeeper_client::{Client, SessionState, StateWatcher};

use crate::anchor::Anchors;
use crate::task::Task;

/// The session that a seat's entry lives in.
///
/// The client library keeps it alive by pings of its own. So that these do not keep an election for an
/// engine that is stuck, a watchdog closes the session when no refresh was called for as long as the
/// session may be silent, S: whoever does not ask loses the place as if the session had ended by
/// itself. It never does so earlier than any proof says, as none counts from later than the last call.
pub(crate) struct Session {
    client: Slot,
    calls: watch::Sender<()>,
    states: StateWatcher,
    _watchdog: Task<()>,
    /// How old what it proves is.
    pub(crate) anchors: Anchors,
    /// S, as the server granted it.
    pub(crate) window: Duration,
    /// What the nodes of this session have as their owner.
    pub(crate) id: i64,
}

/// Empty once the watchdog has bitten.
type Slot = Arc<Mutex<Option<Client>>>;

impl Session {
    /// Looks after a session whose connect was sent at `sent` or later.
    pub(crate) fn new(client: Client, sent: Boottime) -> Self {
        let states = client.state_watcher();
        let (window, id) = (client.session_timeout(), client.session_id().0);
        let client = Arc::new(Mutex::new(Some(client)));
        let (calls, called) = watch::channel(());
        let watchdog = Task::start(watch_over(Arc::downgrade(&client), called, window));
        let anchors = Anchors::new(window, sent);
        Self { client, calls, states, _watchdog: watchdog, anchors, window, id }
    }

    /// A refresh that began at `now` uses it.
    pub(crate) fn begin(&mut self, now: Boottime) {
        // Once the watchdog has ended there is nobody to hear it.
        let _ = self.calls.send(());
        self.anchors.begin(now);
    }

    /// Whether it was without a connection since this was last asked: it may have another server now.
    pub(crate) fn was_interrupted(&mut self) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        let mut was_interrupted = false;
        // States that followed each other quickly are seen as one.
        while pin!(self.states.changed()).poll(&mut context).is_ready() {
            was_interrupted = true;
        }
        was_interrupted
    }

    /// What it is used by.
    ///
    /// # Errors
    /// How it ended.
    pub(crate) fn client(&self) -> Result<Client, String> {
        let slot = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(client) = slot.as_ref() else {
            return Err(format!(
                "the session was closed, as nobody had asked for {:?}",
                self.window
            ));
        };
        match client.state() {
            SessionState::Expired => Err("the session has expired".into()),
            SessionState::AuthFailed => {
                Err("the session was ended: user or password are wrong".into())
            }
            SessionState::Closed => Err("the session was closed".into()),
            _ => Ok(client.clone()),
        }
    }

    /// Closes it, and returns when the server has heard.
    ///
    /// # Cancellation
    /// It is closed all the same.
    pub(crate) async fn close(self) {
        let client = self.client.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(client) = client {
            close(client).await;
        }
    }
}

/// Closes the session of a client that nobody else has.
///
/// # Cancellation
/// It is closed all the same, if the runtime goes on.
pub(crate) async fn close(client: Client) {
    let mut states = client.state_watcher();
    let mut state = client.state();
    drop(client);
    while !state.is_terminated() {
        state = states.changed().await;
    }
}

async fn watch_over(
    client: Weak<Mutex<Option<Client>>>,
    mut called: watch::Receiver<()>,
    patience: Duration,
) {
    loop {
        match timeout(patience, called.changed()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return,
            Err(_) => {
                let client = client.upgrade();
                drop(
                    client.and_then(|slot| {
                        slot.lock().unwrap_or_else(PoisonError::into_inner).take()
                    }),
                );
                return;
            }
        }
    }
}

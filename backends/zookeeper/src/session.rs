use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::{Context, Waker};
use std::time::Duration;

use elect_api::Boottime;
use tokio::sync::watch;
use tokio::time::timeout;
use zookeeper_client::{Client, SessionState, StateWatcher};

use crate::anchor::{Anchors, Calls};
use crate::dial::shorter_grant;
use crate::look::{Look, Lookers};
use crate::roll::Roll;
use crate::settings::Settings;
use crate::task::Task;

/// The session that the entries of a store's seats live in.
///
/// The client library keeps it alive by pings of its own. So that these do not keep an election for an
/// engine that is stuck, a watchdog closes the session when no refresh was called for as long as the
/// session may be silent, S: whoever does not ask loses the place as if the session had ended by
/// itself. It never does so earlier than any proof says, as none counts from later than the last call. For
/// one seat that does not ask while others do there is the [`Roll`].
pub(crate) struct Session {
    client: Slot,
    calls: watch::Sender<()>,
    states: Mutex<StateWatcher>,
    _watchdog: Task<()>,
    anchors: Mutex<Anchors>,
    /// Asks whether the servers grant what they did, after an interruption.
    audit: Mutex<Option<Task<()>>>,
    shortening: Arc<OnceLock<String>>,
    lookers: Arc<Lookers>,
    pub(crate) roll: Roll,
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
        let states = Mutex::new(client.state_watcher());
        let (window, id) = (client.session_timeout(), client.session_id().0);
        let client = Arc::new(Mutex::new(Some(client)));
        let (calls, called) = watch::channel(());
        let watchdog = Task::start(watch_over(Arc::downgrade(&client), called, window));
        Self {
            client,
            calls,
            states,
            _watchdog: watchdog,
            anchors: Mutex::new(Anchors::new(window, sent)),
            audit: Mutex::default(),
            shortening: Arc::default(),
            lookers: Arc::default(),
            roll: Roll::default(),
            window,
            id,
        }
    }

    /// A refresh uses it, the latest of these calls.
    pub(crate) fn begin(&self, now: Boottime, calls: &mut Calls) {
        calls.begin(now, &mut lock(&self.anchors));
        // Once the watchdog has ended there is nobody to hear it.
        let _ = self.calls.send(());
    }

    /// Whether whoever comes may enter by it.
    pub(crate) fn is_open(&self) -> bool {
        self.shortening.get().is_none() && self.client().is_ok()
    }

    /// The newest instant from which the lease of the session counts.
    pub(crate) fn proven(&self) -> Boottime {
        lock(&self.anchors).proven()
    }

    /// A quorum write of the call that began at `sent`, the latest of these, was acknowledged.
    pub(crate) fn confirmed(&self, sent: Boottime, calls: &mut Calls) {
        calls.confirmed(sent, &mut lock(&self.anchors));
    }

    /// Why it may end before its time, if that has come to light. After an interruption it may be with a
    /// server that has other limits; that is found out meanwhile, and told by later calls.
    pub(crate) fn shortening(&self, settings: &Arc<Settings>) -> Option<String> {
        if self.was_interrupted() {
            let (settings, window) = (Arc::clone(settings), self.window);
            let shortening = Arc::clone(&self.shortening);
            *lock(&self.audit) = Some(Task::start(async move {
                if let Some(why) = shorter_grant(settings, window).await {
                    let _ = shortening.set(why);
                }
            }));
        }
        self.shortening.get().cloned()
    }

    /// For whoever looks by it, with or without a seat in it.
    ///
    /// # Errors
    /// As [`Session::client`].
    pub(crate) fn look(&self) -> Result<Look, String> {
        Ok(Look::new(self.client()?, Arc::clone(&self.lookers)))
    }

    /// Whether it was without a connection since this was last asked: it may have another server now.
    fn was_interrupted(&self) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        let mut was_interrupted = false;
        let mut states = lock(&self.states);
        // States that followed each other quickly are seen as one.
        while pin!(states.changed()).poll(&mut context).is_ready() {
            was_interrupted = true;
        }
        was_interrupted
    }

    /// What it is used by.
    ///
    /// # Errors
    /// How it ended.
    pub(crate) fn client(&self) -> Result<Client, String> {
        let slot = lock(&self.client);
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

    /// Closes it, and returns when the server has heard, if it can; without waiting for whoever looks by it, until
    /// whose end it goes on.
    ///
    /// # Cancellation
    /// It is closed all the same.
    pub(crate) async fn close(self) {
        let Self { client, lookers, roll, .. } = self;
        drop(roll);
        let client = lock(&client).take();
        if let Some(client) = client
            && Arc::strong_count(&lookers) == 1
        {
            close(client).await;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Closes the session of a client that nobody else has. One without a connection ends by itself.
///
/// # Cancellation
/// It is closed all the same, if the runtime goes on.
pub(crate) async fn close(client: Client) {
    let mut states = client.state_watcher();
    let mut state = client.state();
    drop(client);
    while state == SessionState::SyncConnected {
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
                drop(client.and_then(|slot| lock(&slot).take()));
                return;
            }
        }
    }
}

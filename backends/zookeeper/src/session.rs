use std::mem;
use std::pin::pin;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::task::{Context, Waker};
use std::time::Duration;

use elect_api::Boottime;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use zookeeper_client::{SessionInfo, SessionState, StateWatcher};

use crate::anchor::{Anchors, Calls};
use crate::client::Client;
use crate::connect::{close, patience, resume, shorter_grant};
use crate::error::ends_session;
use crate::observer::{Observer, Observers};
use crate::registry::Registry;
use crate::serving;
use crate::settings::Settings;
use crate::task::{Task, lock};

/// The session in which the entries of a store's seats live.
///
/// The client library keeps it alive by pings. These must not keep an election for an engine that is stuck. So a
/// watchdog closes the session when no refresh was called for S, the time that the session may be silent. The candidate
/// then loses its place as if the session had ended by itself. The close never comes earlier than any proof permits,
/// because none counts from later than the last call. The [`Registry`] handles a single seat that does not ask while
/// others do.
///
/// If the client fails over an answer, another client replaces it, and the session goes on. The server does not notice,
/// and all proofs still hold.
pub(crate) struct Session {
    settings: Arc<Settings>,
    line: Arc<Mutex<Line>>,
    calls: watch::Sender<()>,
    /// The watchdog, and the task that makes the next client.
    keeper: Mutex<Task<()>>,
    anchors: Mutex<Anchors>,
    /// Checks after an interruption whether the servers still grant the same timeout.
    audit: Mutex<Option<Task<()>>>,
    shortening: Arc<OnceLock<String>>,
    observers: Arc<Observers>,
    pub(crate) registry: Registry,
    /// S, as the server granted it.
    pub(crate) window: Duration,
    /// The owner of this session's ephemeral nodes.
    pub(crate) id: i64,
}

const EXPIRED: &str = "the session has expired";
/// The pause between two attempts to resume the session with another client.
const PAUSE: Duration = Duration::from_millis(100);

/// The present connection of the session.
struct Line {
    /// The client, or the reason why the session has ended.
    client: Result<Client, String>,
    states: StateWatcher,
    is_another: bool,
    /// Whether another client is being made.
    is_replaced: bool,
}

impl Session {
    /// Keeps a session whose connect was sent at `sent` or later.
    pub(crate) fn new(settings: Arc<Settings>, client: &Client, sent: Boottime) -> Self {
        let states = client.state_watcher();
        let (window, id) = (client.session_timeout(), client.session_id().0);
        let (calls, called) = watch::channel(());
        let line =
            Line { client: Ok(client.clone()), states, is_another: false, is_replaced: false };
        let line = Arc::new(Mutex::new(line));
        let watchdog = client.start(watch_over(Arc::downgrade(&line), called, window));
        Self {
            settings,
            line,
            calls,
            keeper: Mutex::new(watchdog),
            anchors: Mutex::new(Anchors::new(window, sent)),
            audit: Mutex::default(),
            shortening: Arc::default(),
            observers: Arc::default(),
            registry: Registry::default(),
            window,
            id,
        }
    }

    /// Begins a call of a refresh that uses the session.
    pub(crate) fn begin(&self, now: Boottime, calls: &mut Calls) {
        calls.begin(now, &mut lock(&self.anchors));
        // After the end of the watchdog there is no receiver.
        let _ = self.calls.send(());
    }

    /// Returns whether new entries may join it.
    pub(crate) fn is_open(&self) -> bool {
        self.shortening.get().is_none() && self.client().is_ok()
    }

    /// The newest instant from which the lease of the session counts.
    pub(crate) fn proven(&self) -> Boottime {
        lock(&self.anchors).proven()
    }

    /// Records that a quorum write of the present call, begun at `sent`, was acknowledged.
    pub(crate) fn confirmed(&self, sent: Boottime, calls: &mut Calls) {
        calls.confirmed(sent, &mut lock(&self.anchors));
    }

    /// Returns why the session may end early, if that is known. After an interruption it may be at a server with other
    /// limits. A task checks that, and later calls return the result.
    pub(crate) fn shortening(&self) -> Option<String> {
        if self.was_interrupted() {
            let (settings, window) = (Arc::clone(&self.settings), self.window);
            let shortening = Arc::clone(&self.shortening);
            *lock(&self.audit) = Some(Task::start(async move {
                if let Some(why) = shorter_grant(settings, window).await {
                    let _ = shortening.set(why);
                }
            }));
        }
        self.shortening.get().cloned()
    }

    /// Returns a client for an observer, with or without a seat in the session.
    ///
    /// # Errors
    /// The same as of [`Session::client`].
    pub(crate) fn observer(&self) -> Result<Observer, String> {
        Ok(Observer::new(self.client()?, Arc::clone(&self.observers)))
    }

    /// Returns whether it was without a connection since the last call of this: it may have another server now.
    fn was_interrupted(&self) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        let mut line = lock(&self.line);
        let mut was_interrupted = mem::take(&mut line.is_another);
        // States that followed each other quickly appear as one.
        while pin!(line.states.changed()).poll(&mut context).is_ready() {
            was_interrupted = true;
        }
        was_interrupted
    }

    /// Returns the client of the session. If its thread stands still, its requests fail until another client replaces
    /// it.
    ///
    /// # Errors
    /// The reason why the session has ended.
    pub(crate) fn client(&self) -> Result<Client, String> {
        let client = lock(&self.line).client.clone()?;
        match client.state() {
            _ if client.has_fallen() => {
                self.replace();
                Ok(client)
            }
            SessionState::Expired => Err(EXPIRED.into()),
            SessionState::AuthFailed => {
                Err("the session was ended: ZooKeeper refuses how we log in".into())
            }
            SessionState::Closed => Err("the session was closed".into()),
            _ => Ok(client),
        }
    }

    /// Starts to replace a client whose thread stands still, unless that is under way.
    fn replace(&self) {
        let mut keeper = lock(&self.keeper);
        let session = {
            let mut line = lock(&self.line);
            let is_replaced = mem::replace(&mut line.is_replaced, true) && !keeper.has_fallen();
            match &line.client {
                Ok(client) if !is_replaced && client.has_fallen() => client.session(),
                _ => return,
            }
        };
        let (line, window) = (Arc::downgrade(&self.line), self.window);
        let watch_over = watch_over(Weak::clone(&line), self.calls.subscribe(), window);
        let take_over = take_over(Arc::clone(&self.settings), session, line, window);
        *keeper = Task::start(async move {
            tokio::join!(take_over, watch_over);
        });
    }

    /// Closes the session, and returns when the server has received that, if it can. Does not wait for observers: if
    /// there are any, the session goes on until they end.
    ///
    /// # Cancellation
    /// It is closed all the same.
    pub(crate) async fn close(self) {
        let Self { line, observers, registry, .. } = self;
        drop(registry);
        let client = mem::replace(&mut lock(&line).client, Err(String::new()));
        if let Ok(client) = client
            && Arc::strong_count(&observers) == 1
        {
            close(client).await;
        }
    }
}

/// Resumes a session with a new client, while the session lasts without one.
async fn take_over(
    settings: Arc<Settings>,
    session: SessionInfo,
    line: Weak<Mutex<Line>>,
    window: Duration,
) {
    let resumed = async {
        let mut has_tried = false;
        loop {
            // Requests keep the session alive even if their answers do not arrive.
            let host = serving::answered(&settings, patience(window)).await;
            // The library may begin with a silent server. So the first attempt goes only to the server that answered.
            let at = if has_tried { settings.cluster() } else { settings.spell(&host) };
            match resume(&settings, at, session.clone(), window).await {
                Err(error) if !ends_session(&error) => sleep(PAUSE).await,
                outcome => return outcome,
            }
            has_tried = true;
        }
    };
    let resumed = timeout(window, resumed).await;
    let Some(line) = line.upgrade() else { return };
    let mut line = lock(&line);
    if line.client.is_err() {
        return;
    }
    match resumed {
        Ok(Ok(client)) => {
            let states = client.state_watcher();
            *line = Line { client: Ok(client), states, is_another: true, is_replaced: false };
        }
        _ => line.client = Err(EXPIRED.into()),
    }
}

async fn watch_over(line: Weak<Mutex<Line>>, mut called: watch::Receiver<()>, patience: Duration) {
    loop {
        match timeout(patience, called.changed()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return,
            Err(_) => {
                let why = format!("the session was closed: elect had not used it for {patience:?}");
                line.upgrade().iter().for_each(|line| lock(line).client = Err(why.clone()));
                return;
            }
        }
    }
}

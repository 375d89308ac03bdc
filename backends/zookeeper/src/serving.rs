//! Keeps the client library from asking where nobody answers.
//!
//! A server that gets a request for a session keeps that alive, whether its answer arrives or not. While the library
//! is without a connection it goes from server to server with such requests, for 7/5 S. If requests arrive and answers
//! do not, an entry that has no user any more would block the election for 7/5 S plus S. So a client that hears nothing
//! says nothing either. Soon after a connection is lost the library pauses, until a server has answered a question that
//! touches no session. The entry then ends as it does where nothing arrives.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use elect_remote::Host;
use spawns_core::{Spawn, Task as Spawned};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use zookeeper_client::{Error as Zk, SessionState, StateWatcher};

use crate::client::Client;
use crate::probe;
use crate::security::Security;
use crate::settings::Settings;
use crate::task::{LibraryThread, lock};

/// Between the first two looks whether a server answers.
const LEAST_PAUSE: Duration = Duration::from_millis(50);

/// What the library does for one session.
type Serving = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What the library wants to have done besides, while it connects.
#[derive(Default)]
struct Catch(Mutex<Vec<Serving>>);

impl Spawn for Catch {
    fn spawn(&self, task: Spawned) {
        lock(&self.0).push(Box::into_pin(task.future));
    }
}

/// Connects as the library does, but pauses the session while no server answers. `patience` is how long a server may
/// be silent.
///
/// # Cancellation
/// As the library has it.
pub(crate) async fn connect(
    connect: impl Future<Output = Result<zookeeper_client::Client, Zk>>,
    settings: Arc<Settings>,
    patience: Duration,
) -> Result<Client, Zk> {
    let catch = Catch::default();
    let mut connect = pin!(connect);
    let connected = poll_fn(|context| {
        let _scope = spawns_core::enter(&catch);
        connect.as_mut().poll(context)
    });
    let client = Client::new(connected.await?);
    let caught = catch.0.into_inner().unwrap_or_else(PoisonError::into_inner);
    for serving in caught {
        let window = client.session_timeout();
        let line = Line {
            states: client.state_watcher(),
            settings: Arc::clone(&settings),
            patience,
            stage: client.stage().map(Arc::downgrade),
        };
        tokio::spawn(line.tend(serving, window));
    }
    Ok(client)
}

struct Line {
    states: StateWatcher,
    settings: Arc<Settings>,
    patience: Duration,
    stage: Option<Weak<LibraryThread>>,
}

impl Line {
    /// Serves a session of this timeout to its end, or until another client has to go on with it.
    async fn tend(mut self, mut serving: Serving, window: Duration) {
        // It reaches the next server in this time, if that is there; and comes to no second one that is silent.
        let at_once = self.patience / 2;
        let mut was_answered = false;
        loop {
            let lost = tokio::select! {
                biased;
                () = &mut serving => return,
                lost = self.is_lost_for(at_once) => lost,
            };
            if was_answered && lost == Lost::Still {
                return self.leave(serving).await;
            }
            // Longer than the library tries: by then it takes the session for ended, and asks nobody.
            was_answered =
                timeout(window * 7 / 5, answered(&self.settings, self.patience)).await.is_ok();
        }
    }

    /// Leaves the session to another client. A server answers, and the library waits: its pauses grow with each round
    /// of attempts, to many seconds, and a new client begins without them. The old one does not try again. It is kept
    /// until nothing refers to it, as its requests would fail as if the session had ended.
    async fn leave(&self, serving: Serving) {
        let Some(stage) = self.stage.as_ref().and_then(Weak::upgrade) else {
            return serving.await;
        };
        stage.leave("the connection was lost, and another client goes on with the session");
        let is_dropped = stage.is_dropped();
        drop(stage);
        is_dropped.await;
    }

    /// Ends when there was no connection for so long.
    async fn is_lost_for(&mut self, span: Duration) -> Lost {
        let mut lost = Lost::Still;
        loop {
            if self.is_connected() {
                lost = Lost::Anew;
                self.states.changed().await;
            } else {
                // A restarted server may have another certificate, and may require another one from the client.
                self.settings.security.iter().for_each(Security::renew);
                if timeout(span, self.states.changed()).await.is_err() {
                    return lost;
                }
            }
        }
    }

    fn is_connected(&self) -> bool {
        self.states.peek_state() == SessionState::SyncConnected
    }
}

/// Whether there was a connection meanwhile.
#[derive(PartialEq, Eq)]
enum Lost {
    Still,
    Anew,
}

/// Returns the first server that has answered a question which touches no session. A server that is started again, or
/// a balancer without any, refuses at once, so it is asked again before long.
pub(crate) async fn answered(settings: &Arc<Settings>, patience: Duration) -> Host {
    let mut pause = LEAST_PAUSE;
    loop {
        if let Some(host) = first_to_answer(settings, patience).await {
            return host;
        }
        sleep(pause.mul_f64(0.5 + fastrand::f64() / 2.0)).await;
        pause = (pause * 2).min(patience / 4);
    }
}

async fn first_to_answer(settings: &Arc<Settings>, patience: Duration) -> Option<Host> {
    let mut looks = JoinSet::new();
    for host in settings.hosts.clone() {
        let settings = Arc::clone(settings);
        looks.spawn(async move {
            let look = probe::ask_state(&host, settings.security.as_ref());
            let is_answer = timeout(patience, look).await.is_ok_and(|found| found.is_answer());
            is_answer.then_some(host)
        });
    }
    while let Some(look) = looks.join_next().await {
        if let Ok(Some(host)) = look {
            return Some(host);
        }
    }
    None
}

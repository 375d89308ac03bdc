use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use elect_api::{Error, ErrorKind};
use tokio::sync::Mutex;
use zookeeper_client::Error as Zk;

use crate::client::Client;
use crate::dial::dial;
use crate::settings::Settings;
use crate::task::Task;

/// Establishes a session that several callers may need at once: one attempt for all of them.
///
/// An attempt goes on while no caller waits for it: finding a living server among dead ones can take longer than one
/// call may. The session still counts from the call that began the attempt.
pub(crate) struct Dialer<S> {
    settings: Arc<Settings>,
    /// The session timeout to ask for.
    timeout: Duration,
    was_established: AtomicBool,
    /// The number of failed attempts.
    failures: AtomicU64,
    line: Mutex<Line<S>>,
}

struct Line<S> {
    /// The attempt, and the time of its start.
    attempt: Option<(Task<Result<Client, Error>>, S)>,
    /// The error of the last attempt that failed.
    failure: Option<Error>,
}

impl<S: Copy> Dialer<S> {
    pub(crate) fn new(settings: Arc<Settings>, timeout: Duration) -> Self {
        Self {
            settings,
            timeout,
            was_established: AtomicBool::new(false),
            failures: AtomicU64::new(0),
            line: Mutex::new(Line { attempt: None, failure: None }),
        }
    }

    /// Returns the `present` result, or else makes one from a client and the start of its attempt.
    ///
    /// # Errors
    /// The error of the attempt, for all callers that waited for it.
    ///
    /// # Cancellation
    /// The attempt goes on, and the next call uses it.
    pub(crate) async fn get<T>(
        &self,
        since: S,
        present: impl Fn() -> Option<T>,
        make: impl FnOnce(Client, S) -> T,
    ) -> Result<T, Error> {
        if let Some(present) = present() {
            return Ok(present);
        }
        let failures = self.failures.load(Ordering::Relaxed);
        let mut line = self.line.lock().await;
        if let Some(present) = present() {
            return Ok(present);
        }
        if self.failures.load(Ordering::Relaxed) != failures
            && let Some(failure) = &line.failure
        {
            return Err(failure.clone());
        }
        let (task, since) = line.attempt.get_or_insert_with(|| (self.start(), since));
        let (outcome, since) = (task.outcome().await, *since);
        line.attempt = None;
        let error = match outcome {
            Ok(Ok(client)) => {
                self.was_established.store(true, Ordering::Relaxed);
                return Ok(make(client, since));
            }
            Ok(Err(error)) => error,
            Err(fallen) => no_session().because(Zk::from(fallen)),
        };
        self.failures.fetch_add(1, Ordering::Relaxed);
        line.failure = Some(error.clone());
        Err(error)
    }

    /// Ends an attempt that no caller waits for.
    pub(crate) fn hang_up(&self) {
        if let Ok(mut line) = self.line.try_lock() {
            line.attempt = None;
        }
    }

    fn start(&self) -> Task<Result<Client, Error>> {
        let is_first = !self.was_established.load(Ordering::Relaxed);
        Task::start(dial(Arc::clone(&self.settings), self.timeout, is_first))
    }
}

/// Returns the error for a missing session.
pub(crate) fn no_session() -> Error {
    Error::new(ErrorKind::Unreachable, "there is no session with ZooKeeper: trying again helps")
}

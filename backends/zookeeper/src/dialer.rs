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

/// The way to a session that several may need at once: one attempt for all of them.
///
/// An attempt goes on while nobody waits for it: finding a living server among dead ones can take longer
/// than one call may. It is the attempt of the call that began it all the same, and counts from there.
pub(crate) struct Dialer<S> {
    settings: Arc<Settings>,
    /// What to ask for.
    timeout: Duration,
    was_established: AtomicBool,
    /// How many attempts have failed.
    failures: AtomicU64,
    line: Mutex<Line<S>>,
}

struct Line<S> {
    /// The attempt, and since when.
    attempt: Option<(Task<Result<Client, Error>>, S)>,
    /// What came of the last one that failed.
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

    /// What is `present`, or is made of a client and of when its attempt began.
    ///
    /// # Errors
    /// What came of the attempt, said to all who waited for it.
    ///
    /// # Cancellation
    /// The attempt goes on, and belongs to the next call.
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

    /// Ends an attempt that nobody waits for.
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

/// There is none, for now.
pub(crate) fn no_session() -> Error {
    Error::new(ErrorKind::Unreachable, "there is no session with ZooKeeper: trying again helps")
}

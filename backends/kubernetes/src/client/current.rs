//! Keeps the access up to date. Tokens, certificates and authorities change while elect runs, in files of their own or
//! in the kubeconfig. elect reads all of them again once a minute, and before the next request after one that failed
//! because of them.
//!
//! New contents count as a whole, and only if they can be used. A renewal that is half done changes nothing. The
//! cluster and the context stay the same.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use elect_remote::{Renewed, Tries, in_full};
use tokio::time::Instant;

use super::access::Access;

/// The time after which elect reads the files again.
const AGE: Duration = Duration::from_secs(60);
/// The shortest time between two readings, unless the server refused the credentials themselves.
const LEAST_AGE: Duration = Duration::from_secs(1);

/// The access that requests use.
pub(super) struct Current {
    access: Renewed<Access>,
    state: Mutex<State>,
}

struct State {
    read: Instant,
    /// When its files are read again.
    due: Instant,
    /// Whether a thread reads the files now. A pipe or a file system that does not answer can hold it for ever.
    is_reading: bool,
    /// Why the newest contents of the files are not used.
    trouble: Option<String>,
}

impl Current {
    /// Starts with the access that was found first.
    pub(super) fn new(access: Access) -> Self {
        let read = now();
        let state = State { read, due: read + AGE, is_reading: false, trouble: None };
        Self { access: Renewed::new(access), state: Mutex::new(state) }
    }

    /// Returns the access for the next request, and reads the files again if that is due.
    ///
    /// # Cancellation
    /// A reading goes on, for the next request. A file system that does not answer holds up one request.
    pub(super) async fn get(self: &Arc<Self>) -> Arc<Access> {
        if self.is_due() {
            let current = Arc::clone(self);
            let _ = tokio::task::spawn_blocking(move || current.renew()).await;
        }
        self.last()
    }

    /// Returns the newest usable access.
    pub(super) fn last(&self) -> Arc<Access> {
        self.access.known()
    }

    /// Returns why the files' present contents are not used, if they are not.
    pub(super) fn trouble(&self) -> Option<String> {
        self.lock().trouble.clone()
    }

    /// Reads the files again before the next request, as the server refused our credentials.
    pub(super) fn doubt(&self) {
        self.lock().due = now();
    }

    /// Reads the files again soon, as a connection failed and our certificate may be the reason.
    pub(super) fn suspect(&self) {
        let mut state = self.lock();
        state.due = state.due.min(state.read + LEAST_AGE);
    }

    /// Returns whether a reading is due that this caller must do, and marks it as begun.
    fn is_due(&self) -> bool {
        let (mut state, now) = (self.lock(), now());
        let is_due = state.due <= now && !state.is_reading;
        if is_due {
            (state.read, state.due, state.is_reading) = (now, now + AGE, true);
        }
        is_due
    }

    fn renew(&self) {
        let Tries { first, unread, .. } = self.access.tries(Access::again);
        self.access.keep(&first);
        let mut state = self.lock();
        state.is_reading = false;
        state.trouble = unread.map(|error| in_full(&error));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the time, for pauses only.
#[expect(
    clippy::disallowed_methods,
    reason = "it says when something is tried again, and nothing of a lease"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

use std::fs::File;
use std::thread;

use elect_api::{Error, ErrorKind, Wake};
use tokio::sync::watch;

use crate::lock::{self, Held};
use crate::trust::FileId;

/// The stack of a thread, in bytes: enough for one system call, and little enough for hundreds of waiting threads.
const STACK: usize = 64 * 1024;

/// A thread that sleeps until something happens.
///
/// It is detached, and ends with that event or with the process. Only the lock itself can end a sleep on a lock.
pub(crate) struct Sleeper(watch::Receiver<()>);

impl Sleeper {
    /// Starts the thread. The captures of `sleep` are dropped before the wake ends, and its result after that.
    pub(crate) fn start<T>(
        name: &str,
        sleep: impl FnOnce() -> T + Send + 'static,
    ) -> Result<Self, Error> {
        let (ends, running) = watch::channel(());
        spawn(name, move || {
            let left = sleep();
            drop(ends);
            drop(left);
        })?;
        Ok(Self(running))
    }

    /// Whether the thread still sleeps.
    pub(crate) fn sleeps(&self) -> bool {
        self.0.has_changed().is_ok()
    }

    /// Ends when the thread ends.
    pub(crate) fn wake(&self) -> Wake {
        let mut running = self.0.clone();
        Box::pin(async move {
            // Nothing is ever sent: the end of the thread is the message.
            let _ = running.changed().await;
        })
    }
}

/// A thread that sleeps until no process holds a file.
pub(crate) struct LockWatch {
    id: FileId,
    sleeper: Sleeper,
}

impl LockWatch {
    /// Starts to watch the file, through a description of its own.
    pub(crate) fn start(file: File, id: FileId, held: Held) -> Result<Self, Error> {
        let sleeper = Sleeper::start("elect-wait", move || {
            // If the sleep fails, the wake ends early, which does no harm. The lock must be released before a woken
            // candidate tries to write.
            let _ = lock::wait_free(&file, held);
            drop(file);
        })?;
        Ok(Self { id, sleeper })
    }

    /// Whether this watch still sleeps on that file.
    pub(crate) fn is_on(&self, id: FileId) -> bool {
        self.id == id && self.sleeper.sleeps()
    }

    /// Ends when the watch ends.
    pub(crate) fn wake(&self) -> Wake {
        self.sleeper.wake()
    }
}

pub(crate) fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Error> {
    let started = thread::Builder::new().name(name.into()).stack_size(STACK).spawn(work);
    started.map(drop).map_err(|error| {
        let what =
            "cannot start a thread to wait for a lock: raise the limit of processes (ulimit -u)";
        Error::new(ErrorKind::Unreachable, what).because(error)
    })
}

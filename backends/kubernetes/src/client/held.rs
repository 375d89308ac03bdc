//! What a kubeconfig or a pod has in a file, and may replace there while we run.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use elect_api::{Error, ErrorKind};
use tokio::time::Instant;

/// For how long a file is taken for what it was.
const AGE: Duration = Duration::from_secs(60);

/// Bytes that stay, or those of a file.
pub(super) struct Held {
    /// The file that has them, or that they are written out in.
    path: PathBuf,
    is_file: bool,
    last: Mutex<Last>,
}

struct Last {
    bytes: Vec<u8>,
    /// When the file is read again.
    due: Instant,
}

impl Held {
    /// What `file` has written out.
    pub(super) fn fixed(bytes: Vec<u8>, file: &Path) -> Self {
        Self { path: file.to_owned(), is_file: false, last: Mutex::new(Last::of(bytes)) }
    }

    /// What is in a file; `what` says what that is.
    ///
    /// # Errors
    /// [`ErrorKind::Denied`] or `Unfit` if it cannot be read.
    pub(super) fn file(what: &str, path: PathBuf) -> Result<Self, Error> {
        let bytes = elect_api::path::read(&path).map_err(|error| unreadable(what, &path, error))?;
        Ok(Self { path, is_file: true, last: Mutex::new(Last::of(bytes)) })
    }

    /// A file that is not there yet.
    pub(super) fn missing(path: PathBuf) -> Self {
        let last = Last { bytes: Vec::new(), due: now() };
        Self { path, is_file: true, last: Mutex::new(last) }
    }

    /// The file that has the bytes.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What was read last.
    pub(super) fn last(&self) -> Vec<u8> {
        self.lock().bytes.clone()
    }

    /// What is there now: the file is read again if that was a minute ago, or is in doubt. If it is empty or cannot be
    /// read, what was read last stays.
    ///
    /// # Cancellation
    /// Nothing is lost. A file system that does not answer holds up no thread but one of its own.
    pub(super) async fn current(&self) -> Vec<u8> {
        if self.is_file && self.is_due() {
            let path = self.path.clone();
            let read = tokio::task::spawn_blocking(move || elect_api::path::read(&path)).await;
            if let Ok(Ok(bytes)) = read
                && !bytes.trim_ascii().is_empty()
            {
                self.lock().bytes = bytes;
            }
        }
        self.last()
    }

    /// Has the file read again when it is needed next.
    pub(super) fn doubt(&self) {
        self.lock().due = now();
    }

    /// Whether it is this caller who reads the file again.
    fn is_due(&self) -> bool {
        let (mut last, now) = (self.lock(), now());
        let is_due = last.due <= now;
        if is_due {
            last.due = now + AGE;
        }
        is_due
    }

    fn lock(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Last {
    fn of(bytes: Vec<u8>) -> Self {
        Self { bytes, due: now() + AGE }
    }
}

/// A file that cannot be read.
pub(super) fn unreadable(what: &str, path: &Path, error: io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::PermissionDenied => ErrorKind::Denied,
        _ => ErrorKind::Unfit,
    };
    Error::new(kind, format!("cannot read {what}, {}", path.display())).because(error)
}

#[expect(
    clippy::disallowed_methods,
    reason = "it says when a file is read again, and nothing of a lease"
)]
fn now() -> Instant {
    Instant::now()
}

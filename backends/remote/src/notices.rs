//! The channels that a session listens to, each with the mark of its last notice.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

type Channels = HashMap<String, watch::Sender<u64>>;

/// The channels of one session. The store's crate asks the server for notices, and passes them on here.
#[derive(Debug, Default)]
pub struct Notices(Mutex<Channels>);

impl Notices {
    fn channels(&self) -> MutexGuard<'_, Channels> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The mark of the last notice on a channel; `None` if the session does not listen to it. No other notice, of any
    /// session, has the same mark.
    pub fn heard(&self, channel: &str) -> Option<u64> {
        self.channels().get(channel).map(|sender| *sender.borrow())
    }

    /// Adds a caller that waits for a channel. Returns what changes with each notice, and whether the server has to be
    /// asked for notices.
    pub fn join(&self, channel: &str) -> (watch::Receiver<u64>, bool) {
        let mut channels = self.channels();
        if let Some(sender) = channels.get(channel) {
            return (sender.subscribe(), false);
        }
        let (sender, receiver) = watch::channel(mark());
        channels.insert(channel.to_owned(), sender);
        (receiver, true)
    }

    /// Forgets a channel of which the server sends no notices. All that wait for it are told.
    pub fn forget(&self, channel: &str) {
        self.channels().remove(channel);
    }

    /// Forgets the channels that no caller waits for, and returns their names.
    pub fn unused(&self) -> Vec<String> {
        let mut channels = self.channels();
        let unused = channels.extract_if(|_, sender| sender.receiver_count() == 0);
        unused.map(|(name, _)| name).collect()
    }

    /// The names of all channels.
    pub fn names(&self) -> Vec<String> {
        self.channels().keys().cloned().collect()
    }

    /// Passes on a notice.
    pub fn tell(&self, channel: &str) {
        if let Some(sender) = self.channels().get(channel) {
            sender.send_replace(mark());
        }
    }

    /// Forgets all channels when the result is dropped, as the connection ends.
    pub fn end_later(self: &Arc<Self>) -> NoticesEnd {
        NoticesEnd(Arc::clone(self))
    }
}

/// Ends the notices of a connection when it is dropped: see [`Notices::end_later`].
#[derive(Debug)]
pub struct NoticesEnd(Arc<Notices>);

impl Drop for NoticesEnd {
    fn drop(&mut self) {
        self.0.channels().clear();
    }
}

fn mark() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed)
}

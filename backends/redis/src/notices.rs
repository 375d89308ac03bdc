//! The channels that a session listens to, each with the mark of its last notice.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

type Channels = HashMap<String, watch::Sender<u64>>;

/// The channels of one session.
#[derive(Default)]
pub(crate) struct Notices(Mutex<Channels>);

impl Notices {
    fn channels(&self) -> MutexGuard<'_, Channels> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The mark of the last notice on a channel; `None` if the session does not listen to it. No other notice, of any
    /// session, has the same mark.
    pub(crate) fn heard(&self, channel: &str) -> Option<u64> {
        self.channels().get(channel).map(|sender| *sender.borrow())
    }

    /// What changes with each notice on a channel, and whether the channel is new.
    pub(crate) fn of(&self, channel: &str) -> (watch::Receiver<u64>, bool) {
        let mut channels = self.channels();
        if let Some(sender) = channels.get(channel) {
            return (sender.subscribe(), false);
        }
        let (sender, receiver) = watch::channel(mark());
        channels.insert(channel.to_owned(), sender);
        (receiver, true)
    }

    pub(crate) fn forget(&self, channel: &str) {
        self.channels().remove(channel);
    }

    /// Forgets the channels that no call waits for, and returns their names.
    pub(crate) fn unused(&self) -> Vec<String> {
        let mut channels = self.channels();
        let unused = channels.extract_if(|_, sender| sender.receiver_count() == 0);
        unused.map(|(name, _)| name).collect()
    }

    /// Tells those who wait for a channel.
    pub(crate) fn tell(&self, channel: &str) {
        if let Some(sender) = self.channels().get(channel) {
            sender.send_replace(mark());
        }
    }

    /// Tells all who wait that no notice comes any more, when the result is dropped.
    pub(crate) fn end_later(self: &Arc<Self>) -> Ended {
        Ended(Arc::clone(self))
    }
}

/// The notices of a connection while it is driven.
pub(crate) struct Ended(Arc<Notices>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.channels().clear();
    }
}

fn mark() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed)
}

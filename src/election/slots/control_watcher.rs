//! What people ask of the election, for whoever leads in a slot, and is at the door no more.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use elect_api::{Cell, ElectionName, Store, Versioned, Wake};
use tokio::sync::Notify;

use super::leaving::Aside;

/// A look-out for other orders. It reads them when the store hints that something has changed, and when it is told to.
#[derive(Default)]
pub(super) struct ControlWatcher {
    shared: Arc<Shared>,
    aside: Aside,
}

#[derive(Default)]
struct Shared {
    found: Mutex<Option<Versioned>>,
    /// A request is under way.
    is_asking: AtomicBool,
    again: Notify,
}

impl ControlWatcher {
    /// What was found since the last call, if there are other orders than `known`. They are read again meanwhile.
    pub(super) fn look(
        &self,
        store: &Arc<dyn Store>,
        election: &ElectionName,
        known: u64,
    ) -> Option<Versioned> {
        let found = self.shared.found.lock().unwrap_or_else(PoisonError::into_inner).take();
        let is_stuck = self.shared.is_asking.load(Ordering::Relaxed);
        if self.aside.goes_on() && !is_stuck && found.is_none() {
            self.shared.again.notify_one();
            return None;
        }
        let version = found.as_ref().map_or(known, |found| found.version);
        let task = follow(Arc::clone(store), election.clone(), Arc::clone(&self.shared), version);
        self.aside.begin(task);
        found
    }

    /// Nobody wants to know any more.
    pub(super) fn end(&self) {
        self.aside.end();
        *self.shared.found.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Ends when there are other orders.
    pub(super) fn wake(&self) -> Wake {
        self.aside.wake()
    }
}

/// Ends with other orders than those of the version `known`.
async fn follow(store: Arc<dyn Store>, election: ElectionName, shared: Arc<Shared>, known: u64) {
    let mut change: Option<Wake> = None;
    loop {
        shared.is_asking.store(true, Ordering::Relaxed);
        // Looked out first, read then: so nothing is missed.
        if change.is_none() {
            change = store.changed(&election).await.ok();
        }
        let asked = store.read(&election, Cell::Control).await;
        shared.is_asking.store(false, Ordering::Relaxed);
        if let Some(asked) = asked.ok().filter(|asked| asked.version != known) {
            *shared.found.lock().unwrap_or_else(PoisonError::into_inner) = Some(asked);
            return;
        }
        tokio::select! {
            () = hint(&mut change) => change = None,
            () = shared.again.notified() => {}
        }
    }
}

/// The end of a wake; never, if there is none.
async fn hint(wake: &mut Option<Wake>) {
    match wake {
        Some(wake) => wake.await,
        None => std::future::pending().await,
    }
}

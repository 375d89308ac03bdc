use elect_api::Wake;
use tokio::sync::watch;
use zookeeper_client::OneshotWatcher;

use crate::task::Task;

/// A watch that the server keeps on the node before ours. Dropped, it is taken back there too.
pub(crate) struct Watch {
    node: String,
    fired: watch::Receiver<bool>,
    _listener: Task<()>,
}

impl Watch {
    pub(crate) fn new(node: String, watcher: OneshotWatcher) -> Self {
        let (fire, fired) = watch::channel(false);
        let listener = Task::start(async move {
            watcher.changed().await;
            // Nobody may be listening.
            let _ = fire.send(true);
        });
        Self { node, fired, _listener: listener }
    }

    /// Whether it is on this node, and nothing has happened there yet.
    pub(crate) fn is_armed_on(&self, node: &str) -> bool {
        self.node == node && self.is_armed()
    }

    /// Whether nothing has happened yet.
    pub(crate) fn is_armed(&self) -> bool {
        !*self.fired.borrow() && self.fired.has_changed().is_ok()
    }

    /// Ends when something has happened, or the watch is no more.
    pub(crate) fn wake(&self) -> Wake {
        let mut fired = self.fired.clone();
        Box::pin(async move {
            let _ = fired.wait_for(|fired| *fired).await;
        })
    }
}

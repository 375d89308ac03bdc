use std::sync::OnceLock;
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio::task::{JoinError, JoinHandle};

/// A task that ends with its owner, on a thread that all tasks of this crate share.
///
/// The client library may run without a pause: while the network cannot be reached at all, an attempt to
/// connect fails before it was even waited for, and is repeated at once. On the caller's thread that
/// would keep the engine from its deadlines and from signals. The watchdog of a session is better off
/// here, too, as it is there for an engine that is stuck.
pub(crate) struct Task<T>(JoinHandle<T>);

impl<T: Send + 'static> Task<T> {
    /// Starts it.
    pub(crate) fn start(task: impl Future<Output = T> + Send + 'static) -> Self {
        match backstage() {
            Some(backstage) => Self(backstage.spawn(task)),
            None => Self(tokio::spawn(task)),
        }
    }

    /// Whether it has come to its end.
    pub(crate) fn is_finished(&self) -> bool {
        self.0.is_finished()
    }

    /// What came of it.
    ///
    /// # Cancellation
    /// May be dropped and called again: the task goes on.
    pub(crate) async fn outcome(&mut self) -> Result<T, JoinError> {
        (&mut self.0).await
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The thread, which is started at the first call; `None` if it cannot be.
fn backstage() -> Option<&'static Handle> {
    static BACKSTAGE: OnceLock<Option<Handle>> = OnceLock::new();
    let start = || {
        let runtime = Builder::new_current_thread().enable_all().build().ok()?;
        let handle = runtime.handle().clone();
        let run = move || runtime.block_on(std::future::pending::<()>());
        thread::Builder::new().name("zookeeper".into()).spawn(run).ok()?;
        Some(handle)
    };
    BACKSTAGE.get_or_init(start).as_ref()
}

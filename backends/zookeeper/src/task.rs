//! The threads on which the client library works. All sessions share one such thread at a time, for two reasons.
//!
//! The library may run without a pause. While the network cannot be reached at all, an attempt to connect fails before
//! it is even awaited, and is repeated at once. On the caller's thread that would keep the engine from its deadlines
//! and from signals. The watchdog of a session belongs here too, because it guards against an engine that is stuck.
//!
//! The library also panics at answers that no sound server gives. That would end the program, and a leader's command
//! with it. So a thread on which it panics stands still for good, with all its tasks, and another thread replaces it.
//! The calls of that moment fail, and the sessions go on with other clients.

use std::cell::OnceCell;
use std::panic::{self, PanicHookInfo};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use zookeeper_client::Error as Zk;

/// The number of library threads that a process may start, one after another: a thread that stands still never frees
/// its memory.
const LIVES: usize = 32;

thread_local! {
    /// The library thread that this thread is.
    static HERE: OnceCell<Arc<LibraryThread>> = const { OnceCell::new() };
}

/// Locks a mutex, also after a panic of its holder: the library may panic, and no code of elect leaves half-done state
/// there.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A thread of the library, and whether it still works.
pub(crate) struct LibraryThread {
    handle: Handle,
    is_last: bool,
    end: watch::Sender<Option<Fallen>>,
    /// The thread, for the part of it that serves one client.
    thread: Option<Arc<Self>>,
}

/// The error for a library thread that stands still: the outcome of its tasks is unknown.
#[derive(Clone, Debug)]
pub(crate) struct Fallen(String);

impl From<Fallen> for Zk {
    /// The session may go on: `UnexpectedError` does not end it.
    fn from(Fallen(why): Fallen) -> Self {
        Self::UnexpectedError(why)
    }
}

impl LibraryThread {
    /// Returns the present thread, started if need be, or else the last one. `None` if no thread can be started.
    fn present() -> Option<Arc<Self>> {
        static STAGES: Mutex<(usize, Option<Arc<LibraryThread>>)> = Mutex::new((0, None));
        let mut stages = lock(&STAGES);
        let (lives, present) = &mut *stages;
        if *lives < LIVES && present.as_ref().is_none_or(|stage| stage.end().is_some()) {
            *present = Self::start(*lives + 1 == LIVES);
            *lives += usize::from(present.is_some());
        }
        present.clone()
    }

    /// Returns the library thread of the task that calls this.
    pub(crate) fn here() -> Option<Arc<Self>> {
        HERE.with(|here| here.get().cloned())
    }

    fn start(is_last: bool) -> Option<Arc<Self>> {
        stand_still_at_panics();
        let runtime = Builder::new_current_thread().enable_all().build().ok()?;
        let end = watch::Sender::new(None);
        let stage = Arc::new(Self { handle: runtime.handle().clone(), is_last, end, thread: None });
        let here = Arc::clone(&stage);
        let run = move || {
            HERE.with(|cell| drop(cell.set(here)));
            runtime.block_on(std::future::pending::<()>());
        };
        thread::Builder::new().name("zookeeper".into()).spawn(run).ok()?;
        Some(stage)
    }

    /// Returns a part of this thread for one client. It stands still with the thread, or alone once it is left.
    pub(crate) fn for_client(self: Arc<Self>) -> Arc<Self> {
        let (handle, is_last) = (self.handle.clone(), self.is_last);
        Arc::new(Self { handle, is_last, end: watch::Sender::new(None), thread: Some(self) })
    }

    /// Ends the service of the client: each of its requests fails, and another client may go on with its session.
    pub(crate) fn leave(&self, why: &str) {
        self.end.send_replace(Some(Fallen(why.to_owned())));
    }

    /// Returns a future that resolves once nothing refers to this library thread any more.
    pub(crate) fn is_dropped(&self) -> impl Future<Output = ()> + use<> {
        let mut end = self.end.subscribe();
        async move { while end.changed().await.is_ok() {} }
    }

    /// Returns why it stands still, if it does.
    fn end(&self) -> Option<Fallen> {
        let own = self.end.borrow().clone();
        own.or_else(|| self.thread.as_ref()?.end())
    }

    /// Returns whether it stands still.
    pub(crate) fn is_over(&self) -> bool {
        self.end().is_some()
    }

    /// Resolves when it stands still; never if there is no thread.
    pub(crate) async fn falls(stage: Option<Arc<Self>>) {
        match stage {
            Some(stage) => drop(stage.over().await),
            None => std::future::pending().await,
        }
    }

    async fn over(&self) -> Fallen {
        let mut own = self.end.subscribe();
        // A thread itself has one end, which counts twice here.
        let mut of_thread = self.thread.as_deref().unwrap_or(self).end.subscribe();
        loop {
            if let Some(fallen) = self.end() {
                return fallen;
            }
            // Both senders are alive, so `changed` returns only after a change.
            tokio::select! {
                _ = own.changed() => {}
                _ = of_thread.changed() => {}
            }
        }
    }

    /// Stops the calling thread for good.
    fn stand_still(&self, panic: &PanicHookInfo<'_>) -> ! {
        let told = told(panic);
        let why = if self.is_last {
            format!(
                "the client library stumbled over an answer for the {LIVES}th time, start elect again: {told}"
            )
        } else {
            format!("the client library stumbled over an answer, and begins anew: {told}")
        };
        self.end.send_replace(Some(Fallen(why)));
        loop {
            thread::park();
        }
    }
}

fn told(panic: &PanicHookInfo<'_>) -> String {
    let payload = panic.payload();
    let words = payload.downcast_ref::<&str>().copied();
    let words = words.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let words = words.unwrap_or("a panic").replace('\n', " ");
    let place = panic.location().map_or_else(String::new, |place| {
        let file = place.file();
        // Without the path of the library at compile time.
        let file = file.rsplit_once("/src/").map_or(file, |(_, file)| file);
        format!(" ({file}:{})", place.line())
    });
    words + &place
}

/// Installs the hook that runs before anything else at a panic. A thread that stands still keeps the lock of the hook
/// for good, so no other hook can be set after that.
fn stand_still_at_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let otherwise = panic::take_hook();
        panic::set_hook(Box::new(move |panic| match LibraryThread::here() {
            Some(stage) => stage.stand_still(panic),
            None => otherwise(panic),
        }));
    });
}

/// A task that ends with its owner.
pub(crate) struct Task<T> {
    /// `None` if its thread stood still before the start.
    work: Option<JoinHandle<T>>,
    stage: Option<Arc<LibraryThread>>,
}

impl<T: Send + 'static> Task<T> {
    /// Starts a task on the present library thread.
    pub(crate) fn start(task: impl Future<Output = T> + Send + 'static) -> Self {
        Self::start_on(LibraryThread::present(), task)
    }

    /// Starts a task on this library thread, where its session is. Tasks that one caller's thread starts on it begin in
    /// the same order.
    pub(crate) fn start_on(
        stage: Option<Arc<LibraryThread>>,
        task: impl Future<Output = T> + Send + 'static,
    ) -> Self {
        let work = match &stage {
            Some(stage) => (!stage.is_over()).then(|| stage.handle.spawn(task)),
            None => Some(tokio::spawn(task)),
        };
        Self { work, stage }
    }

    /// Returns whether the task has ended, or will have no outcome.
    pub(crate) fn is_finished(&self) -> bool {
        self.has_fallen() || self.work.as_ref().is_some_and(JoinHandle::is_finished)
    }

    /// Returns whether its thread stands still.
    pub(crate) fn has_fallen(&self) -> bool {
        self.stage.as_ref().is_some_and(|stage| stage.is_over())
    }

    /// Returns a future that resolves when its thread stands still.
    pub(crate) fn falls(&self) -> impl Future<Output = ()> + use<T> {
        LibraryThread::falls(self.stage.clone())
    }

    /// Returns the outcome of the task.
    ///
    /// # Errors
    /// Its thread stands still.
    ///
    /// # Cancellation
    /// May be dropped and called again: the task goes on.
    pub(crate) async fn outcome(&mut self) -> Result<T, Fallen> {
        let over = async {
            match &self.stage {
                Some(stage) => stage.over().await,
                None => std::future::pending().await,
            }
        };
        let work = async {
            match &mut self.work {
                Some(work) => work.await.map_err(|error| Fallen(error.to_string())),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            outcome = work => outcome,
            fallen = over => Err(fallen),
        }
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.work.iter().for_each(JoinHandle::abort);
    }
}

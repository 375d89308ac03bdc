use std::io;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;

use async_trait::async_trait;
use elect_api::Boottime;
use nix::sys::signal::SigSet;
use tokio::runtime::{Builder, Handle, Runtime};

use super::Error;
use super::alarms::Alarms;
use crate::election::driver::Clock;
use crate::guard::{self, Alarm};

/// The thread on which all campaigns of this process take part, and their clock.
///
/// A thread of its own, so that leases are renewed however long the program's own tasks keep a thread, and so that
/// the program may use any executor, or none.
pub(super) struct Engine {
    handle: Handle,
    alarms: Alarms,
}

impl Engine {
    /// The engine of this process, which is started at the first call and never ends.
    ///
    /// # Errors
    /// [`Error::Failed`] if there is no thread, or no descriptor, to be had.
    pub(super) fn shared() -> Result<Arc<Self>, Error> {
        static SHARED: Mutex<Option<Arc<Engine>>> = Mutex::new(None);
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(engine) = &*shared {
            return Ok(Arc::clone(engine));
        }
        let engine = Self::start()
            .map_err(|error| Error::Failed(format!("cannot start the engine: {error}")))?;
        Ok(Arc::clone(shared.insert(engine)))
    }

    /// Starts a task.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.handle.spawn(task);
    }

    fn start() -> io::Result<Arc<Self>> {
        let (told, started) = mpsc::channel();
        let run = move || {
            // Nobody waits for it, if it cannot be told.
            match Self::make() {
                Ok((engine, runtime, alarm)) => {
                    let _ = told.send(Ok(Arc::clone(&engine)));
                    match runtime.block_on(engine.alarms.ring(&alarm)) {}
                }
                Err(error) => _ = told.send(Err(error)),
            }
        };
        thread::Builder::new().name("elect".into()).spawn(run)?;
        started.recv().map_err(io::Error::other)?
    }

    fn make() -> io::Result<(Arc<Self>, Runtime, Alarm)> {
        // The program's signals are for its own threads.
        SigSet::all().thread_block()?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let alarm = {
            let _inside = runtime.enter();
            Alarm::new()?
        };
        let engine = Self { handle: runtime.handle().clone(), alarms: Alarms::default() };
        Ok((Arc::new(engine), runtime, alarm))
    }
}

#[async_trait]
impl Clock for Engine {
    fn now(&self) -> Boottime {
        guard::now()
    }

    fn rate(&self) -> f64 {
        guard::rate()
    }

    async fn until(&self, at: Option<Boottime>) {
        self.alarms.until(at).await;
    }
}

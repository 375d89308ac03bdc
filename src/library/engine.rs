//! The thread on which all campaigns of a process take part, and its clock.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;

use async_trait::async_trait;
use elect_api::Boottime;
use nix::sys::signal::SigSet;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{Notify, oneshot};

use super::Error;
use crate::election::driver::Clock;
use crate::guard::{self, Alarm};

/// The thread on which all campaigns of this process take part, and their clock.
///
/// With its own thread, elect renews leases even while the program's tasks keep their threads busy. The program may use
/// any executor, or none.
pub(super) struct Engine {
    handle: Handle,
    alarms: Alarms,
}

impl Engine {
    /// Returns the engine of this process. It starts at the first call and never ends.
    ///
    /// # Errors
    /// [`Error::Failed`] if no thread or no descriptor is available.
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
            // If the message cannot be sent, no caller waits for it.
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

/// A time, and a number that tells sleepers with the same time apart.
type Instant = (Boottime, u64);

/// All the times that campaigns wait for, on one timer of the kernel. Otherwise each would cost a descriptor.
#[derive(Default)]
pub(super) struct Alarms {
    waiting: Mutex<BTreeMap<Instant, oneshot::Sender<()>>>,
    /// Notified when a new sleeper is the first to wake.
    sooner: Notify,
    count: AtomicU64,
}

impl Alarms {
    /// Wakes each sleeper at its time.
    pub(super) async fn ring(&self, alarm: &Alarm) -> Infallible {
        loop {
            let first = self.first().map(|(at, _)| at);
            tokio::select! {
                () = alarm.until(first) => self.wake_until(guard::now()),
                () = self.sooner.notified() => {}
            }
        }
    }

    /// Waits until `at`, which may have passed already. Never ends for `None`.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub(super) async fn until(&self, at: Option<Boottime>) {
        let Some(at) = at else { return std::future::pending().await };
        if guard::now() >= at {
            return;
        }
        let place = (at, self.count.fetch_add(1, Ordering::Relaxed));
        let (wake, woken) = oneshot::channel();
        let _place = Sleeper { alarms: self, place };
        self.lock().insert(place, wake);
        if self.first() == Some(place) {
            self.sooner.notify_one();
        }
        let _ = woken.await;
    }

    fn first(&self) -> Option<Instant> {
        self.lock().keys().next().copied()
    }

    fn wake_until(&self, now: Boottime) {
        let due = {
            let mut waiting = self.lock();
            let later = waiting.split_off(&(now, u64::MAX));
            std::mem::replace(&mut *waiting, later)
        };
        for sleeper in due.into_values() {
            let _ = sleeper.send(());
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Instant, oneshot::Sender<()>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of a sleeper, which is free again when this is dropped.
struct Sleeper<'a> {
    alarms: &'a Alarms,
    place: Instant,
}

impl Drop for Sleeper<'_> {
    fn drop(&mut self) {
        self.alarms.lock().remove(&self.place);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Alarm, Alarms, guard};

    fn ringing<T>(alarms: &Alarms, work: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let alarm = Alarm::new().unwrap();
            tokio::select! {
                never = alarms.ring(&alarm) => match never {},
                done = work => done,
            }
        })
    }

    #[test]
    fn no_waiter_is_woken_before_its_time() {
        let (alarms, begin) = (Alarms::default(), guard::now());
        let wait = async |millis: u64| {
            let at = begin + Duration::from_millis(millis);
            alarms.until(Some(at)).await;
            assert!(guard::now() >= at);
        };
        ringing(&alarms, async { tokio::join!(wait(60), wait(30), wait(90), wait(30), wait(0)) });
        assert!(alarms.lock().is_empty());
    }

    #[test]
    fn a_cancelled_wait_leaves_nothing_behind() {
        let alarms = Alarms::default();
        ringing(&alarms, async {
            tokio::select! {
                () = alarms.until(Some(guard::now() + Duration::from_secs(3600))) => {}
                () = alarms.until(Some(guard::now() + Duration::from_millis(10))) => {}
                () = alarms.until(None) => {}
            }
        });
        assert!(alarms.lock().is_empty());
    }
}

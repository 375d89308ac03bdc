//! A computer: its clock, which has a rate of its own, and its suspends.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use elect::election::driver;
use elect_api::Boottime;
use elect_testkit::sim::{Clock, TokioClock};
use elect_testkit::switches::{Part, is_off};
use tokio::sync::watch;

pub(crate) struct Host {
    /// The time that passes everywhere.
    pub(crate) world: Arc<TokioClock>,
    /// In thousandths.
    rate: u32,
    suspended: watch::Sender<bool>,
    /// The time of suspends, which a clock that stands still in them has not counted.
    missed: Mutex<Duration>,
}

impl Host {
    pub(crate) fn new(world: Arc<TokioClock>, rate: u32) -> Arc<Self> {
        let missed = Mutex::new(Duration::ZERO);
        Arc::new(Self { world, rate, suspended: watch::Sender::new(false), missed })
    }

    /// By this computer's clock.
    pub(crate) fn now(&self) -> Boottime {
        let nanos = self.world.now().since_boot().as_nanos() * u128::from(self.rate) / 1000;
        Boottime::from_boot(nanoseconds(nanos)) - self.missed()
    }

    fn missed(&self) -> Duration {
        *self.missed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends when this computer's clock shows `at`, or never.
    pub(crate) async fn until(&self, at: Option<Boottime>) {
        let Some(at) = at else { return std::future::pending().await };
        while self.now() < at {
            let own = (at + self.missed()).since_boot().as_nanos();
            let nanos = (own * 1000).div_ceil(u128::from(self.rate));
            self.world.until(Boottime::from_boot(nanoseconds(nanos))).await;
        }
    }

    pub(crate) fn suspends(&self) -> watch::Receiver<bool> {
        self.suspended.subscribe()
    }

    /// Nothing on this computer makes a step for so long. Suspends do not add up.
    pub(crate) async fn suspend(&self, span: Duration) {
        if self.suspended.send_replace(true) {
            return;
        }
        tokio::time::sleep(span).await;
        if is_off(Part::Suspend) {
            let missed = span.as_nanos() * u128::from(self.rate) / 1000;
            *self.missed.lock().unwrap_or_else(PoisonError::into_inner) += nanoseconds(missed);
        }
        self.suspended.send_replace(false);
    }
}

fn nanoseconds(count: u128) -> Duration {
    Duration::from_nanos(u64::try_from(count).unwrap_or(u64::MAX))
}

pub(crate) struct EngineClock(pub(crate) Arc<Host>);

#[async_trait]
impl driver::Clock for EngineClock {
    fn now(&self) -> Boottime {
        self.0.now()
    }

    async fn until(&self, at: Option<Boottime>) {
        self.0.until(at).await;
    }
}

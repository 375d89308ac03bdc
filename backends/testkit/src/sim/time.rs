use std::time::Duration;

use async_trait::async_trait;
use elect_api::Boottime;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

/// The rate of the store's clock, in thousandths of the machine's. At 1100 leases end early by the
/// machine's clock. The number is whole, so that a simulation is the same everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rate(u32);

impl Rate {
    /// The machine's rate.
    pub const SAME: Self = Self(1000);

    /// Returns a rate of so many thousandths, at least one.
    pub fn per_mille(thousandths: u32) -> Self {
        Self(thousandths.max(1))
    }

    /// Returns what the store's clock shows at an instant of the machine: the time since its start.
    pub fn store(self, machine: Boottime) -> Duration {
        let nanos = machine.since_boot().as_nanos() * u128::from(self.0) / 1000;
        nanoseconds(nanos)
    }

    /// Returns the first instant of the machine at which the store's clock shows this or more.
    pub fn machine(self, store: Duration) -> Boottime {
        let nanos = (store.as_nanos() * 1000).div_ceil(u128::from(self.0));
        Boottime::from_boot(nanoseconds(nanos))
    }
}

fn nanoseconds(count: u128) -> Duration {
    Duration::from_nanos(u64::try_from(count).unwrap_or(u64::MAX))
}

/// The machine's time for a simulated store in this process.
#[async_trait]
pub trait Clock: Send + Sync {
    /// Returns the present instant, which is never earlier than one returned before.
    fn now(&self) -> Boottime;

    /// Waits until `at`, or somewhat longer.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    async fn until(&self, at: Boottime);
}

/// A clock that a test moves on, for all threads alike.
#[derive(Debug)]
pub struct ManualClock(watch::Sender<Boottime>);

impl Default for ManualClock {
    fn default() -> Self {
        Self(watch::Sender::new(Boottime::from_boot(Duration::from_secs(1000))))
    }
}

impl ManualClock {
    /// Moves the clock on by `span`.
    pub fn advance(&self, span: Duration) {
        self.0.send_modify(|now| *now = *now + span);
    }
}

#[async_trait]
impl Clock for ManualClock {
    fn now(&self) -> Boottime {
        *self.0.borrow()
    }

    async fn until(&self, at: Boottime) {
        let mut changes = self.0.subscribe();
        // The sender lives as long as this clock.
        let _ = changes.wait_for(|now| *now >= at).await;
    }
}

/// The time of the tokio runtime around it, which a test may have paused.
#[derive(Debug)]
pub struct TokioClock {
    origin: tokio::time::Instant,
}

impl TokioClock {
    /// Creates a clock that shows 1000 seconds now.
    #[expect(clippy::disallowed_methods, reason = "a paused runtime's time is an argument too")]
    pub fn new() -> Self {
        Self { origin: tokio::time::Instant::now() - Duration::from_secs(1000) }
    }
}

impl Default for TokioClock {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Clock for TokioClock {
    #[expect(clippy::disallowed_methods, reason = "a paused runtime's time is an argument too")]
    fn now(&self) -> Boottime {
        Boottime::from_boot(tokio::time::Instant::now() - self.origin)
    }

    async fn until(&self, at: Boottime) {
        tokio::time::sleep_until(self.origin + at.since_boot()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::{Boottime, Duration, Rate};

    #[test]
    fn rates_lead_there_and_back() {
        for rate in [910, 1000, 1100, 1].map(Rate::per_mille) {
            for nanos in [0, 1, 999, 1_000_000_007, 86_400_000_000_000] {
                let store = Duration::from_nanos(nanos);
                let machine = rate.machine(store);
                assert!(rate.store(machine) >= store);
                assert!(nanos == 0 || rate.store(machine - Duration::from_nanos(1)) < store);
            }
        }
    }

    #[test]
    fn a_fast_clock_ends_a_lease_early() {
        let ten = Duration::from_secs(11);
        assert_eq!(
            Rate::per_mille(1100).machine(ten),
            Boottime::from_boot(Duration::from_secs(10))
        );
    }
}

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use elect_api::Boottime;

/// The time that one turn takes on average: 500 a second.
const TURN: Duration = Duration::from_millis(2);
/// How far turns may run ahead of that: 100 at once.
const CREDIT: Duration = Duration::from_millis(200);

/// Spreads work over time, so that no crowd of clients takes the processor from the engine, which may
/// have to share a small quota with us.
pub(super) struct Pace {
    now: fn() -> Boottime,
    /// When all turns that were given are over.
    spent: Mutex<Boottime>,
}

impl Pace {
    pub(super) fn new(now: fn() -> Boottime) -> Self {
        Self { now, spent: Mutex::new(now() - CREDIT) }
    }

    /// Ends when it is our turn.
    ///
    /// # Cancellation
    /// The turn is spent.
    pub(super) async fn turn(&self) {
        let wait = self.take();
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
    }

    fn take(&self) -> Duration {
        let now = (self.now)();
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        *spent = (*spent).max(now - CREDIT) + TURN;
        spent.since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_free_and_what_goes_on_is_spread() {
        let pace = Pace::new(|| Boottime::from_boot(Duration::from_secs(100)));
        let waits: Vec<Duration> = (0..600).map(|_| pace.take()).collect();
        assert_eq!(waits.iter().filter(|wait| wait.is_zero()).count(), 100);
        assert_eq!(waits[599], Duration::from_secs(1));
    }
}

use anyhow::Context;
use async_trait::async_trait;
use elect_api::Boottime;

use crate::election::driver::Clock;
use crate::guard::{self, Alarm};

/// The machine's clock that counts suspends.
pub(in crate::command) struct BootClock(Alarm);

impl BootClock {
    /// A clock on the present runtime.
    ///
    /// # Errors
    /// When no descriptor is left.
    pub(in crate::command) fn new() -> anyhow::Result<Self> {
        Ok(Self(Alarm::new().context("cannot make a timer")?))
    }
}

#[async_trait]
impl Clock for BootClock {
    fn now(&self) -> Boottime {
        guard::now()
    }

    fn rate(&self) -> f64 {
        guard::rate()
    }

    async fn until(&self, at: Option<Boottime>) {
        self.0.until(at).await;
    }
}

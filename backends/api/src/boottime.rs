use std::ops::{Add, Sub};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// An instant on this machine's `CLOCK_BOOTTIME`: the time since boot, suspend included.
///
/// A plain value without a `now`. Only the guard of the `elect` package reads the clock. Everywhere
/// else time is an argument, so a simulation can make it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Boottime(Duration);

impl Boottime {
    /// The instant `since_boot` after boot.
    pub const fn from_boot(since_boot: Duration) -> Self {
        Self(since_boot)
    }

    /// The time from boot to this instant.
    pub const fn since_boot(self) -> Duration {
        self.0
    }

    /// The time from `earlier` to this instant; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<Duration> for Boottime {
    type Output = Self;

    /// Saturates at the end of time, half a billion years after boot.
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span))
    }
}

impl Sub<Duration> for Boottime {
    type Output = Self;

    /// Saturates at boot.
    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(span))
    }
}

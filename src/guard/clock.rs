//! The one place that reads a clock.

use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::time::Duration;

use elect_api::Boottime;
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{
    ClockId as TimerClock, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags,
};
use nix::time::{ClockId, clock_gettime};
use tokio::io::unix::AsyncFd;

use super::descriptors;

/// The present instant on `CLOCK_BOOTTIME`.
///
/// # Panics
/// Never on a kernel that runs Rust programs: the clock exists since Linux 2.6.39.
pub fn now() -> Boottime {
    let spec = clock_gettime(ClockId::CLOCK_BOOTTIME).expect("Linux has CLOCK_BOOTTIME");
    Boottime::from_boot(Duration::from(spec))
}

/// A timer on `CLOCK_BOOTTIME`: unlike the runtime's own it goes off in time after a suspend.
pub struct Alarm(AsyncFd<Timer>);

struct Timer(TimerFd);

impl AsRawFd for Timer {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

impl Alarm {
    /// A timer on the present runtime.
    ///
    /// # Errors
    /// When no descriptor is left.
    pub fn new() -> io::Result<Self> {
        // SAFETY: a timer owns its descriptor until it is dropped.
        Ok(Self(unsafe { descriptors::watch(Timer(timer()?)) }?))
    }

    /// Ends at `at`, at once if that has passed, never for `None`.
    ///
    /// # Cancellation
    /// May be dropped at any time; the next call sets the timer anew.
    pub async fn until(&self, at: Option<Boottime>) {
        let Some(at) = at else { return std::future::pending().await };
        if arm(&self.0.get_ref().0, Some(at)).is_err() {
            // Only an invalid time is refused, and `arm` makes none; asking again is the safe reading.
            return;
        }
        while now() < at {
            match self.0.readable().await {
                Ok(mut ready) => ready.clear_ready(),
                Err(_) => return,
            }
        }
    }
}

/// A non-blocking timer that is not armed yet.
pub(super) fn timer() -> io::Result<TimerFd> {
    Ok(TimerFd::new(
        TimerClock::CLOCK_BOOTTIME,
        TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC,
    )?)
}

/// Sets `timer` to go off at `at`, or never.
pub(super) fn arm(timer: &TimerFd, at: Option<Boottime>) -> io::Result<()> {
    match at {
        // A time of zero would disarm.
        Some(at) => timer.set(
            Expiration::OneShot(TimeSpec::from(at.since_boot().max(Duration::from_nanos(1)))),
            TimerSetTimeFlags::TFD_TIMER_ABSTIME,
        )?,
        None => timer.unset()?,
    }
    Ok(())
}

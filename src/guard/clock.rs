//! The only place that reads the clock that counts suspends.

use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use elect_api::Boottime;
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{
    ClockId as TimerClock, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags,
};
use nix::time::{ClockId, clock_gettime};
use tokio::io::unix::AsyncFd;

use super::descriptors;

/// Returns the present instant on `CLOCK_BOOTTIME`.
///
/// # Panics
/// Never panics on a kernel that runs Rust programs: the clock exists since Linux 2.6.39.
pub fn now() -> Boottime {
    let spec = clock_gettime(ClockId::CLOCK_BOOTTIME).expect("Linux has CLOCK_BOOTTIME");
    Boottime::from_boot(Duration::from(spec))
}

/// Returns how fast the clock runs in relation to its natural speed, as the kernel was told to slew it (`adjtimex(2)`).
/// The result lies between 0.9 and 1.1, give or take some parts in a thousand. It is 1 if the rate cannot be read.
pub fn rate() -> f64 {
    #[cfg(feature = "sim")]
    if let Some((tick, frequency)) = test_slew() {
        return rate_of(tick, frequency);
    }
    // SAFETY: an all-zero timex is valid and asks for no change; the kernel fills it in.
    let (state, told) = unsafe {
        let mut told = std::mem::zeroed::<libc::timex>();
        (libc::adjtimex(&raw mut told), told)
    };
    // A service may lack the permission to read the rate.
    if state < 0 { 1.0 } else { rate_of(told.tick, told.freq) }
}

/// Returns a slew that tests set for this machine's clock: a tick and a frequency in the units of `adjtimex(2)`. They
/// stand in the file that `ELECT_TEST_SLEW` names, if there is one.
#[cfg(feature = "sim")]
#[allow(clippy::disallowed_methods, reason = "no release has it")]
fn test_slew() -> Option<(i64, i64)> {
    let text = std::fs::read_to_string(std::env::var_os("ELECT_TEST_SLEW")?).ok()?;
    let mut numbers = text.split_whitespace().map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Returns the rate. `tick` is in microseconds for each hundredth of a second, `frequency` in millionths times 65536.
#[expect(clippy::cast_precision_loss, reason = "the kernel lets neither be large")]
fn rate_of(tick: i64, frequency: i64) -> f64 {
    tick as f64 / 10_000.0 + frequency as f64 / 65_536.0 / 1_000_000.0
}

/// A timer on `CLOCK_BOOTTIME`. Unlike a timer of the runtime, it goes off in time after a suspend. Any number of tasks
/// may wait for it, and each is woken in time.
pub struct Alarm {
    timer: AsyncFd<Timer>,
    /// The instants of all tasks that wait, which are one to three as a rule. The first instant wakes all of them.
    waits: Mutex<Vec<Boottime>>,
}

struct Timer(TimerFd);

impl AsRawFd for Timer {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

impl Alarm {
    /// Makes a timer on the present runtime.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn new() -> io::Result<Self> {
        // SAFETY: a timer owns its descriptor until it is dropped.
        let timer = unsafe { descriptors::watch(Timer(timer()?)) }?;
        Ok(Self { timer, waits: Mutex::default() })
    }

    /// Waits until `at`, or not at all if that has passed. Waits for ever if `at` is `None`.
    ///
    /// # Cancellation
    /// The future may be dropped at any time.
    pub async fn until(&self, at: Option<Boottime>) {
        let Some(at) = at else { return std::future::pending().await };
        let _wait = Wait::new(self, at);
        while now() < at {
            // A task that was woken by the instant of another task sets the timer for the remaining ones.
            let first = self.waits().iter().min().copied();
            if arm(&self.timer.get_ref().0, first).is_err() {
                // Only an invalid time is refused, and `arm` makes none. If this happens all the same, the caller looks
                // at the clock again, which is safe.
                return;
            }
            match self.timer.readable().await {
                Ok(mut ready) => ready.clear_ready(),
                Err(_) => return,
            }
        }
    }

    fn waits(&self) -> MutexGuard<'_, Vec<Boottime>> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A task that waits for an instant.
struct Wait<'a> {
    alarm: &'a Alarm,
    at: Boottime,
}

impl<'a> Wait<'a> {
    fn new(alarm: &'a Alarm, at: Boottime) -> Self {
        alarm.waits().push(at);
        Self { alarm, at }
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        let mut waits = self.alarm.waits();
        if let Some(index) = waits.iter().position(|at| *at == self.at) {
            waits.swap_remove(index);
        }
    }
}

/// Makes a non-blocking timer that is not armed.
pub(super) fn timer() -> io::Result<TimerFd> {
    Ok(TimerFd::new(
        TimerClock::CLOCK_BOOTTIME,
        TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC,
    )?)
}

/// Sets `timer` to go off at `at`, or never if that is `None`.
pub(super) fn arm(timer: &TimerFd, at: Option<Boottime>) -> io::Result<()> {
    match at {
        // A time of zero would disarm the timer.
        Some(at) => timer.set(
            Expiration::OneShot(TimeSpec::from(at.since_boot().max(Duration::from_nanos(1)))),
            TimerSetTimeFlags::TFD_TIMER_ABSTIME,
        )?,
        None => timer.unset()?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::{Alarm, now, rate, rate_of};

    /// A duty that ends by itself waits beside the engine in the same way.
    #[test]
    fn of_two_that_wait_each_is_woken_in_time() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (alarm, begin) = (Alarm::new().unwrap(), now());
            let [soon, later, never] =
                [20, 40, 3_600_000].map(|millis| Some(begin + Duration::from_millis(millis)));
            for _ in 0..2 {
                let both = async { tokio::join!(alarm.until(later), alarm.until(soon)) };
                let woken = async {
                    tokio::select! {
                        biased;
                        _ = both => {}
                        () = alarm.until(never) => unreachable!("an hour has passed"),
                    }
                };
                timeout(Duration::from_secs(60), woken).await.expect("in time");
                assert!(now() >= later.unwrap());
            }
            assert!(alarm.waits().is_empty());
        });
    }

    #[test]
    fn the_clock_rate_is_the_one_set_in_the_kernel() {
        let is = |tick, millionths: i64, rate: f64| {
            assert!((rate_of(tick, millionths * 65_536) - rate).abs() < 1e-9);
        };
        is(10_000, 0, 1.0);
        is(9_000, -500, 0.8995);
        is(11_000, 500, 1.1005);
    }

    /// The rate lies in the range that the kernel accepts.
    #[test]
    fn the_rate_of_this_machine_can_be_read() {
        assert!((0.89..1.11).contains(&rate()), "{}", rate());
    }
}

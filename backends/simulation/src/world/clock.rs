//! A node's clock, which may run faster or slower than true time.

use std::fmt;
use std::time::Duration;

use crate::Senseless;

const MILLION: u32 = 1_000_000;

/// How much faster than true time a clock runs, in millionths. It is negative for a slower clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drift(i32);

impl Drift {
    /// No drift.
    pub const NONE: Self = Self(0);

    /// Returns a drift of so many millionths. With 100,000 a clock is a tenth too fast.
    ///
    /// # Errors
    /// [`Senseless::Drift`] if the clock would stand still or run backwards.
    pub fn per_million(millionths: i32) -> Result<Self, Senseless> {
        if i64::from(millionths) <= -i64::from(MILLION) {
            return Err(Senseless::Drift { per_million: millionths });
        }
        Ok(Self(millionths))
    }

    fn rate(self) -> u128 {
        u128::from((i64::from(MILLION) + i64::from(self.0)).unsigned_abs())
    }
}

/// Shows a drift as in `20 % fast`.
impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0.unsigned_abs() / 10_000, self.0.unsigned_abs() % 10_000);
        let side = match self.0 {
            0 => return f.write_str("right"),
            1.. => "fast",
            _ => "slow",
        };
        match rest {
            0 => write!(f, "{whole} % {side}"),
            _ => write!(f, "{} % {side}", format!("{whole}.{rest:04}").trim_end_matches('0')),
        }
    }
}

/// A clock that counts from the start of the run, whatever happens to its node. It stands still only while its machine
/// is suspended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    drift: Drift,
    /// The true time from which it has this drift, and what it showed then.
    since: Duration,
    showed: Duration,
    stands: bool,
}

impl Clock {
    /// Returns what it shows at a true time.
    pub(super) fn shows(&self, now: Duration) -> Duration {
        if self.stands {
            return self.showed;
        }
        let passed = now.saturating_sub(self.since).as_nanos() * self.drift.rate();
        self.showed + nanoseconds(passed / u128::from(MILLION))
    }

    /// Returns the first true time at which it shows this or more, if it does not stand still until then.
    pub(super) fn when(&self, shown: Duration) -> Duration {
        let ahead = shown.saturating_sub(self.showed).as_nanos();
        let passed = (ahead * u128::from(MILLION)).div_ceil(self.drift.rate());
        self.since.saturating_add(nanoseconds(passed))
    }

    /// Sets its drift from now on.
    pub(super) fn run_with(&mut self, drift: Drift, now: Duration) {
        *self = Self { drift, since: now, showed: self.shows(now), ..*self };
    }

    /// Stops it, or lets it run on.
    pub(super) fn stand(&mut self, stands: bool, now: Duration) {
        *self = Self { stands, since: now, showed: self.shows(now), ..*self };
    }

    pub(super) const fn stands(&self) -> bool {
        self.stands
    }
}

fn nanoseconds(count: u128) -> Duration {
    Duration::from_nanos(u64::try_from(count).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_shows_a_time_first_when_it_says_so() -> Result<(), Senseless> {
        let mut clock = Clock::default();
        for (at, drift) in [(0, 100_000), (7, -333_333), (11, 1), (12, -999_999), (13, 2_000_000)] {
            let now = Duration::from_secs(at);
            let before = clock.shows(now);
            clock.run_with(Drift::per_million(drift)?, now);
            assert_eq!(clock.shows(now), before, "a change of drift is no step");
            for wait in [1, 3, 1_000_000_007] {
                let shown = clock.shows(now) + Duration::from_nanos(wait);
                let when = clock.when(shown);
                assert!(clock.shows(when) >= shown);
                assert!(clock.shows(when.saturating_sub(Duration::from_nanos(1))) < shown);
            }
        }
        assert!(Drift::per_million(-1_000_000).is_err());
        let [before, after] = [13, 14].map(|at| clock.shows(Duration::from_secs(at)));
        assert_eq!(after, before + Duration::from_secs(3));
        Ok(())
    }

    #[test]
    fn a_clock_goes_on_where_it_stood_still() -> Result<(), Senseless> {
        let s = Duration::from_secs;
        let mut clock = Clock::default();
        clock.stand(true, s(5));
        assert_eq!(clock.shows(s(8)), s(5));
        clock.run_with(Drift::per_million(1_000_000)?, s(8));
        assert_eq!(clock.shows(s(9)), s(5));
        clock.stand(false, s(10));
        assert_eq!((clock.shows(s(11)), clock.when(s(9))), (s(7), s(12)));
        Ok(())
    }
}

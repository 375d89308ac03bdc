//! Every duration of the engine, and every inequality between them, in one constructor.

use std::time::Duration;

use elect_api::{Boottime, Cadence, Lease, Validity};

use crate::guard::Deadlines;
use crate::guard::switches::{Part, is_off};

/// What the user may choose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wishes {
    /// The length of lease to ask for: W, unless the store grants another one. Default 15 s.
    pub ttl: Duration,
    /// How long a command may take to end after it was asked to, once leadership is lost: G.
    /// `None` is 4W/15.
    pub kill_grace: Option<Duration>,
    /// The greatest difference between the rates of this machine's clock and the store's, as a
    /// share of one. Default 0.1.
    pub max_clock_drift: f64,
}

impl Default for Wishes {
    fn default() -> Self {
        Self { ttl: Duration::from_secs(15), kill_grace: None, max_clock_drift: 0.1 }
    }
}

/// The engine's durations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// From one renewal to the next, and the longest time between two looks of a waiter.
    pub renew_interval: Duration,
    /// The longest that one attempt at the store may take.
    pub attempt_timeout: Duration,
    /// G: from asking the command to stop to killing it.
    pub kill_grace: Duration,
    /// How long the store may stay unreached before the first contact.
    pub connect_timeout: Duration,
    wishes: Wishes,
    lease: Lease,
}

/// A plan whose deadlines would not leave time for its renewals.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "a lease of {} leaves no time to renew it: take a TTL of {} or more, or a kill grace of at most {}",
    humantime::format_duration(*.window),
    humantime::format_duration(*.smallest_ttl),
    humantime::format_duration(*.largest_grace)
)]
pub struct TooTight {
    /// W as asked, or as granted.
    pub window: Duration,
    /// The smallest TTL that would do with this grace, rounded up to 0.1 s.
    pub smallest_ttl: Duration,
    /// The largest grace that would do with this W, rounded down to 0.1 s.
    pub largest_grace: Duration,
}

/// The store's answers come at once or not at all where no clock runs against us.
const UNLIMITED_INTERVAL: Duration = Duration::from_secs(5);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const LEAST_MARGIN: Duration = Duration::from_millis(500);

impl Timing {
    /// Derives all durations for leases of this kind, with W as asked or granted.
    ///
    /// # Errors
    /// When soft deadlines would come before renewals can: `soft - s >= anchor lag + 2 x renewal
    /// interval + attempt timeout` does not hold.
    pub fn new(wishes: &Wishes, lease: Lease) -> Result<Self, TooTight> {
        let timing = Self::derive(wishes, lease);
        match lease {
            Lease::Timed(cadence) if timing.slack(wishes.ttl, cadence) < 0.0 => Err(TooTight {
                window: wishes.ttl,
                smallest_ttl: Self::smallest_ttl(wishes, cadence),
                largest_grace: Self::largest_grace(wishes, cadence),
            }),
            _ => Ok(timing),
        }
    }

    fn derive(wishes: &Wishes, lease: Lease) -> Self {
        let interval = match lease {
            Lease::Unlimited => UNLIMITED_INTERVAL,
            Lease::Timed(cadence) => wishes.ttl * cadence.renew_twelfths / 12,
        };
        Self {
            renew_interval: interval,
            attempt_timeout: interval,
            kill_grace: wishes.kill_grace.unwrap_or(wishes.ttl * 4 / 15),
            connect_timeout: CONNECT_TIMEOUT,
            wishes: *wishes,
            lease,
        }
    }

    /// V: how long after the anchor leadership may be counted on, by this machine's clock.
    fn counted_on(&self, window: Duration) -> Duration {
        if is_off(Part::Margin) {
            return window;
        }
        window.div_f64(1.0 + self.wishes.max_clock_drift)
    }

    /// K: how long before the end of V everything must be dead.
    fn safety_margin(window: Duration) -> Duration {
        if is_off(Part::Margin) {
            return Duration::ZERO;
        }
        LEAST_MARGIN.max(window / 15)
    }

    /// The deadlines that follow from a proof; `None` where there are none.
    pub fn deadlines(&self, validity: Validity) -> Option<Deadlines> {
        let Validity::Window { window, .. } = validity else { return None };
        let margin = Self::safety_margin(window);
        let hard = self.end(validity)? - margin;
        Some(Deadlines { soft: hard - self.kill_grace, hard, dead_man: hard + margin / 4 })
    }

    /// Whether the lease is held by processes of this machine, without any limit of time.
    pub fn is_local(&self) -> bool {
        self.lease == Lease::Unlimited
    }

    /// When another may lead, by this machine's clock; `None` where leases do not end by time.
    pub fn end(&self, validity: Validity) -> Option<Boottime> {
        match validity {
            Validity::Unlimited => None,
            Validity::Window { anchor, window } => Some(anchor + self.counted_on(window)),
        }
    }

    /// The same wishes, for W as the store granted it. A validity without a window changes nothing.
    ///
    /// # Errors
    /// As [`Timing::new`].
    pub fn regrant(&self, validity: Validity) -> Result<Self, TooTight> {
        match validity {
            Validity::Window { window, .. } if window != self.wishes.ttl => {
                Self::new(&Wishes { ttl: window, ..self.wishes }, self.lease)
            }
            _ => Ok(*self),
        }
    }

    /// By how many seconds the inequality holds; negative when it does not.
    fn slack(&self, window: Duration, cadence: Cadence) -> f64 {
        let soft = self.counted_on(window).as_secs_f64()
            - Self::safety_margin(window).as_secs_f64()
            - self.kill_grace.as_secs_f64();
        let lag = (window * cadence.anchor_lag_twelfths / 12).as_secs_f64();
        soft - lag - 2.0 * self.renew_interval.as_secs_f64() - self.attempt_timeout.as_secs_f64()
    }

    fn would_do(wishes: &Wishes, cadence: Cadence) -> bool {
        Self::derive(wishes, Lease::Timed(cadence)).slack(wishes.ttl, cadence) >= 0.0
    }

    fn smallest_ttl(wishes: &Wishes, cadence: Cadence) -> Duration {
        (1..36_000)
            .map(|tenths| Duration::from_millis(tenths * 100))
            .find(|&ttl| Self::would_do(&Wishes { ttl, ..*wishes }, cadence))
            .unwrap_or(Duration::MAX)
    }

    fn largest_grace(wishes: &Wishes, cadence: Cadence) -> Duration {
        let without = Self::derive(
            &Wishes { kill_grace: Some(Duration::ZERO), ..*wishes },
            Lease::Timed(cadence),
        );
        let tenths = (without.slack(wishes.ttl, cadence).max(0.0) * 10.0).floor();
        Duration::from_secs_f64(tenths / 10.0)
    }

    /// How long to wait before the `attempt`th repetition (from 1 on) of a failed request: 50 ms,
    /// doubled each time up to the renewal interval, of which between half and all is taken.
    pub fn backoff(&self, attempt: u32, chance: f64) -> Duration {
        let longest = self
            .renew_interval
            .min(Duration::from_millis(50) * 2_u32.pow(attempt.clamp(1, 16) - 1));
        longest.mul_f64(0.5 + chance.clamp(0.0, 1.0) / 2.0)
    }

    /// Whether leadership that was proven like this leaves the command its grace.
    pub fn leaves_grace(&self, validity: Validity, now: Boottime) -> bool {
        self.deadlines(validity).is_none_or(|deadlines| now < deadlines.soft)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ETCD: Lease = Lease::Timed(Cadence { anchor_lag_twelfths: 0, renew_twelfths: 2 });
    const ZOOKEEPER: Lease = Lease::Timed(Cadence { anchor_lag_twelfths: 3, renew_twelfths: 1 });

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    #[test]
    fn the_defaults_hold_for_every_cadence() {
        for lease in [ETCD, ZOOKEEPER, Lease::Unlimited] {
            let timing = Timing::new(&Wishes::default(), lease).expect("defaults hold");
            assert_eq!(timing.kill_grace, seconds(4.0));
        }
    }

    #[test]
    fn deadlines_follow_the_design() {
        let timing = Timing::new(&Wishes::default(), ETCD).expect("defaults hold");
        let anchor = Boottime::from_boot(seconds(100.0));
        let found =
            timing.deadlines(Validity::Window { anchor, window: seconds(15.0) }).expect("timed");
        let after = |instant: Boottime| instant.since(anchor).as_millis();
        // V = 15 / 1.1 = 13.636 s, K = 1 s, G = 4 s.
        assert_eq!(
            [after(found.soft), after(found.hard), after(found.dead_man)],
            [8636, 12636, 12886]
        );
        let end = timing.end(Validity::Window { anchor, window: seconds(15.0) }).expect("timed");
        assert_eq!(after(end), 13636);
        assert_eq!(timing.deadlines(Validity::Unlimited), None);
    }

    #[test]
    fn a_plan_without_time_to_renew_names_both_ways_out() {
        let wishes = Wishes { kill_grace: Some(seconds(10.0)), ..Wishes::default() };
        let refusal = Timing::new(&wishes, ETCD).expect_err("too tight");
        assert!(refusal.smallest_ttl > wishes.ttl && refusal.largest_grace < seconds(10.0));
        let longer = Wishes { ttl: refusal.smallest_ttl, ..wishes };
        assert!(Timing::new(&longer, ETCD).is_ok());
        let shorter = Wishes { kill_grace: Some(refusal.largest_grace), ..wishes };
        assert!(Timing::new(&shorter, ETCD).is_ok());
        assert!(
            Timing::new(
                &Wishes { ttl: refusal.smallest_ttl.saturating_sub(seconds(0.1)), ..wishes },
                ETCD
            )
            .is_err()
        );
        assert!(
            Timing::new(
                &Wishes { kill_grace: Some(refusal.largest_grace + seconds(0.1)), ..wishes },
                ETCD
            )
            .is_err()
        );
    }

    #[test]
    fn what_the_store_grants_is_checked_again() {
        let timing = Timing::new(&Wishes::default(), ETCD).expect("defaults hold");
        let granted =
            |window| Validity::Window { anchor: Boottime::from_boot(seconds(9.0)), window };
        let longer = timing.regrant(granted(seconds(30.0))).expect("more time");
        assert_eq!((longer.renew_interval, longer.kill_grace), (seconds(5.0), seconds(8.0)));
        let fixed = Wishes { kill_grace: Some(seconds(4.0)), ..Wishes::default() };
        let timing = Timing::new(&fixed, ETCD).expect("holds as asked");
        assert_eq!(
            timing.regrant(granted(seconds(6.0))).expect_err("too tight").window,
            seconds(6.0)
        );
        assert_eq!(timing.regrant(Validity::Unlimited), Ok(timing));
    }

    /// The table in README, as the checks above have it.
    fn table() -> String {
        use std::fmt::Write as _;
        let cadence = |lease| match lease {
            Lease::Timed(cadence) => cadence,
            Lease::Unlimited => unreachable!("these leases end by time"),
        };
        // Both spend half of the lease on renewals, so that one column serves.
        let only = |of: &dyn Fn(Cadence) -> Duration| {
            let [etcd, zookeeper] = [ETCD, ZOOKEEPER].map(|lease| of(cadence(lease)));
            assert_eq!(etcd, zookeeper);
            format!("{:.1} s", etcd.as_secs_f64())
        };
        let mut table = String::from("| kill grace | smallest TTL |\n|---|---|\n");
        for grace in [None, Some(0.0), Some(1.0), Some(5.0), Some(10.0), Some(30.0)] {
            let wishes = Wishes { kill_grace: grace.map(seconds), ..Wishes::default() };
            let name = grace.map_or("4/15 of the TTL".into(), |grace| format!("{grace:.0} s"));
            let ttl = only(&|cadence| Timing::smallest_ttl(&wishes, cadence));
            let _ = writeln!(table, "| {name} | {ttl} |");
        }
        table.push_str("\n| TTL | largest kill grace |\n|---|---|\n");
        for ttl in [5.0, 10.0, 15.0, 30.0, 60.0] {
            let wishes = Wishes { ttl: seconds(ttl), ..Wishes::default() };
            let grace = only(&|cadence| Timing::largest_grace(&wishes, cadence));
            let _ = writeln!(table, "| {ttl:.0} s | {grace} |");
        }
        table
    }

    #[test]
    fn the_readme_has_the_table_that_holds() {
        let readme = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md"));
        assert!(readme.contains(&table()), "the table in README is to be:\n{}", table());
    }

    #[test]
    fn backoff_grows_to_the_interval_and_is_spread() {
        let timing = Timing::new(&Wishes::default(), ETCD).expect("defaults hold");
        assert_eq!(timing.backoff(1, 1.0), Duration::from_millis(50));
        assert_eq!(timing.backoff(1, 0.0), Duration::from_millis(25));
        assert_eq!(timing.backoff(3, 1.0), Duration::from_millis(200));
        assert_eq!(timing.backoff(60, 1.0), timing.renew_interval);
    }
}

//! Derives all durations of the engine from the lease, and checks every inequality between them, in one constructor.

use std::time::Duration;

use elect_api::{Boottime, Cadence, Judge, Lease, Profile, Validity};

use crate::guard::Deadlines;
use crate::guard::is_off;

/// The longest lease that may be asked for.
pub const LONGEST_TTL: Duration = Duration::from_secs(24 * 60 * 60);

/// The durations that the user may choose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimingOptions {
    /// W, the length of lease to ask for, unless the store grants another one. Default 15 s in most stores.
    pub ttl: Duration,
    /// G, the time that a command has to end after it was asked to, once leadership is lost. `None` is 4W/15.
    pub kill_grace: Option<Duration>,
    /// The greatest difference between the rates of two clocks that count a lease, as a share of one. They are this
    /// machine's and the store's, or those of two candidates ([`Judge`]). Default 0.1.
    pub max_clock_drift: f64,
}

impl TimingOptions {
    /// The default for a store.
    pub fn usual(store: &Profile) -> Self {
        Self { ttl: store.usual_ttl, ..Self::default() }
    }
}

impl Default for TimingOptions {
    fn default() -> Self {
        Self { ttl: Profile::USUAL_TTL, kill_grace: None, max_clock_drift: 0.1 }
    }
}

/// The engine's durations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// The time from one renewal to the next, and the longest time between two requests of a waiter.
    pub renew_interval: Duration,
    /// The longest time that one attempt of a leader at the store may take.
    pub attempt_timeout: Duration,
    /// The same for a candidate that does not lead: W/6, but at least 2 s and at most 5 s. Without a time limit it is
    /// the renewal interval. So a slow connection still counts, and a candidate that leaves gives up in bounded time.
    pub entry_timeout: Duration,
    /// G, the time from asking the command to stop to killing it.
    pub kill_grace: Duration,
    /// How long the store may be unreachable before the first contact.
    pub connect_timeout: Duration,
    options: TimingOptions,
    lease: Lease,
}

/// The error for a plan whose deadlines would leave no time for renewals.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("a lease of {} leaves no time to renew it: {}", humantime::format_duration(*.window), self.way_out())]
pub struct TooTight {
    /// W as asked, or as granted.
    pub window: Duration,
    /// The smallest TTL that would do with this grace, rounded up to 0.1 s; `None` if no TTL would.
    pub smallest_ttl: Option<Duration>,
    /// The largest grace that would do with this W, rounded down to 0.1 s; `None` if no grace would.
    pub largest_grace: Option<Duration>,
}

/// The error for a clock that is too inexact to count leases.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {}", Self::WAY_OUT)]
pub struct Distrust {
    /// How fast the clock runs, and how fast it may run.
    pub what: String,
}

impl Distrust {
    /// The advice to the user.
    pub const WAY_OUT: &str = "see `adjtimex --print` or `chronyc tracking` for what slews it, or allow for more \
                               with --max-clock-drift";
}

impl TooTight {
    fn way_out(&self) -> String {
        let ttl = |ttl| format!("take a TTL of {} or more", humantime::format_duration(ttl));
        let grace = |grace| format!("a grace of at most {}", humantime::format_duration(grace));
        match (self.smallest_ttl.map(ttl), self.largest_grace.map(grace)) {
            (Some(ttl), Some(grace)) => format!("{ttl}, or {grace}"),
            (Some(ttl), None) => ttl,
            (None, Some(grace)) => format!("take {grace}"),
            (None, None) => "no TTL does with such a clock drift: take a smaller drift".into(),
        }
    }
}

/// The renewal interval for leases without a time limit. Their store answers at once or not at all.
const UNLIMITED_INTERVAL: Duration = Duration::from_secs(5);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const LEAST_ENTRY_TIMEOUT: Duration = Duration::from_secs(2);
const GREATEST_ENTRY_TIMEOUT: Duration = Duration::from_secs(5);
/// The share by which the kernel lets a clock be steered to correct it: 500 millionths.
const STEERED: f64 = 0.0005;
const LEAST_MARGIN: Duration = Duration::from_millis(500);

impl Timing {
    /// Derives all durations for leases of this kind, with W as asked or granted.
    ///
    /// # Errors
    /// If the soft deadline would come before renewals can: `soft - s >= anchor lag + 2 x renewal interval + attempt
    /// timeout` does not hold.
    pub fn new(options: &TimingOptions, lease: Lease) -> Result<Self, TooTight> {
        let timing = Self::derive(options, lease);
        match lease {
            Lease::Timed(cadence) if timing.slack(options.ttl, cadence) < 0.0 => Err(TooTight {
                window: options.ttl,
                smallest_ttl: Self::smallest_ttl(options, cadence),
                largest_grace: Self::largest_grace(options, cadence),
            }),
            _ => Ok(timing),
        }
    }

    fn derive(options: &TimingOptions, lease: Lease) -> Self {
        let interval = match lease {
            Lease::Unlimited => UNLIMITED_INTERVAL,
            Lease::Timed(cadence) => options.ttl * cadence.renew_48ths / 48,
        };
        Self {
            renew_interval: interval,
            attempt_timeout: interval,
            entry_timeout: match lease {
                Lease::Unlimited => interval,
                Lease::Timed(_) => {
                    (options.ttl / 6).clamp(LEAST_ENTRY_TIMEOUT, GREATEST_ENTRY_TIMEOUT)
                }
            },
            kill_grace: options.kill_grace.unwrap_or(options.ttl * 4 / 15),
            connect_timeout: CONNECT_TIMEOUT,
            options: *options,
            lease,
        }
    }

    /// V, the time after the anchor for which leadership may be counted on, by this machine's clock.
    fn counted_on(&self, window: Duration) -> Duration {
        if is_off!(Drift) {
            return window;
        }
        let drift = self.clock_drift();
        match self.judge() {
            // This machine's clock may run slow while a waiter's clock runs fast.
            Some(Judge::Candidates) if !is_off!(TwoClocks) => {
                window.mul_f64((1.0 - drift) / (1.0 + drift))
            }
            // Only the difference counts: this machine's clock may be slower than the store's.
            _ => window.div_f64(1.0 + drift),
        }
    }

    /// The error that is allowed to this machine's clock, as a share. Where two candidates count the lease, each gets
    /// half.
    fn clock_drift(&self) -> f64 {
        match self.judge() {
            None | Some(Judge::Store) => self.options.max_clock_drift,
            Some(Judge::Candidates) => self.options.max_clock_drift / 2.0,
        }
    }

    const fn judge(&self) -> Option<Judge> {
        match self.lease {
            Lease::Timed(cadence) => Some(cadence.judge),
            Lease::Unlimited => None,
        }
    }

    /// K, the time before the end of V by which everything must be dead.
    fn safety_margin(window: Duration) -> Duration {
        if is_off!(Margin) {
            return Duration::ZERO;
        }
        Self::margin_of(window)
    }

    /// Returns the K that this W needs.
    pub fn margin_of(window: Duration) -> Duration {
        LEAST_MARGIN.max(window / 15)
    }

    /// Returns the deadlines that follow from a proof; `None` if leases do not end by time.
    pub fn deadlines(&self, validity: Validity) -> Option<Deadlines> {
        let Validity::Window { window, .. } = validity else { return None };
        let margin = Self::safety_margin(window);
        let hard = self.end(validity)? - margin;
        Some(Deadlines {
            soft: hard - self.kill_grace,
            hard,
            dead_man: hard + margin / 4,
            last: hard + margin * 3 / 4,
        })
    }

    /// Returns how long a candidate waits, beyond the user's limit, to find out whether the candidates ahead are alive.
    /// In this time a dead one with a lease of this length is replaced: its lease and two requests.
    pub fn doubt(&self) -> Duration {
        self.window() * 3 / 2
    }

    /// W, as asked or as granted.
    pub fn window(&self) -> Duration {
        self.options.ttl
    }

    /// Returns whether processes of this machine hold the lease, without any time limit.
    pub fn is_local(&self) -> bool {
        self.lease == Lease::Unlimited
    }

    /// Checks that leases may be counted by a clock that runs at this rate, as a share of its own free rate. Steering
    /// within `STEERED`, which corrects a clock, always passes, whatever drift was asked for.
    ///
    /// # Errors
    /// Says why not and what to do, in words for people.
    pub fn trust(&self, rate: f64) -> Result<(), Distrust> {
        let (off, most) = (rate - 1.0, self.clock_drift().max(STEERED));
        // A share is not exact to the last bit.
        if self.is_local() || off.abs() <= most + 1e-9 {
            return Ok(());
        }
        let what = format!(
            "this machine's clock is slewed to run {:.2} % too {}, and leases are counted for {:.2} % at most",
            off.abs() * 100.0,
            if off < 0.0 { "slow" } else { "fast" },
            most * 100.0
        );
        Err(Distrust { what })
    }

    /// Returns when another candidate may lead, by this machine's clock; `None` where leases do not end by time.
    pub fn end(&self, validity: Validity) -> Option<Boottime> {
        match validity {
            Validity::Unlimited => None,
            Validity::Window { anchor, window } => Some(anchor + self.counted_on(window)),
        }
    }

    /// Derives the durations again, for the W that the store granted. A validity without a window changes nothing.
    ///
    /// # Errors
    /// Those of [`Timing::new`].
    pub fn regrant(&self, validity: Validity) -> Result<Self, TooTight> {
        match validity {
            Validity::Window { window, .. } if window != self.options.ttl => {
                Self::new(&TimingOptions { ttl: window, ..self.options }, self.lease)
            }
            _ => Ok(*self),
        }
    }

    /// Returns by how many seconds the inequality holds; negative if it does not.
    fn slack(&self, window: Duration, cadence: Cadence) -> f64 {
        let soft = self.counted_on(window).as_secs_f64()
            - Self::safety_margin(window).as_secs_f64()
            - self.kill_grace.as_secs_f64();
        let lag = (window * cadence.anchor_lag_48ths / 48).as_secs_f64();
        soft - lag - 2.0 * self.renew_interval.as_secs_f64() - self.attempt_timeout.as_secs_f64()
    }

    fn would_do(options: &TimingOptions, cadence: Cadence) -> bool {
        Self::derive(options, Lease::Timed(cadence)).slack(options.ttl, cadence) >= 0.0
    }

    fn smallest_ttl(options: &TimingOptions, cadence: Cadence) -> Option<Duration> {
        (1..36_000)
            .map(|tenths| Duration::from_millis(tenths * 100))
            .find(|&ttl| Self::would_do(&TimingOptions { ttl, ..*options }, cadence))
    }

    fn largest_grace(options: &TimingOptions, cadence: Cadence) -> Option<Duration> {
        let without = Self::derive(
            &TimingOptions { kill_grace: Some(Duration::ZERO), ..*options },
            Lease::Timed(cadence),
        );
        let tenths = (without.slack(options.ttl, cadence) * 10.0).floor();
        Duration::try_from_secs_f64(tenths / 10.0).ok()
    }

    /// Returns how long to wait before the `attempt`th repetition (from 1 on) of a failed request. The base is 50 ms,
    /// doubled each time up to the renewal interval. `chance` picks a value between half of it and all of it.
    pub fn backoff(&self, attempt: u32, chance: f64) -> Duration {
        if is_off!(Backoff) {
            return Duration::from_millis(1);
        }
        let chance = if is_off!(Jitter) { 1.0 } else { chance };
        let longest = self
            .renew_interval
            .min(Duration::from_millis(50) * 2_u32.pow(attempt.clamp(1, 16) - 1));
        longest.mul_f64(0.5 + chance.clamp(0.0, 1.0) / 2.0)
    }

    /// Returns whether a store that answers gives the next proof before a command that starts now would have to stop. A
    /// proof that takes two requests, W/4 apart, follows at once only on an unbroken series of requests. `answered` is
    /// since when the store has answered those of this candidate, and, where seats share their proofs, those of others.
    /// A proof from before a silence of the store leaves enough time only if it is recent.
    pub fn will_be_proven(&self, validity: Validity, now: Boottime, answered: Boottime) -> bool {
        let (Lease::Timed(cadence), Validity::Window { anchor, window }) = (self.lease, validity)
        else {
            return true;
        };
        let two_renewals = window * cadence.renew_48ths / 24;
        cadence.anchor_lag_48ths == 0
            || anchor >= answered
            || now <= anchor + two_renewals
            || is_off!(Reproof)
    }

    /// Returns whether leadership that was proven like this leaves the command its grace.
    pub fn leaves_grace(&self, validity: Validity, now: Boottime) -> bool {
        is_off!(Reproof) || self.deadlines(validity).is_none_or(|deadlines| now < deadlines.soft)
    }
}

#[cfg(test)]
mod tests;

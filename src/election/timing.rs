//! The durations that follow from the lease, and every inequality between them, in one constructor.

use std::time::Duration;

use elect_api::{Boottime, Cadence, Judge, Lease, Validity};

use crate::guard::Deadlines;
use crate::guard::is_off;

/// The longest lease that may be asked for.
pub const LONGEST_TTL: Duration = Duration::from_secs(24 * 60 * 60);

/// What the user may choose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimingOptions {
    /// The length of lease to ask for: W, unless the store grants another one. Default 15 s.
    pub ttl: Duration,
    /// How long a command may take to end after it was asked to, once leadership is lost: G.
    /// `None` is 4W/15.
    pub kill_grace: Option<Duration>,
    /// The greatest difference between the rates of two clocks that count a lease, as a share of one. They are this
    /// machine's and the store's, or those of two candidates ([`Judge`]). Default 0.1.
    pub max_clock_drift: f64,
}

impl Default for TimingOptions {
    fn default() -> Self {
        Self { ttl: Duration::from_secs(15), kill_grace: None, max_clock_drift: 0.1 }
    }
}

/// The engine's durations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// From one renewal to the next, and the longest time between two looks of a waiter.
    pub renew_interval: Duration,
    /// The longest that one attempt of a leader at the store may take.
    pub attempt_timeout: Duration,
    /// The same for a candidate that does not lead: a connection that takes its time is one all the
    /// same, and who leaves gives up in bounded time. W/6, within 2 s and 5 s.
    pub entry_timeout: Duration,
    /// G: from asking the command to stop to killing it.
    pub kill_grace: Duration,
    /// How long the store may stay unreached before the first contact.
    pub connect_timeout: Duration,
    options: TimingOptions,
    lease: Lease,
}

/// A plan whose deadlines would not leave time for its renewals.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("a lease of {} leaves no time to renew it: {}", humantime::format_duration(*.window), self.way_out())]
pub struct TooTight {
    /// W as asked, or as granted.
    pub window: Duration,
    /// The smallest TTL that would do with this grace, rounded up to 0.1 s; `None` if none would.
    pub smallest_ttl: Option<Duration>,
    /// The largest grace that would do with this W, rounded down to 0.1 s; `None` if none would.
    pub largest_grace: Option<Duration>,
}

/// A clock by which no leases may be counted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {}", Self::WAY_OUT)]
pub struct Distrust {
    /// How fast it runs, and how fast it may.
    pub what: String,
}

impl Distrust {
    /// What to do.
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

/// The store's answers come at once or not at all where no clock runs against us.
const UNLIMITED_INTERVAL: Duration = Duration::from_secs(5);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const LEAST_ENTRY_TIMEOUT: Duration = Duration::from_secs(2);
const GREATEST_ENTRY_TIMEOUT: Duration = Duration::from_secs(5);
/// How far the kernel lets a clock be steered to make it run right, as a share: 500 millionths.
const STEERED: f64 = 0.0005;
const LEAST_MARGIN: Duration = Duration::from_millis(500);

impl Timing {
    /// Derives all durations for leases of this kind, with W as asked or granted.
    ///
    /// # Errors
    /// When soft deadlines would come before renewals can: `soft - s >= anchor lag + 2 x renewal
    /// interval + attempt timeout` does not hold.
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

    /// V: how long after the anchor leadership may be counted on, by this machine's clock.
    fn counted_on(&self, window: Duration) -> Duration {
        if is_off!(Drift) {
            return window;
        }
        let drift = self.clock_drift();
        match self.judge() {
            // Ours may be slow, and that of who waits be fast.
            Some(Judge::Candidates) if !is_off!(TwoClocks) => {
                window.mul_f64((1.0 - drift) / (1.0 + drift))
            }
            // This machine's clock may be slower than the store's, whatever the right one says.
            _ => window.div_f64(1.0 + drift),
        }
    }

    /// How far this machine's clock may be off, as a share. Where two candidates count each has half.
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

    /// K: how long before the end of V everything must be dead.
    fn safety_margin(window: Duration) -> Duration {
        if is_off!(Margin) {
            return Duration::ZERO;
        }
        Self::margin_of(window)
    }

    /// What K has to be for this W.
    pub fn margin_of(window: Duration) -> Duration {
        LEAST_MARGIN.max(window / 15)
    }

    /// The deadlines that follow from a proof; `None` where there are none.
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

    /// How long it is waited for at most, beyond what the user gave, whether anybody lives who is before us. One that has a
    /// lease of our length and is dead is followed by then, after that lease and two looks.
    pub fn doubt(&self) -> Duration {
        self.window() * 3 / 2
    }

    /// W, as asked or as granted.
    pub fn window(&self) -> Duration {
        self.options.ttl
    }

    /// Whether the lease is held by processes of this machine, without any limit of time.
    pub fn is_local(&self) -> bool {
        self.lease == Lease::Unlimited
    }

    /// Whether leases may be counted by a clock that runs at this rate, as a share of what it would by itself.
    /// What makes a clock run right is within `STEERED`, whatever drift is asked for.
    ///
    /// # Errors
    /// Why not, and what to do, for people.
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

    /// When another may lead, by this machine's clock; `None` where leases do not end by time.
    pub fn end(&self, validity: Validity) -> Option<Boottime> {
        match validity {
            Validity::Unlimited => None,
            Validity::Window { anchor, window } => Some(anchor + self.counted_on(window)),
        }
    }

    /// The same options, for W as the store granted it. A validity without a window changes nothing.
    ///
    /// # Errors
    /// As [`Timing::new`].
    pub fn regrant(&self, validity: Validity) -> Result<Self, TooTight> {
        match validity {
            Validity::Window { window, .. } if window != self.options.ttl => {
                Self::new(&TimingOptions { ttl: window, ..self.options }, self.lease)
            }
            _ => Ok(*self),
        }
    }

    /// By how many seconds the inequality holds; negative when it does not.
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

    /// How long to wait before the `attempt`th repetition (from 1 on) of a failed request: 50 ms,
    /// doubled each time up to the renewal interval, of which between half and all is taken.
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

    /// Whether the next proof comes before a command that starts now would have to stop, with a store that answers. A proof
    /// that takes two requests, W/4 apart, follows at once only on an unbroken series of them: `answered` is since when the
    /// store answers ours, and, where seats share what they prove, those of others. Of what was proven before a silence of
    /// the store enough is left only if it has just been so.
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

    /// Whether leadership that was proven like this leaves the command its grace.
    pub fn leaves_grace(&self, validity: Validity, now: Boottime) -> bool {
        is_off!(Reproof) || self.deadlines(validity).is_none_or(|deadlines| now < deadlines.soft)
    }
}

#[cfg(test)]
mod tests;

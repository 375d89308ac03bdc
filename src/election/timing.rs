//! The durations that follow from the lease, and every inequality between them, in one constructor.

use std::time::Duration;

use elect_api::{Boottime, Cadence, Judge, Lease, Validity};

use crate::guard::Deadlines;
use crate::guard::is_off;

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
    wishes: TimingOptions,
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
    pub fn new(wishes: &TimingOptions, lease: Lease) -> Result<Self, TooTight> {
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

    fn derive(wishes: &TimingOptions, lease: Lease) -> Self {
        let interval = match lease {
            Lease::Unlimited => UNLIMITED_INTERVAL,
            Lease::Timed(cadence) => wishes.ttl * cadence.renew_48ths / 48,
        };
        Self {
            renew_interval: interval,
            attempt_timeout: interval,
            entry_timeout: match lease {
                Lease::Unlimited => interval,
                Lease::Timed(_) => {
                    (wishes.ttl / 6).clamp(LEAST_ENTRY_TIMEOUT, GREATEST_ENTRY_TIMEOUT)
                }
            },
            kill_grace: wishes.kill_grace.unwrap_or(wishes.ttl * 4 / 15),
            connect_timeout: CONNECT_TIMEOUT,
            wishes: *wishes,
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
            None | Some(Judge::Store) => self.wishes.max_clock_drift,
            Some(Judge::Candidates) => self.wishes.max_clock_drift / 2.0,
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

    /// W, as asked or as granted.
    pub fn window(&self) -> Duration {
        self.wishes.ttl
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

    /// The same wishes, for W as the store granted it. A validity without a window changes nothing.
    ///
    /// # Errors
    /// As [`Timing::new`].
    pub fn regrant(&self, validity: Validity) -> Result<Self, TooTight> {
        match validity {
            Validity::Window { window, .. } if window != self.wishes.ttl => {
                Self::new(&TimingOptions { ttl: window, ..self.wishes }, self.lease)
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

    fn would_do(wishes: &TimingOptions, cadence: Cadence) -> bool {
        Self::derive(wishes, Lease::Timed(cadence)).slack(wishes.ttl, cadence) >= 0.0
    }

    fn smallest_ttl(wishes: &TimingOptions, cadence: Cadence) -> Option<Duration> {
        (1..36_000)
            .map(|tenths| Duration::from_millis(tenths * 100))
            .find(|&ttl| Self::would_do(&TimingOptions { ttl, ..*wishes }, cadence))
    }

    fn largest_grace(wishes: &TimingOptions, cadence: Cadence) -> Option<Duration> {
        let without = Self::derive(
            &TimingOptions { kill_grace: Some(Duration::ZERO), ..*wishes },
            Lease::Timed(cadence),
        );
        let tenths = (without.slack(wishes.ttl, cadence) * 10.0).floor();
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
mod tests {
    use super::*;

    const ETCD: Lease = Lease::Timed(Cadence::LEASE);
    const ZOOKEEPER: Lease = Lease::Timed(Cadence::SESSION);

    /// That of documents, where those who wait judge.
    const RECORDS: Lease = Lease::Timed(Cadence::RECORD);

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    #[test]
    fn the_defaults_hold_for_every_cadence() {
        for lease in [ETCD, ZOOKEEPER, RECORDS, Lease::Unlimited] {
            let timing = Timing::new(&TimingOptions::default(), lease).expect("defaults hold");
            assert_eq!(timing.kill_grace, seconds(4.0));
        }
    }

    #[test]
    fn only_where_a_proof_takes_two_requests_it_may_be_too_old_for_a_start() {
        let second = |at: f64| Boottime::from_boot(seconds(at));
        let will = |lease, now: f64, answered: f64| {
            let timing = Timing::new(&TimingOptions::default(), lease).expect("defaults hold");
            let validity = Validity::Window { anchor: second(100.0), window: seconds(15.0) };
            timing.will_be_proven(validity, second(now), second(answered))
        };
        // Two sixteenths of W are 1.875 s.
        assert!(will(ZOOKEEPER, 101.8, 101.8) && !will(ZOOKEEPER, 101.9, 101.9));
        assert!(will(ZOOKEEPER, 105.0, 100.0) && !will(ZOOKEEPER, 105.0, 100.1));
        for lease in [ETCD, RECORDS, Lease::Unlimited] {
            assert!(will(lease, 110.0, 110.0));
        }
    }

    #[test]
    fn deadlines_follow_the_design() {
        let timing = Timing::new(&TimingOptions::default(), ETCD).expect("defaults hold");
        let anchor = Boottime::from_boot(seconds(100.0));
        let found =
            timing.deadlines(Validity::Window { anchor, window: seconds(15.0) }).expect("timed");
        let after = |instant: Boottime| instant.since(anchor).as_millis();
        // V = 15 / 1.1 = 13.636 s, K = 1 s, G = 4 s.
        assert_eq!(
            [found.soft, found.hard, found.dead_man, found.last].map(after),
            [8636, 12636, 12886, 13386]
        );
        let end = timing.end(Validity::Window { anchor, window: seconds(15.0) }).expect("timed");
        assert_eq!(after(end), 13636);
        assert_eq!(timing.deadlines(Validity::Unlimited), None);
    }

    /// Each clock is off by half of the drift, the holder's behind and the other one ahead.
    #[test]
    fn where_candidates_judge_each_clock_has_half_of_the_drift() {
        for drift in [0.0, 0.02, 0.1, 0.3] {
            let wishes = TimingOptions {
                max_clock_drift: drift,
                kill_grace: Some(Duration::ZERO),
                ..TimingOptions::default()
            };
            let timing = Timing::new(&wishes, RECORDS).expect("it holds");
            let anchor = Boottime::from_boot(seconds(100.0));
            let window = wishes.ttl;
            let end = timing.end(Validity::Window { anchor, window }).expect("timed");
            let counted_on = end.since(anchor).as_secs_f64() / (1.0 - drift / 2.0);
            let taken = window.as_secs_f64() / (1.0 + drift / 2.0);
            assert!((counted_on - taken).abs() < 1e-6, "{drift}: {counted_on}, taken at {taken}");
            let most = drift / 2.0 + STEERED;
            assert!(
                timing.trust(1.0 - drift / 2.0).is_ok() && timing.trust(1.0 - most - 1e-3).is_err()
            );
        }
    }

    #[test]
    fn a_plan_without_time_to_renew_names_both_ways_out() {
        let wishes = TimingOptions { kill_grace: Some(seconds(10.0)), ..TimingOptions::default() };
        let refusal = Timing::new(&wishes, ETCD).expect_err("too tight");
        let ttl = refusal.smallest_ttl.expect("a TTL that would do");
        let grace = refusal.largest_grace.expect("a grace that would do");
        assert!(ttl > wishes.ttl && grace < seconds(10.0));
        let longer = TimingOptions { ttl, ..wishes };
        assert!(Timing::new(&longer, ETCD).is_ok());
        let shorter = TimingOptions { kill_grace: Some(grace), ..wishes };
        assert!(Timing::new(&shorter, ETCD).is_ok());
        assert!(
            Timing::new(&TimingOptions { ttl: ttl.saturating_sub(seconds(0.1)), ..wishes }, ETCD)
                .is_err()
        );
        assert!(
            Timing::new(&TimingOptions { kill_grace: Some(grace + seconds(0.1)), ..wishes }, ETCD)
                .is_err()
        );
    }

    #[test]
    fn a_clock_is_trusted_within_the_drift_and_as_far_as_it_is_steered() {
        let trusts = |drift, lease, rate| {
            let wishes = TimingOptions { max_clock_drift: drift, ..TimingOptions::default() };
            Timing::new(&wishes, lease).expect("it holds").trust(rate)
        };
        for rate in [0.9, 0.95, 1.0, 1.1] {
            assert_eq!(trusts(0.1, ETCD, rate), Ok(()));
        }
        for (rate, words) in [(0.8995, "10.05 % too slow"), (1.1005, "10.05 % too fast")] {
            let why = trusts(0.1, ETCD, rate).expect_err("too far off").to_string();
            assert!(why.contains(words) && why.contains("10.00 % at most"), "{why}");
            assert_eq!(trusts(0.1, Lease::Unlimited, rate), Ok(()));
        }
        assert_eq!(trusts(0.0, ETCD, 1.0005), Ok(()));
        assert!(trusts(0.0, ETCD, 1.0006).is_err());
    }

    #[test]
    fn a_refusal_names_only_what_would_do() {
        let said = |ttl, grace, drift| {
            let wishes =
                TimingOptions { ttl: seconds(ttl), kill_grace: grace, max_clock_drift: drift };
            Timing::new(&wishes, ETCD).expect_err("too tight").to_string()
        };
        assert!(said(10.0, Some(seconds(9.0)), 0.1).ends_with("or a grace of at most 3s 400ms"));
        assert!(said(1.0, Some(seconds(0.0)), 0.1).ends_with("take a TTL of 1s 300ms or more"));
        assert!(said(15.0, None, 0.5).ends_with("take a grace of at most 1s 500ms"));
        assert!(said(15.0, None, 1.0).ends_with("take a smaller drift"));
    }

    #[test]
    fn what_the_store_grants_is_checked_again() {
        let timing = Timing::new(&TimingOptions::default(), ETCD).expect("defaults hold");
        let granted =
            |window| Validity::Window { anchor: Boottime::from_boot(seconds(9.0)), window };
        let longer = timing.regrant(granted(seconds(30.0))).expect("more time");
        assert_eq!((longer.renew_interval, longer.kill_grace), (seconds(5.0), seconds(8.0)));
        let fixed = TimingOptions { kill_grace: Some(seconds(4.0)), ..TimingOptions::default() };
        let timing = Timing::new(&fixed, ETCD).expect("holds as asked");
        assert_eq!(
            timing.regrant(granted(seconds(6.0))).expect_err("too tight").window,
            seconds(6.0)
        );
        assert_eq!(timing.regrant(Validity::Unlimited), Ok(timing));
    }

    /// The tables of the manual, as the checks above have it.
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
            let wishes =
                TimingOptions { kill_grace: grace.map(seconds), ..TimingOptions::default() };
            let name = grace.map_or("4/15 of the TTL".into(), |grace| format!("{grace:.0} s"));
            let ttl =
                only(&|cadence| Timing::smallest_ttl(&wishes, cadence).expect("some TTL does"));
            let _ = writeln!(table, "| {name} | {ttl} |");
        }
        table.push_str("\n| TTL | largest kill grace |\n|---|---|\n");
        for ttl in [5.0, 10.0, 15.0, 30.0, 60.0] {
            let wishes = TimingOptions { ttl: seconds(ttl), ..TimingOptions::default() };
            let grace =
                only(&|cadence| Timing::largest_grace(&wishes, cadence).expect("some grace does"));
            let _ = writeln!(table, "| {ttl:.0} s | {grace} |");
        }
        table
    }

    #[test]
    fn the_manual_has_the_table_that_holds() {
        let manual = include_str!("../manual/leases.md");
        assert!(manual.contains(&table()), "its tables have to be:\n{}", table());
    }

    /// The command is asked to stop at the soft deadline of the last proof, which is as old as the anchor
    /// lags behind, and up to one renewal older.
    #[test]
    fn the_manual_says_how_long_a_store_may_be_silent() {
        let manual = include_str!("../manual/leases.md");
        for (store, lease) in [("etcd", ETCD), ("ZooKeeper", ZOOKEEPER)] {
            let timing = Timing::new(&TimingOptions::default(), lease).expect("defaults hold");
            let Lease::Timed(cadence) = lease else { unreachable!("it ends by time") };
            let anchor = Boottime::from_boot(seconds(100.0));
            let validity = Validity::Window { anchor, window: timing.window() };
            let soft = timing.deadlines(validity).expect("deadlines").soft.since(anchor);
            let longest = soft.saturating_sub(timing.window() * cadence.anchor_lag_48ths / 48);
            let shortest = longest.saturating_sub(timing.renew_interval);
            let said = format!(
                "{:.1} s to {:.1} s after {store}",
                shortest.as_secs_f64(),
                longest.as_secs_f64()
            );
            assert!(manual.replace('\n', " ").contains(&said), "it has to say: {said}");
        }
    }

    #[test]
    fn candidates_have_time_to_connect_and_no_more() {
        for (ttl, timeout) in [(5.0, 2.0), (15.0, 2.5), (600.0, 5.0)] {
            let wishes = TimingOptions { ttl: seconds(ttl), ..TimingOptions::default() };
            let timing = Timing::new(&wishes, ZOOKEEPER).expect("it holds");
            assert_eq!(timing.entry_timeout, seconds(timeout));
        }
    }

    #[test]
    fn backoff_grows_to_the_interval_and_is_spread() {
        let timing = Timing::new(&TimingOptions::default(), ETCD).expect("defaults hold");
        assert_eq!(timing.backoff(1, 1.0), Duration::from_millis(50));
        assert_eq!(timing.backoff(1, 0.0), Duration::from_millis(25));
        assert_eq!(timing.backoff(3, 1.0), Duration::from_millis(200));
        assert_eq!(timing.backoff(60, 1.0), timing.renew_interval);
    }
}

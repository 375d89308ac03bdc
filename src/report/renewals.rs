//! This file collects the renewals of a leader as other candidates see them, and rates how suspicious a late renewal
//! is.

use std::collections::VecDeque;
use std::f64::consts::{LN_10, PI};
use std::fmt;
use std::time::Duration;

use elect_api::{Boottime, Leader, Token};
use serde::{Serialize, Serializer};

/// The number of intervals that are kept. The window of the paper that [`Suspicion`] names is of this order. A leader's
/// habits are forgotten within minutes.
const WINDOW: usize = 100;
/// The number of intervals that are needed for a result.
const FEWEST: usize = 5;
/// The least standard deviation, as a part of the mean. The paper has no such limit.
///
/// Without the limit, a leader that renews punctually would be suspected at the first renewal that fails. By the
/// contract, one attempt may take as long as the time to the next. With a quarter, the suspicion reaches 8 at 2.4
/// intervals after the last renewal. An elect leader gives up after three intervals at the soonest.
const LEAST_DEVIATION: f64 = 0.25;
/// The longest time between two looks. After a longer one, renewals may have been missed, and no interval is recorded.
const LONGEST_GAP: Duration = Duration::from_secs(4);

/// The renewals of a leader, as far as an observer can tell them apart.
///
/// If a store tells the times of renewals only roughly, some renewals are not seen. The intervals then look longer, but
/// never more numerous.
#[derive(Clone, Debug, Default)]
pub struct Renewals {
    /// The token of the leadership.
    token: Option<Token>,
    newest: Option<Span>,
    /// The approximate time of the renewal before it, if none was missed in between.
    before: Option<Boottime>,
    answered: Option<Boottime>,
    intervals: VecDeque<Duration>,
}

/// The earliest and the latest time at which an event can have happened.
#[derive(Clone, Copy, Debug)]
struct Span {
    earliest: Boottime,
    latest: Boottime,
}

impl Renewals {
    /// Takes in the store's answer to a question sent at `asked`, and returns the suspicion against the leader at that
    /// time. `None` if the store shows no renewals, or if too few were seen.
    pub fn take_in(
        &mut self,
        leader: Option<&Leader>,
        asked: Boottime,
        answered: Boottime,
    ) -> Option<Suspicion> {
        let token = leader.map(|leader| leader.token);
        if self.token != token {
            *self = Self { token, ..Self::default() };
        }
        let renewed = leader?.renewed?;
        if self.answered.replace(answered).is_some_and(|last| asked.since(last) > LONGEST_GAP) {
            (self.newest, self.before) = (None, None);
        }
        let earliest = asked - renewed.at_most;
        self.see(Span { earliest, latest: answered - renewed.at_least });
        self.suspicion(asked)
    }

    fn see(&mut self, seen: Span) {
        match &mut self.newest {
            Some(newest) if newest.latest < seen.earliest => {
                let was = newest.middle();
                *newest = seen;
                if let Some(before) = self.before.replace(was) {
                    self.intervals.push_back(was.since(before));
                    let surplus = self.intervals.len().saturating_sub(WINDOW);
                    self.intervals.drain(..surplus);
                }
            }
            // This may be the same renewal. A store that goes back in time tells nothing new.
            Some(newest) if newest.earliest <= seen.latest => {
                newest.earliest = newest.earliest.max(seen.earliest);
                newest.latest = newest.latest.min(seen.latest);
            }
            Some(_) => {}
            None => self.newest = Some(seen),
        }
    }

    /// Returns the suspicion at `now`. Assumes that the last renewal was as late as possible.
    fn suspicion(&self, now: Boottime) -> Option<Suspicion> {
        let last = self.newest?.latest;
        if self.intervals.len() < FEWEST {
            return None;
        }
        let count = u32::try_from(self.intervals.len()).map_or(f64::MAX, f64::from);
        let seconds = || self.intervals.iter().map(Duration::as_secs_f64);
        let mean = seconds().sum::<f64>() / count;
        let variance = seconds().map(|one| (one - mean).powi(2)).sum::<f64>() / count;
        let deviation = variance.sqrt().max(mean * LEAST_DEVIATION);
        Some(Suspicion::new(now.since(last).as_secs_f64(), mean, deviation))
    }
}

impl Span {
    fn middle(self) -> Boottime {
        self.earliest + self.latest.since(self.earliest) / 2
    }
}

/// The limit from which the tail of the normal distribution is computed as a continued fraction. Below it, the
/// complement is a short series. Above it, the complement loses digits.
const FAR: f64 = 2.0;
/// The depth of the fraction. From [`FAR`] on, more depth changes no digit that is shown.
const DEPTH: u32 = 100;
/// The lowest deviation that is computed. Below it, the tail is the whole.
const BELOW: f64 = -8.0;

/// How surprising it is that a leader has not renewed its lease yet.
///
/// It is φ of the accrual failure detector of Hayashibara, Défago, Yared and Katayama (2004). φ is the negative decimal
/// logarithm of the probability that a renewal comes even later than now, if the times between renewals are distributed
/// normally.
///
/// The value is between 0 and [`Suspicion::GREATEST`], in steps of a hundredth. It is for people and alerts; elect
/// decides nothing by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Suspicion {
    hundredths: u32,
}

impl Suspicion {
    /// The greatest value; greater ones are shown as this one.
    pub const GREATEST: f64 = 1000.0;

    /// Returns the suspicion against a leader whose last renewal is `elapsed` ago. `mean` and `deviation` describe the
    /// times between renewals. `deviation` must be above 0, and all three have the same unit.
    pub(super) fn new(elapsed: f64, mean: f64, deviation: f64) -> Self {
        let phi = -ln_tail((elapsed - mean) / deviation) / LN_10;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "within bounds"
        )]
        let hundredths = (phi.clamp(0.0, Self::GREATEST) * 100.0).round() as u32;
        Self { hundredths }
    }

    /// Returns the value as a number.
    pub fn phi(self) -> f64 {
        f64::from(self.hundredths) / 100.0
    }
}

impl fmt::Display for Suspicion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:.1}", self.phi())
    }
}

impl Serialize for Suspicion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.phi())
    }
}

/// Returns the natural logarithm of the probability that a normally distributed value is more than `deviations` above
/// its mean. The probability itself soon is too small for a number.
fn ln_tail(deviations: f64) -> f64 {
    if deviations < FAR {
        return (0.5 - from_the_mean(deviations.max(BELOW))).ln();
    }
    // Laplace's continued fraction of Mills' ratio: z + 1/(z + 2/(z + 3/...)).
    let fraction = (1..=DEPTH).rev().fold(deviations, |rest, k| deviations + f64::from(k) / rest);
    ln_density(deviations) - fraction.ln()
}

/// Returns the probability of the values between the mean and `deviations` above it: the density times z + z³/3 +
/// z⁵/(3·5) + ...
fn from_the_mean(deviations: f64) -> f64 {
    let square = deviations * deviations;
    let (mut term, mut sum) = (deviations, deviations);
    for k in 1..=DEPTH {
        term *= square / f64::from(2 * k + 1);
        sum += term;
    }
    ln_density(deviations).exp() * sum
}

fn ln_density(deviations: f64) -> f64 {
    -0.5 * (deviations * deviations + (2.0 * PI).ln())
}

#[cfg(test)]
mod tests {
    use elect_api::{Candidate, Entry, Renewed};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn leader(token: u64, renewed: Option<Renewed>) -> Leader {
        let entry = Entry::new(Candidate::foreign("one"), None, 0);
        Leader { renewed, ..Leader::new(entry, Token::new(token)) }
    }

    /// A leader that renews its lease about every sixth of it, and an observer.
    struct Play {
        random: fastrand::Rng,
        renewals: Renewals,
        now: Boottime,
        lease: Duration,
        renewed: Boottime,
        next: Boottime,
        /// The store rounds the rest of a lease down to a multiple of this.
        resolution: Duration,
    }

    impl Play {
        fn new(seed: u64, lease: Duration, resolution: Duration) -> Self {
            let now = Boottime::from_boot(SECOND * 1000);
            let random = fastrand::Rng::with_seed(seed);
            let renewals = Renewals::default();
            Self { random, renewals, now, lease, renewed: now, next: now, resolution }
        }

        fn some(&mut self, span: Duration) -> Duration {
            span.mul_f64(self.random.f64())
        }

        /// Returns the result of an observation after `pause`, with answers that take a while.
        fn observe(&mut self, pause: Duration) -> Option<Suspicion> {
            let asked = self.now + pause;
            let told = asked + self.some(Duration::from_millis(20));
            let answered = told + self.some(Duration::from_millis(20));
            while self.next <= told {
                self.renewed = self.next;
                let late = self.some(self.lease / 24);
                self.next = self.next + self.lease / 6 + late;
            }
            self.now = answered;
            let left = self.lease.saturating_sub(told.since(self.renewed));
            let whole = left.as_millis() / self.resolution.as_millis();
            let left = self.resolution * u32::try_from(whole).unwrap();
            let at_most = self.lease.saturating_sub(left);
            let at_least = at_most.saturating_sub(self.resolution);
            let renewed = Renewed { at_least, at_most };
            self.renewals.take_in(Some(&leader(1, Some(renewed))), asked, answered)
        }

        /// Returns a pause as `elect status --watch` makes it.
        fn pace(&mut self) -> Duration {
            let pace = (self.lease / 12).clamp(SECOND / 4, SECOND * 2);
            pace + self.some(pace / 4)
        }

        fn stop(&mut self) {
            self.next = Boottime::from_boot(Duration::MAX);
        }
    }

    fn plays() -> impl Iterator<Item = Play> {
        (0..100).map(|seed| {
            let mut random = fastrand::Rng::with_seed(seed);
            let lease = Duration::from_millis(random.u64(6_000..60_000));
            let resolution = if random.bool() { SECOND } else { Duration::from_millis(1) };
            Play::new(seed, lease, resolution)
        })
    }

    #[test]
    fn a_leader_that_renews_is_not_suspected() {
        for (seed, mut play) in plays().enumerate() {
            let mut seen = 0;
            for _ in 0..600 {
                let pause = play.pace();
                if let Some(suspicion) = play.observe(pause) {
                    seen += 1;
                    assert!(suspicion.phi() < 4.0, "seed {seed}, {:?}: {suspicion}", play.lease);
                }
            }
            assert!(seen > 400, "seed {seed}, {:?}", play.lease);
        }
    }

    #[test]
    fn one_that_stops_is_suspected_before_its_lease_ends() {
        for (seed, mut play) in plays().enumerate() {
            for _ in 0..200 {
                let pause = play.pace();
                play.observe(pause);
            }
            play.stop();
            let mut last = None;
            let end = play.renewed + play.lease;
            while last.is_none_or(|last: Suspicion| last.phi() < 8.0) {
                let pause = play.pace();
                last = play.observe(pause);
                assert!(play.now < end, "seed {seed}, {:?}: {last:?} at its end", play.lease);
            }
            let after = play.now.since(play.renewed);
            assert!(
                after * 3 > play.lease,
                "seed {seed}, {:?}: after {after:?} already",
                play.lease
            );
        }
    }

    #[test]
    fn few_renewals_tell_nothing_and_each_leader_has_its_own() {
        let mut play = Play::new(1, SECOND * 6, Duration::from_millis(1));
        let count = (0..20).find(|_| play.observe(SECOND / 2).is_some());
        assert!(count.is_some_and(|count| count >= 2 * FEWEST), "{count:?}");
        let renewed = Some(Renewed { at_least: Duration::ZERO, at_most: SECOND });
        let renewals = &mut play.renewals;
        let mut take_in = |leader: Option<&Leader>| renewals.take_in(leader, play.now, play.now);
        assert_eq!(take_in(Some(&leader(1, None))), None);
        assert!(take_in(Some(&leader(1, renewed))).is_some());
        assert_eq!(take_in(Some(&leader(2, renewed))), None);
        assert_eq!(take_in(None), None);
        assert_eq!(take_in(Some(&leader(1, renewed))), None);
    }

    /// The test shows that a time without looks does not count as a long interval.
    #[test]
    fn an_outage_makes_no_candidate_look_slow() {
        let mut play = Play::new(1, SECOND * 12, Duration::from_millis(1));
        for round in 0..200 {
            play.observe(if round % 20 == 0 { SECOND * 60 } else { SECOND / 2 });
        }
        let longest = play.renewals.intervals.iter().max().copied();
        assert!(longest.is_some_and(|longest| longest < SECOND * 3), "{longest:?}");
    }

    #[test]
    fn only_the_last_are_remembered() {
        let mut play = Play::new(1, SECOND * 6, Duration::from_millis(1));
        for _ in 0..2_000 {
            play.observe(SECOND / 4);
        }
        assert_eq!(play.renewals.intervals.len(), WINDOW);
    }
}

#[cfg(test)]
mod suspicion_tests {
    use super::*;

    #[test]
    fn known_values() {
        // Each phi is the power of ten for this number of deviations.
        for (deviations, phi) in [
            (0.5, 0.51069),
            (1.0, 0.79955),
            (1.281_551_565_5, 1.0),
            (1.959_963_984_5, 1.60206),
            (3.090_232_306_2, 3.0),
            (5.612_001_244_2, 8.0),
            (37.0, 299.2422),
        ] {
            let shown = -ln_tail(deviations) / LN_10;
            assert!((shown - phi).abs() < phi.max(1.0) * 1e-3, "{deviations}: {shown} for {phi}");
        }
        assert!((-ln_tail(5.612_001_244_174_789) / LN_10 - 8.0).abs() < 1e-9);
    }

    #[test]
    fn both_ways_of_computing_it_agree_where_they_meet() {
        let near = (0.5 - from_the_mean(FAR)).ln();
        assert!((near - ln_tail(FAR)).abs() < 1e-9, "{near} and {}", ln_tail(FAR));
    }

    #[test]
    fn it_rises_with_the_time_that_has_passed_and_stays_a_number() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..300 {
            let (mean, deviation) = (random.f64() * 1e3 + 1e-6, random.f64() * 1e3 + 1e-9);
            let mut last = Suspicion::new(0.0, mean, deviation);
            assert!((0.0..=Suspicion::GREATEST).contains(&last.phi()));
            for step in 1..100_u32 {
                let elapsed = mean * f64::from(step * step) / 50.0;
                let next = Suspicion::new(elapsed, mean, deviation);
                assert!(last <= next, "{elapsed}: {last:?}, {next:?}");
                assert!((0.0..=Suspicion::GREATEST).contains(&next.phi()));
                last = next;
            }
        }
        for odd in [f64::INFINITY, f64::MAX, 1e300] {
            assert_eq!(Suspicion::new(odd, 1.0, 0.25).phi().to_string(), "1000");
        }
    }

    #[test]
    fn it_is_shown_with_the_digits_that_matter() {
        let suspicion = Suspicion::new(2.403, 1.0, 0.25);
        assert_eq!(
            (suspicion.to_string(), serde_json::to_string(&suspicion).unwrap()),
            ("8.0".into(), "8.0".into())
        );
    }
}

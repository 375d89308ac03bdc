//! The renewals of a leader as others see them, and how suspicious it is that one is late.

use std::collections::VecDeque;
use std::f64::consts::{LN_10, PI};
use std::fmt;
use std::time::Duration;

use elect_api::{Boottime, Leader, Token};
use serde::{Serialize, Serializer};

/// How many intervals are remembered: the window of the paper that [`Suspicion`] names is of this order, and a
/// leader's habits are to be forgotten within minutes.
const WINDOW: usize = 100;
/// How many are needed before they tell anything.
const FEWEST: usize = 5;
/// The least standard deviation, as a part of the mean. The paper has none; but a leader that renews as punctually as
/// a machine can is not to be suspected of the first renewal that fails: by the contract one attempt may take as long
/// as the time to the next. With a quarter, 8 is reached 2.4 intervals after the last renewal; a leader
/// of ours gives up after three at the soonest.
const LEAST_DEVIATION: f64 = 0.25;
/// Who has not looked for longer than this has missed renewals, and knows of no interval.
const LONGEST_GAP: Duration = Duration::from_secs(4);

/// The renewals of whoever leads an election, as far as somebody who looks on can tell them apart.
///
/// A store that tells their instants roughly shows fewer of them than there were, and the times between them as
/// longer, never more of them.
#[derive(Clone, Debug, Default)]
pub struct Renewals {
    /// Of which leadership.
    token: Option<Token>,
    newest: Option<Span>,
    /// About when the one before it was, if none was missed in between.
    before: Option<Boottime>,
    answered: Option<Boottime>,
    intervals: VecDeque<Duration>,
}

/// When something was: no sooner and no later.
#[derive(Clone, Copy, Debug)]
struct Span {
    earliest: Boottime,
    latest: Boottime,
}

impl Renewals {
    /// Takes in what the store has said to a question sent at `asked`, and says how suspicious whoever leads was
    /// then. `None` if the store shows no renewals, or too few were seen.
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
            // It may be the same. A store that goes back tells nothing new.
            Some(newest) if newest.earliest <= seen.latest => {
                newest.earliest = newest.earliest.max(seen.earliest);
                newest.latest = newest.latest.min(seen.latest);
            }
            Some(_) => {}
            None => self.newest = Some(seen),
        }
    }

    /// At `now`. The last renewal was as late as it can have been.
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

/// From where on the tail of the normal distribution is computed as a continued fraction: below, its complement
/// is a short series; above, the complement loses digits.
const FAR: f64 = 2.0;
/// How deep the fraction goes: from [`FAR`] on there is nothing to be seen beyond.
const DEPTH: u32 = 100;
/// Further below the mean nothing is missing from the whole.
const BELOW: f64 = -8.0;

/// How surprising it is that a leader has not renewed its lease yet: φ of the accrual failure detector of
/// Hayashibara, Défago, Yared and Katayama (2004), the negative decimal logarithm of the probability that a
/// renewal comes even later than this, if the times between renewals are distributed normally.
///
/// From 0 to [`Suspicion::GREATEST`], in steps of a hundredth. It is for eyes and alerts; nothing is decided by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Suspicion {
    hundredths: u32,
}

impl Suspicion {
    /// What is greater is shown as this.
    pub const GREATEST: f64 = 1000.0;

    /// That of a leader whose last renewal is `elapsed` ago, where the times between two of them have this mean
    /// and this standard deviation, which is above 0; all in the same unit.
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

    /// As a number.
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

/// The natural logarithm of the probability that what is distributed normally is more than `deviations` above its
/// mean. The logarithm, as the probability itself soon is too small for a number.
fn ln_tail(deviations: f64) -> f64 {
    if deviations < FAR {
        return (0.5 - from_the_mean(deviations.max(BELOW))).ln();
    }
    // Laplace's continued fraction of Mills' ratio: z + 1/(z + 2/(z + 3/...)).
    let fraction = (1..=DEPTH).rev().fold(deviations, |rest, k| deviations + f64::from(k) / rest);
    ln_density(deviations) - fraction.ln()
}

/// The probability of what lies between the mean and so many deviations above it: the density times
/// z + z³/3 + z⁵/(3·5) + ...
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

    /// A leader that renews its lease every sixth of it, more or less, and an onlooker.
    struct Play {
        random: fastrand::Rng,
        renewals: Renewals,
        now: Boottime,
        lease: Duration,
        renewed: Boottime,
        next: Boottime,
        /// Stores round what is left of a lease down to a multiple of this.
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

        /// What is seen after `pause`, with answers that take a while.
        fn look(&mut self, pause: Duration) -> Option<Suspicion> {
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

        /// As often as `elect status --watch` does.
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
                if let Some(suspicion) = play.look(pause) {
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
                play.look(pause);
            }
            play.stop();
            let mut last = None;
            let end = play.renewed + play.lease;
            while last.is_none_or(|last: Suspicion| last.phi() < 8.0) {
                let pause = play.pace();
                last = play.look(pause);
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
        let looks = (0..20).find(|_| play.look(SECOND / 2).is_some());
        assert!(looks.is_some_and(|looks| looks >= 2 * FEWEST), "{looks:?}");
        let renewed = Some(Renewed { at_least: Duration::ZERO, at_most: SECOND });
        let renewals = &mut play.renewals;
        let mut take_in = |leader: Option<&Leader>| renewals.take_in(leader, play.now, play.now);
        assert_eq!(take_in(Some(&leader(1, None))), None);
        assert!(take_in(Some(&leader(1, renewed))).is_some());
        assert_eq!(take_in(Some(&leader(2, renewed))), None);
        assert_eq!(take_in(None), None);
        assert_eq!(take_in(Some(&leader(1, renewed))), None);
    }

    /// What was not looked at is no long interval.
    #[test]
    fn an_outage_makes_nobody_look_slow() {
        let mut play = Play::new(1, SECOND * 12, Duration::from_millis(1));
        for round in 0..200 {
            play.look(if round % 20 == 0 { SECOND * 60 } else { SECOND / 2 });
        }
        let longest = play.renewals.intervals.iter().max().copied();
        assert!(longest.is_some_and(|longest| longest < SECOND * 3), "{longest:?}");
    }

    #[test]
    fn only_the_last_are_remembered() {
        let mut play = Play::new(1, SECOND * 6, Duration::from_millis(1));
        for _ in 0..2_000 {
            play.look(SECOND / 4);
        }
        assert_eq!(play.renewals.intervals.len(), WINDOW);
    }
}

#[cfg(test)]
mod suspicion_tests {
    use super::*;

    #[test]
    fn known_values() {
        // Each is the power of ten that so many deviations are for.
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

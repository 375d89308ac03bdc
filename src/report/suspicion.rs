use std::f64::consts::{LN_10, PI};
use std::fmt;

use serde::{Serialize, Serializer};

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

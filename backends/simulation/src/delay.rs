//! Distributions of the delay of a message, in whole nanoseconds.

use std::sync::Arc;
use std::time::Duration;

use crate::Senseless;
use crate::chance::{Chance, NORMAL_BITS, nanoseconds_of};

/// The fraction bits of a delay's logarithm.
const BITS: u32 = 60;
/// The natural logarithm of 2, in units of 2^-60.
const LN_2: i128 = 799_144_290_325_165_979;
/// The number of terms of the exponential series. Each term beyond the twentieth is less than one unit.
const TERMS: i128 = 21;

/// The distribution of a message's delay, one way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delay(Law);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Law {
    Constant(Duration),
    Uniform { least: Duration, most: Duration },
    Normal { mean: Duration, deviation: Duration },
    LogNormal { median: Duration, sigma: u32 },
    Measured(Arc<[Duration]>),
}

impl Delay {
    /// Returns a delay that is always the same.
    pub const fn constant(delay: Duration) -> Self {
        Self(Law::Constant(delay))
    }

    /// Returns a uniform distribution from `least` to `most`.
    ///
    /// # Errors
    /// [`Senseless::Range`] if `least` is greater than `most`.
    pub fn uniform(least: Duration, most: Duration) -> Result<Self, Senseless> {
        if least > most {
            return Err(Senseless::Range { least, most });
        }
        Ok(Self(Law::Uniform { least, most }))
    }

    /// Returns a normal distribution without negative values, which are drawn again. Its mean is greater than `mean` if
    /// `deviation` is more than a third of it.
    pub const fn normal(mean: Duration, deviation: Duration) -> Self {
        Self(Law::Normal { mean, deviation })
    }

    /// Returns a log-normal distribution. Half of the delays are below `median`. `sigma` is the standard deviation of
    /// the logarithm, in thousandths. With 500, 16 in 100 delays exceed 1.65 times the median, and one in 100 exceeds
    /// 3.2 times.
    ///
    /// # Errors
    /// [`Senseless::Sigma`] above 5000.
    pub fn log_normal(median: Duration, sigma: u32) -> Result<Self, Senseless> {
        if sigma > 5000 {
            return Err(Senseless::Sigma { sigma });
        }
        Ok(Self(Law::LogNormal { median, sigma }))
    }

    /// Returns a distribution of measured delays, each with equal probability.
    ///
    /// # Errors
    /// [`Senseless::NoSamples`] if there are none.
    pub fn measured(samples: impl Into<Arc<[Duration]>>) -> Result<Self, Senseless> {
        let samples = samples.into();
        if samples.is_empty() {
            return Err(Senseless::NoSamples);
        }
        Ok(Self(Law::Measured(samples)))
    }

    /// Draws the delay of one message.
    pub fn draw(&self, chance: &mut Chance) -> Duration {
        match &self.0 {
            Law::Constant(delay) => *delay,
            Law::Uniform { least, most } => chance.between(*least, *most),
            Law::Normal { mean, deviation } => loop {
                let off = i128::from(nanoseconds_of(*deviation)) * i128::from(chance.normal());
                let drawn = i128::from(nanoseconds_of(*mean)) + (off >> NORMAL_BITS);
                if let Ok(drawn) = u64::try_from(drawn) {
                    return Duration::from_nanos(drawn);
                }
            },
            Law::LogNormal { median, sigma } => {
                let exponent = i128::from(*sigma) * i128::from(chance.normal());
                times_exp(*median, (exponent << (BITS - NORMAL_BITS)) / 1000)
            }
            Law::Measured(samples) => chance.choose(samples).copied().unwrap_or_default(),
        }
    }
}

/// Returns `time` times e to the `exponent`, which is in units of 2^-60. It halves or doubles once for each ln 2 in the
/// exponent. It computes the rest as a series, all in whole numbers.
fn times_exp(time: Duration, exponent: i128) -> Duration {
    let (doublings, rest) = (exponent.div_euclid(LN_2), exponent.rem_euclid(LN_2));
    let one = 1_i128 << BITS;
    let (mut sum, mut term) = (one, one);
    for index in 1..TERMS {
        term = ((term * rest) >> BITS) / index;
        sum += term;
    }
    let product = u128::from(nanoseconds_of(time)) * sum.unsigned_abs();
    let scaled = match u32::try_from(i128::from(BITS) - doublings) {
        Ok(halvings) => product.checked_shr(halvings).unwrap_or(0),
        Err(_) if product > 0 => u128::MAX,
        Err(_) => 0,
    };
    Duration::from_nanos(u64::try_from(scaled).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn sorted(delay: &Delay) -> Vec<Duration> {
        let mut chance = Chance::with_seed(3);
        let mut drawn: Vec<Duration> = (0..40_000).map(|_| delay.draw(&mut chance)).collect();
        drawn.sort_unstable();
        drawn
    }

    /// Asserts that the quantile is within 3 % of `expected`. With 40,000 draws that is more than four standard errors
    /// of each.
    fn expect(drawn: &[Duration], percent: usize, expected: Duration) {
        let found = drawn[drawn.len() * percent / 100];
        assert!(
            found.abs_diff(expected) < expected * 3 / 100,
            "{percent} % below {found:?}, not {expected:?}"
        );
    }

    #[test]
    fn exponentials_are_right_to_the_nanosecond() {
        let second = Duration::from_secs(1);
        assert_eq!(times_exp(second, 0), second);
        assert_eq!(times_exp(second, 1 << BITS), Duration::from_nanos(2_718_281_828));
        assert_eq!(times_exp(second, -(1 << BITS)), Duration::from_nanos(367_879_441));
        assert_eq!(times_exp(second, 10 << BITS), Duration::from_nanos(22_026_465_794_806));
        assert_eq!(times_exp(second, -(40 << BITS)), Duration::ZERO);
        assert_eq!(times_exp(second, 1000 << BITS), Duration::from_nanos(u64::MAX));
    }

    #[test]
    fn delays_have_the_quantiles_of_their_distribution() -> Result<(), Senseless> {
        let drawn = sorted(&Delay::uniform(30 * MS, 40 * MS)?);
        assert!(drawn[0] >= 30 * MS && drawn[drawn.len() - 1] <= 40 * MS);
        expect(&drawn, 50, 35 * MS);
        let drawn = sorted(&Delay::normal(40 * MS, 10 * MS));
        expect(&drawn, 16, MS * 3006 / 100);
        expect(&drawn, 50, 40 * MS);
        expect(&drawn, 98, MS * 6054 / 100);
        let drawn = sorted(&Delay::log_normal(40 * MS, 500)?);
        expect(&drawn, 16, MS * 2433 / 100);
        expect(&drawn, 50, 40 * MS);
        expect(&drawn, 90, MS * 7592 / 100);
        let drawn = sorted(&Delay::measured([MS, 2 * MS, 5 * MS, 5 * MS])?);
        expect(&drawn, 10, MS);
        expect(&drawn, 40, 2 * MS);
        expect(&drawn, 60, 5 * MS);
        // Half of a normal distribution around zero is cut off, so the median is the whole one's third quartile.
        expect(&sorted(&Delay::normal(Duration::ZERO, 10 * MS)), 50, MS * 674 / 100);
        Ok(())
    }

    #[test]
    fn a_senseless_delay_is_refused() {
        assert!(Delay::uniform(2 * MS, MS).is_err());
        assert!(Delay::log_normal(MS, 5001).is_err());
        assert!(Delay::measured([]).is_err());
    }
}

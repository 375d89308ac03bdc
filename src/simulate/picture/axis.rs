//! This file places values on axes, and chooses round ticks for them.

use std::time::Duration;

const NANOS: u128 = 1_000_000_000;

/// The round steps from a second to a day, in seconds.
const ROUND: [u64; 17] =
    [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200];
const DAY: u64 = 86_400;

/// The ratio of the longest time to the shortest from which on an axis of times is logarithmic.
const SPREAD: u32 = 50;

/// Formats a time in few characters, with three digits below a minute: `0s`, `250us`, `12.5s`, `1m30s`, `2h5m`.
pub(super) fn brief(time: Duration) -> String {
    let is_short = time < Duration::from_secs(60);
    let nanos = if is_short { rounded(time.as_nanos()) } else { time.as_nanos() };
    let (unit, size) = match nanos {
        0 => return "0s".to_owned(),
        1..1_000 => return format!("{nanos}ns"),
        1_000..1_000_000 => ("us", 1_000),
        1_000_000..NANOS => ("ms", 1_000_000),
        _ if nanos < 60 * NANOS => ("s", NANOS),
        _ => return crate::report::age(time.max(Duration::from_secs(60))),
    };
    let (whole, rest) = (nanos / size, nanos % size * 1_000 / size);
    let digits = match whole {
        100.. => 0,
        10.. => 1,
        _ => 2,
    };
    let rest = format!("{rest:03}");
    let rest = rest[..digits].trim_end_matches('0');
    let dot = if rest.is_empty() { "" } else { "." };
    format!("{whole}{dot}{rest}{unit}")
}

/// Rounds to three digits.
const fn rounded(nanos: u128) -> u128 {
    let mut step = 1;
    while nanos / step >= 1_000 {
        step *= 10;
    }
    (nanos + step / 2) / step * step
}

/// Returns all round times, from a nanosecond on. The `bool` is true for times that also stand on a coarse axis.
fn round_times() -> impl Iterator<Item = (Duration, bool)> {
    let below = (0..9).flat_map(|power| [1, 2, 5].map(|times| times * 10_u64.pow(power)));
    let below = below.map(Duration::from_nanos);
    let days = (0..6).flat_map(|power| [1, 2, 5].map(|times| times * 10_u64.pow(power) * DAY));
    let above = ROUND.into_iter().chain(days).map(Duration::from_secs);
    below.chain(above).map(|time| (time, is_coarse(time)))
}

fn is_coarse(time: Duration) -> bool {
    let is_power = |number: u128| number > 0 && 10_u128.pow(number.ilog10()) == number;
    match time.as_secs() {
        0..60 => is_power(time.as_nanos()),
        seconds if seconds % DAY == 0 => is_power((seconds / DAY).into()),
        seconds => [60, 600, 3_600, 21_600].contains(&seconds),
    }
}

/// Returns the times from zero to `end` in round steps. There are at most `most` steps, and at least one.
pub(super) fn ticks(end: Duration, most: usize) -> Vec<Duration> {
    let most = u32::try_from(most.max(1)).unwrap_or(u32::MAX);
    let step = round_times().map(|(time, _)| time).find(|step| step.saturating_mul(most) >= end);
    let Some(step) = step else { return vec![Duration::ZERO] };
    let times = (0..=most).map(|number| step * number);
    times.take_while(|time| *time <= end).collect()
}

/// An axis of times.
#[derive(Debug)]
pub(super) struct Times {
    from: Duration,
    until: Duration,
    pub(super) is_log: bool,
    /// The ticks, from the least to the greatest.
    pub(super) ticks: Vec<Duration>,
}

impl Times {
    /// Creates an axis with a place for all of these times, and with at most about `most` steps.
    pub(super) fn new(times: impl Iterator<Item = Duration> + Clone, most: usize) -> Self {
        let greatest = times.clone().max().unwrap_or_default().max(Duration::from_nanos(1));
        let least = times.filter(|time| !time.is_zero()).min().unwrap_or(greatest);
        if least.saturating_mul(SPREAD) >= greatest {
            let mut marks = ticks(greatest, most);
            let width = marks.get(1).copied().unwrap_or(greatest);
            let end = marks.last().copied().unwrap_or_default();
            if end < greatest {
                marks.push(end.saturating_add(width));
            }
            let until = marks.last().copied().unwrap_or(greatest).max(greatest);
            return Self { from: Duration::ZERO, until, is_log: false, ticks: marks };
        }
        let all: Vec<_> = round_times().collect();
        let below = all.iter().rposition(|(time, _)| *time <= least).unwrap_or(0);
        let above = all.iter().position(|(time, _)| *time >= greatest).unwrap_or(all.len() - 1);
        let within = &all[below..=above.max(below)];
        let is_fine = within.len() <= most;
        let chosen = within.iter().filter(|(_, is_coarse)| is_fine || *is_coarse);
        let ticks = chosen.map(|(time, _)| *time).collect();
        Self { from: all[below].0, until: all[above.max(below)].0, is_log: true, ticks }
    }

    /// Returns the place of a time: 0 at the beginning, 1 at the end.
    pub(super) fn at(&self, time: Duration) -> f64 {
        let [time, from, until] = [time, self.from, self.until].map(|it| it.as_secs_f64());
        let place =
            if self.is_log { (time / from).ln() / (until / from).ln() } else { time / until };
        // Zero has no logarithm.
        if place.is_finite() { place.clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// A logarithmic axis of rates in whole decades, with a place for zero below them.
#[derive(Debug)]
pub(super) struct Decades {
    low: i32,
    high: i32,
    pub(super) has_zero: bool,
}

/// The share of the axis that zero takes.
const ZERO: f64 = 0.15;
/// The least power. A smaller value is drawn at this one.
const LEAST: i32 = -12;
const GREATEST: i32 = 12;

impl Decades {
    /// Creates an axis with a place for all of these values.
    pub(super) fn new(values: impl Iterator<Item = f64> + Clone) -> Self {
        let has_zero = values.clone().any(|value| value <= 0.0);
        let positive = values.filter(|value| *value > 0.0);
        let least = positive.clone().fold(f64::INFINITY, f64::min);
        let greatest = positive.fold(0.0, f64::max);
        if greatest <= 0.0 {
            return Self { low: 0, high: 1, has_zero };
        }
        let low = (LEAST..GREATEST).rev().find(|power| 10_f64.powi(*power) <= least);
        let low = low.unwrap_or(LEAST);
        let high = (low + 1..=GREATEST).find(|power| 10_f64.powi(*power) >= greatest);
        Self { low, high: high.unwrap_or(GREATEST).max(low + 1), has_zero }
    }

    /// Returns the place of a value: 0 at the bottom, 1 at the top.
    pub(super) fn at(&self, value: f64) -> f64 {
        if value <= 0.0 {
            return 0.0;
        }
        let floor = if self.has_zero { ZERO } else { 0.0 };
        let place = (value.log10() - f64::from(self.low)) / f64::from(self.high - self.low);
        floor + (1.0 - floor) * place.clamp(0.0, 1.0)
    }

    /// Returns the ticks from the bottom to the top with their labels, at most about `most` of them.
    pub(super) fn ticks(&self, most: i32) -> Vec<(f64, String)> {
        let step = ((self.high - self.low) / most.max(1)).max(1);
        let powers = (self.low..=self.high).filter(|power| (power - self.low) % step == 0);
        let zero = self.has_zero.then(|| (0.0, "0".to_owned()));
        zero.into_iter().chain(powers.map(|power| (10_f64.powi(power), decade(power)))).collect()
    }
}

fn decade(power: i32) -> String {
    let zeros = |count: i32| "0".repeat(count.try_into().unwrap_or(0));
    match power {
        0..=6 => format!("1{}", zeros(power)),
        -4..0 => format!("0.{}1", zeros(-power - 1)),
        _ => format!("1e{power}"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Decades, Times, brief, ticks};

    const S: Duration = Duration::from_secs(1);

    #[test]
    fn times_are_brief() {
        for (nanos, shown) in [
            (0, "0s"),
            (999, "999ns"),
            (250_000, "250us"),
            (1_250_000, "1.25ms"),
            (999_999_999, "1s"),
            (12_500_000_000, "12.5s"),
            (12_000_000_000, "12s"),
            (59_990_000_000, "1m"),
            (59_940_000_000, "59.9s"),
            (90_000_000_000, "1m30s"),
        ] {
            assert_eq!(brief(Duration::from_nanos(nanos)), shown);
        }
    }

    #[test]
    fn steps_are_round_and_as_many_as_wanted() {
        let shown = |end: Duration, most| -> Vec<String> {
            ticks(end, most).into_iter().map(brief).collect()
        };
        assert_eq!(shown(30 * S, 6), ["0s", "5s", "10s", "15s", "20s", "25s", "30s"]);
        assert_eq!(shown(31 * S, 4), ["0s", "10s", "20s", "30s"]);
        assert_eq!(shown(S / 4, 3), ["0s", "100ms", "200ms"]);
        assert_eq!(shown(300 * S, 3), ["0s", "2m", "4m"]);
        assert_eq!(shown(Duration::ZERO, 3), ["0s"]);
        assert_eq!(shown(Duration::MAX, 3), ["0s"]);
        assert_eq!(shown(9 * S, 0), ["0s"]);
    }

    #[test]
    fn times_far_apart_have_a_logarithmic_axis() {
        let near = Times::new([3 * S, 13 * S].into_iter(), 4);
        assert!(!near.is_log && near.at(Duration::ZERO) <= 0.0 && near.at(5 * S) < near.at(13 * S));
        assert_eq!(near.ticks.last(), Some(&(15 * S)));
        let far = Times::new([S / 100, 14 * S].into_iter(), 6);
        assert!(far.is_log && far.at(S / 100).abs() < 0.001 && far.at(15 * S) > 0.999);
        assert!(far.at(Duration::ZERO) <= 0.0);
        let ticks: Vec<String> = far.ticks.iter().map(|tick| brief(*tick)).collect();
        assert_eq!(ticks, ["10ms", "100ms", "1s", "10s"]);
    }

    #[test]
    fn zero_has_a_place_below_the_decades() {
        let labels = |axis: &Decades| -> Vec<String> {
            axis.ticks(8).into_iter().map(|(_, label)| label).collect()
        };
        let rates = Decades::new([0.0, 0.02, 40.0].into_iter());
        assert_eq!(labels(&rates), ["0", "0.01", "0.1", "1", "10", "100"]);
        assert!(rates.at(0.0) < rates.at(0.01) && rates.at(100.0) >= 1.0);
        assert_eq!(labels(&Decades::new([1.0].into_iter())), ["1", "10"]);
        assert_eq!(labels(&Decades::new([0.0].into_iter())), ["0", "1", "10"]);
        assert!(Decades::new([1e-300, 1e300].into_iter()).at(1e300) >= 1.0);
    }
}

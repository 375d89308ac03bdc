//! Many runs on all processors, and the summary of them.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::{History, Overlap};

/// The progress of a long measurement. Another thread may read it, or cancel the measurement.
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicU64,
    is_cancelled: AtomicBool,
}

impl Progress {
    /// Returns how many runs are over.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Cancels the measurement. No more runs begin, and those under way stop at once and do not count.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }
}

/// Plays a run for each seed, on as many threads as there are processors. Returns the results in the order of the
/// seeds. After a cancel the missing ones are left out.
pub fn over<T: Send>(
    seeds: Range<u64>,
    progress: &Progress,
    play: impl Fn(u64) -> T + Sync,
) -> Vec<T> {
    let next = AtomicU64::new(seeds.start);
    let results = Mutex::new(BTreeMap::new());
    let work = || {
        let mut own = Vec::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                break;
            }
            let outcome = play(seed);
            if progress.is_cancelled() {
                break;
            }
            own.push((seed, outcome));
            progress.done.fetch_add(1, Ordering::Relaxed);
        }
        results.lock().unwrap_or_else(PoisonError::into_inner).extend(own);
    };
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        for _ in 1..processors {
            scope.spawn(work);
        }
        work();
    });
    results.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
}

/// The summary of many runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The number of runs.
    pub runs: u64,
    /// The fail-over times: from the last fault until a node began to lead.
    pub failovers: Times,
    /// The seeds of the runs in which no node began to lead after the last fault.
    pub unreplaced: Vec<u64>,
    /// The seeds of the runs in which two nodes led at once.
    pub overlapping: Vec<u64>,
    /// The length of each time in which two nodes led at once.
    pub overlaps: Times,
    /// The number of messages of each kind after the last fault, in all runs.
    pub messages: BTreeMap<&'static str, u64>,
}

/// Collects pairs of a seed and its run.
impl FromIterator<(u64, History)> for Summary {
    fn from_iter<I: IntoIterator<Item = (u64, History)>>(histories: I) -> Self {
        let (mut summary, mut failovers, mut overlaps) = (Self::default(), Vec::new(), Vec::new());
        for (seed, history) in histories {
            summary.runs += 1;
            match history.replaced() {
                Some(time) => failovers.push(time),
                None => summary.unreplaced.push(seed),
            }
            let before = overlaps.len();
            overlaps.extend(history.overlaps().iter().map(Overlap::length));
            if overlaps.len() > before {
                summary.overlapping.push(seed);
            }
            for (kind, count) in history.messages_since_fault() {
                *summary.messages.entry(kind).or_default() += count;
            }
        }
        summary.failovers = failovers.into_iter().collect();
        summary.overlaps = overlaps.into_iter().collect();
        summary
    }
}

/// Measured times, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Times(Vec<Duration>);

impl FromIterator<Duration> for Times {
    fn from_iter<I: IntoIterator<Item = Duration>>(times: I) -> Self {
        let mut times: Vec<Duration> = times.into_iter().collect();
        times.sort_unstable();
        Self(times)
    }
}

impl Times {
    /// Returns all times, the shortest first.
    pub fn sorted(&self) -> &[Duration] {
        &self.0
    }

    /// Returns the mean, cut to nanoseconds, or `None` without any time.
    pub fn mean(&self) -> Option<Duration> {
        let count = u128::try_from(self.0.len()).ok().filter(|count| *count > 0)?;
        let sum: u128 = self.0.iter().map(Duration::as_nanos).sum();
        u64::try_from(sum / count).ok().map(Duration::from_nanos)
    }

    /// Returns the shortest time that so many thousandths do not exceed (nearest rank): 500 is the median, 1000 the
    /// longest. `None` without any time.
    pub fn per_mille(&self, thousandths: usize) -> Option<Duration> {
        let rank = (self.0.len() * thousandths.min(1000)).div_ceil(1000);
        self.0.get(rank.saturating_sub(1)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_nearest_rank() {
        let times: Times = (1..=200).rev().map(Duration::from_secs).collect();
        let ranks = [0, 5, 500, 501, 995, 1000];
        let found = ranks.map(|rank| times.per_mille(rank).map_or(0, |time| time.as_secs()));
        assert_eq!(found, [1, 1, 100, 101, 199, 200]);
        assert_eq!(times.mean(), Some(Duration::from_millis(100_500)));
        assert_eq!((Times::default().per_mille(500), Times::default().mean()), (None, None));
    }

    #[test]
    fn results_come_in_the_order_of_seeds_until_it_is_cancelled() {
        let progress = Progress::default();
        let doubled = over(5..1000, &progress, |seed| 2 * seed);
        assert!(doubled.iter().copied().eq((5..1000).map(|seed| 2 * seed)));
        assert_eq!(progress.done(), 995);
        let cancelled = Progress::default();
        let some = over(0..1_000_000, &cancelled, |seed| {
            if seed == 100 {
                cancelled.cancel();
            }
            // The runs behind this one are still under way at the cancel.
            while seed > 100 && !cancelled.is_cancelled() {
                thread::yield_now();
            }
            seed
        });
        // Runs that were under way do not count.
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        assert!(some.len() + processors > 100 && some.iter().all(|seed| *seed < 100), "{some:?}");
    }
}

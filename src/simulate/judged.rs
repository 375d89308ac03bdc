//! This file extracts from simulated runs the results that the reports need.

use std::cmp::Reverse;
use std::time::Duration;

use elect_simulation::replicas::WITHIN;
use elect_simulation::{History, Overlap, Times};

use super::report::OverlapReport;

/// The result of one run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Judged {
    pub(super) seed: u64,
    /// The time from the first fault to the next leader. `None` if none followed, or if the only faults last from
    /// the beginning.
    pub(super) failover: Option<Duration>,
    /// The time without a running command before that leader.
    pub(super) gap: Option<Duration>,
    /// True if the same candidate led from the fault to the end.
    pub(super) is_kept: bool,
    /// True if a candidate led at the end.
    pub(super) is_led: bool,
    /// The longest time in which two candidates led.
    pub(super) overlap: Duration,
    /// The number of messages since the last fault, without those inside the store.
    pub(super) messages: u64,
}

impl Judged {
    pub(super) fn new(seed: u64, run: &History) -> Self {
        // A fault that lasts from the beginning is no event.
        let fault = run.faults().iter().copied().find(|at| !at.is_zero());
        let after = |fault| run.leads().iter().map(|lead| lead.from).find(|from| *from >= fault);
        let next = fault.and_then(after);
        let before = |next| {
            let earlier = run.leads().iter().filter(|lead| lead.from < next);
            earlier.map(|lead| lead.until.unwrap_or(next)).max()
        };
        let gap = next.and_then(|next| Some(next.saturating_sub(before(next)?)));
        let is_led = run.leader().is_some();
        Self {
            seed,
            failover: next.zip(fault).map(|(from, fault)| from.saturating_sub(fault)),
            gap,
            is_kept: is_led && next.is_none() && (fault.is_some() || run.leads().len() == 1),
            is_led,
            overlap: run.overlaps().iter().map(Overlap::length).max().unwrap_or_default(),
            messages: run
                .messages_since_fault()
                .iter()
                .filter(|(kind, _)| !WITHIN.contains(kind))
                .map(|(_, count)| count)
                .sum(),
        }
    }
}

/// The results of many runs.
pub(super) struct Sum<'a>(pub(super) &'a [Judged]);

impl Sum<'_> {
    pub(super) fn failovers(&self) -> Times {
        self.0.iter().filter_map(|run| run.failover).collect()
    }

    pub(super) fn gaps(&self) -> Times {
        self.0.iter().filter_map(|run| run.gap).collect()
    }

    /// Returns the number of runs in which the leader stayed the same.
    pub(super) fn kept(&self) -> usize {
        self.0.iter().filter(|run| run.is_kept).count()
    }

    /// Returns the seeds of the runs in which no candidate led at the end.
    pub(super) fn unreplaced(&self) -> Vec<u64> {
        self.0.iter().filter(|run| !run.is_led).map(|run| run.seed).collect()
    }

    pub(super) fn overlaps(&self) -> OverlapReport {
        let mut runs: Vec<&Judged> = self.0.iter().filter(|run| !run.overlap.is_zero()).collect();
        runs.sort_by_key(|run| Reverse(run.overlap));
        let longest = runs.first().map(|run| run.overlap).unwrap_or_default();
        OverlapReport::of(runs.iter().map(|run| run.seed), longest)
    }

    /// Returns the mean number of messages since the last fault. It is 0 without a run.
    pub(super) fn messages(&self) -> f64 {
        let sum: u64 = self.0.iter().map(|run| run.messages).sum();
        ratio(usize::try_from(sum).unwrap_or(usize::MAX), self.0.len())
    }
}

/// Returns the mean. Returns `None` without any counts.
#[expect(clippy::cast_precision_loss, reason = "for people")]
pub(super) fn mean(counts: impl Iterator<Item = u64>) -> Option<f64> {
    let (sum, count) = counts.fold((0, 0_u64), |(sum, count), one| (sum + one, count + 1));
    (count > 0).then(|| sum as f64 / count as f64)
}

/// Returns the ratio of some to all. It is 0 if there are none.
#[expect(clippy::cast_precision_loss, reason = "for people")]
pub(super) fn ratio(some: usize, all: usize) -> f64 {
    some as f64 / all.max(1) as f64
}

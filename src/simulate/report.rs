//! This file has the reports of `elect simulate`, beside the pictures. JSON and YAML have the same keys. The keys are
//! stable; more may be added.

use std::fmt;
use std::time::Duration;

use elect_simulation::Times;
use serde::{Serialize, Serializer};

/// A time that reports have in milliseconds, with fractions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ms(pub Duration);

impl Serialize for Ms {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0.as_secs_f64() * 1000.0)
    }
}

/// The spread of a time over many runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Percentiles {
    /// The time below which a twentieth of them lies.
    pub p5: Ms,
    /// The time below which half of them lies.
    pub median: Ms,
    /// The time above which a twentieth of them lies.
    pub p95: Ms,
    /// The time above which a hundredth of them lies.
    pub p99: Ms,
    /// The longest time.
    pub max: Ms,
    /// The mean time.
    pub mean: Ms,
}

impl Percentiles {
    /// Returns the spread of these times; `None` if there are none.
    pub fn of(times: &Times) -> Option<Self> {
        let rank = |rank| times.per_mille(rank).map(Ms);
        Some(Self {
            p5: rank(50)?,
            median: rank(500)?,
            p95: rank(950)?,
            p99: rank(990)?,
            max: rank(1000)?,
            mean: Ms(times.mean()?),
        })
    }

    /// Returns all but the mean, from the least to the greatest.
    pub const fn ranks(&self) -> [Duration; 5] {
        [self.p5.0, self.median.0, self.p95.0, self.p99.0, self.max.0]
    }
}

/// Formats a time in seconds for people.
pub fn seconds(time: Ms) -> String {
    format!("{:.1}s", time.0.as_secs_f64())
}

/// Formats one of these times in seconds; a dash if there are none.
pub fn one_of(times: Option<&Percentiles>, which: fn(&Percentiles) -> Ms) -> String {
    times.map_or_else(|| "-".to_owned(), |times| seconds(which(times)))
}

/// The times in which two commands ran at once.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OverlapReport {
    /// The number of runs with an overlap.
    pub runs: usize,
    /// The seeds of the runs with the longest overlaps, the longest first, at most twenty.
    pub seeds: Vec<u64>,
    /// The longest overlap, in milliseconds; 0 if there is none.
    pub longest_ms: Ms,
}

impl OverlapReport {
    /// Returns the report on runs with these seeds, sorted by the length of their overlaps, the longest first.
    pub fn of(seeds: impl ExactSizeIterator<Item = u64>, longest: Duration) -> Self {
        Self { runs: seeds.len(), seeds: seeds.take(20).collect(), longest_ms: Ms(longest) }
    }
}

/// A time in which one node led.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeaderReport {
    /// The candidate, or the member of the store.
    pub node: String,
    /// The fencing token, or the term.
    pub token: u64,
    /// The time at which it began to lead, from the start of the run.
    pub from_ms: Ms,
    /// The time at which it stopped leading, from the start of the run; the end of the run if it still led then.
    pub until_ms: Ms,
}

/// A fault.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FaultReport {
    /// The time of the fault, from the start of the run.
    pub at_ms: Ms,
    /// A description of the fault.
    pub what: String,
}

/// The report of `elect simulate what-if`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WhatIfReport {
    /// The seed of the first run, which the picture shows.
    pub seed: u64,
    /// The number of runs.
    pub runs: usize,
    /// True if a signal ended the simulation before all runs were played.
    pub ended_early: bool,
    /// The kind of store, and the number of its members.
    pub store: String,
    /// The time from the first fault to the next leader, over the runs that had a next leader.
    pub failover_ms: Option<Percentiles>,
    /// The time without a running command before the next leader's command started.
    pub gap_ms: Option<Percentiles>,
    /// The number of runs in which the same leader led through all faults.
    pub kept: usize,
    /// The seeds of the first runs without a leader at the end, at most twenty.
    pub unreplaced: Vec<u64>,
    /// The times in which two commands ran at once.
    pub overlaps: OverlapReport,
    /// The times in which commands ran, in the run that is shown.
    pub leaders: Vec<LeaderReport>,
    /// The times in which members led the store.
    pub store_leaders: Vec<LeaderReport>,
    /// The faults of that run.
    pub faults: Vec<FaultReport>,
}

/// The results for one TTL.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TtlRow {
    /// The length of the lease.
    pub ttl_ms: Ms,
    /// The value that `elect run` uses for --kill-grace.
    pub kill_grace_ms: Ms,
    /// The time between two renewals.
    pub renew_ms: Ms,
    /// The time from a crash to the next leader.
    pub failover_ms: Option<Percentiles>,
    /// The time to the next leader if the machine that leads the store crashes at the same time.
    pub failover_with_store_ms: Option<Percentiles>,
    /// The number of leaderships that are lost without need in thirty days.
    pub lost_monthly: f64,
    /// The standard error of that number. If no loss was seen, it is an upper bound that the true number exceeds in one
    /// of twenty cases.
    pub lost_error: f64,
    /// The list price in US dollars of a leader and two waiting candidates in thirty days; `None` if requests cost
    /// nothing.
    pub dollars_monthly: Option<f64>,
}

/// The report of `elect simulate ttl`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TtlAdviceReport {
    /// The seed of the first run.
    pub seed: u64,
    /// The number of runs for each figure.
    pub runs: u64,
    /// True if a signal ended the simulation before each TTL was tried. Then no TTL is advised.
    pub ended_early: bool,
    /// The kind of store, and the number of its members.
    pub store: String,
    /// The shortest TTL that loses no more than is tolerated; `None` if there is none.
    pub advised: Option<TtlRow>,
    /// The TTLs that were tried, the shortest first.
    pub ttls: Vec<TtlRow>,
}

/// The results for one election of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedReport {
    /// The name of the election.
    pub election: String,
    /// The number of its runs.
    pub runs: usize,
    /// The time from the first fault to the next leader.
    pub failover_ms: Option<Percentiles>,
    /// The number of runs without a leader at the end.
    pub unreplaced: usize,
    /// The mean number of messages from the last fault to the end of the run.
    pub messages: f64,
    /// The mean number of messages that served to elect the next leader; `None` if it is not known which do.
    pub to_elect: Option<f64>,
    /// The theoretical number of those messages.
    pub theory: Option<TheoryReport>,
    /// The times in which two candidates led at once.
    pub overlaps: OverlapReport,
}

/// The theoretical number of messages for one election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TheoryReport {
    /// The least number.
    pub least: u64,
    /// The greatest number; `None` if there is no bound.
    pub most: Option<u64>,
}

impl fmt::Display for TheoryReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.least, self.most) {
            (least, Some(most)) if least == most => write!(f, "{least}"),
            (least, Some(most)) => write!(f, "{least} to {most}"),
            (least, None) => write!(f, "{least} or more"),
        }
    }
}

/// The report of `elect simulate compare`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparisonReport {
    /// The seed of the first run.
    pub seed: u64,
    /// The number of runs for each election. The last one may have fewer.
    pub runs: usize,
    /// True if a signal ended the simulation. Then elections are missing, and runs of the last one.
    pub ended_early: bool,
    /// The results for each election.
    pub elections: Vec<ComparedReport>,
}

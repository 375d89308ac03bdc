//! What `elect simulate` reports, beside the pictures: the same keys in JSON and YAML. They are stable; more may come.

use std::fmt;
use std::time::Duration;

use elect_simulation::Times;
use serde::Serialize;

/// In milliseconds and parts of one.
pub fn in_ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// How long something took, over many runs, in milliseconds and parts of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Percentiles {
    /// A twentieth took less.
    pub p5: f64,
    /// Half took less.
    pub median: f64,
    /// A twentieth took more.
    pub p95: f64,
    /// A hundredth took more.
    pub p99: f64,
    /// The longest.
    pub max: f64,
    /// The mean.
    pub mean: f64,
}

impl Percentiles {
    /// That of these times; `None` without any.
    pub fn of(times: &Times) -> Option<Self> {
        let rank = |rank| times.per_mille(rank).map(in_ms);
        Some(Self {
            p5: rank(50)?,
            median: rank(500)?,
            p95: rank(950)?,
            p99: rank(990)?,
            max: rank(1000)?,
            mean: in_ms(times.mean()?),
        })
    }
}

/// Times in which two ran at once.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OverlapReport {
    /// In how many runs.
    pub runs: usize,
    /// The seeds of those with the longest, twenty at most, the longest first.
    pub seeds: Vec<u64>,
    /// The longest, in milliseconds; 0 without any.
    pub longest_ms: f64,
}

impl OverlapReport {
    /// Of runs with these seeds, the one with the longest first.
    pub fn of(seeds: impl ExactSizeIterator<Item = u64>, longest: Duration) -> Self {
        Self { runs: seeds.len(), seeds: seeds.take(20).collect(), longest_ms: in_ms(longest) }
    }
}

/// A time in which somebody led.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeaderReport {
    /// The candidate, or the member of the store.
    pub node: String,
    /// The fencing token, or the term.
    pub token: u64,
    /// Since when, from the start of the run.
    pub from_ms: f64,
    /// Until when; the end of the run if it went on.
    pub until_ms: f64,
}

/// A fault.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FaultReport {
    /// When it happened, from the start of the run.
    pub at_ms: f64,
    /// What happened.
    pub what: String,
}

/// What `elect simulate what-if` reports.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WhatIfReport {
    /// The seed of the first run, which is shown.
    pub seed: u64,
    /// How many runs there were.
    pub runs: usize,
    /// Whether a signal ended it before all runs were played.
    pub ended_early: bool,
    /// The kind of store, and how many members it has.
    pub store: String,
    /// From the first fault to the next leader, where there was a next one.
    pub failover_ms: Option<Percentiles>,
    /// For how long no command ran before the next leader's did.
    pub gap_ms: Option<Percentiles>,
    /// In how many runs the same one led on through all faults.
    pub kept: usize,
    /// The seeds of the first runs in which nobody led at the end, twenty at most.
    pub unreplaced: Vec<u64>,
    /// When two commands ran at once.
    pub overlaps: OverlapReport,
    /// Whose command ran when, in the run that is shown.
    pub leaders: Vec<LeaderReport>,
    /// Which member led the store when.
    pub store_leaders: Vec<LeaderReport>,
    /// What went wrong.
    pub faults: Vec<FaultReport>,
}

/// One TTL.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TtlRow {
    /// The length of the lease.
    pub ttl_ms: f64,
    /// What `elect run` takes as its --kill-grace.
    pub kill_grace_ms: f64,
    /// From one renewal to the next.
    pub renew_ms: f64,
    /// From a crash to the next leader.
    pub failover_ms: Option<Percentiles>,
    /// The same where the machine that leads the store crashes at once with it.
    pub failover_with_store_ms: Option<Percentiles>,
    /// How many leaderships are lost for nothing in thirty days.
    pub lost_monthly: f64,
    /// By how much that may be off: one standard error. Where none was seen to be lost, it is hardly more than this: in one
    /// of twenty tries.
    pub lost_error: f64,
}

/// What `elect simulate ttl` reports.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TtlAdviceReport {
    /// The seed of the first run.
    pub seed: u64,
    /// How many runs there were for each figure.
    pub runs: u64,
    /// Whether a signal ended it before each TTL was tried: then none is advised.
    pub ended_early: bool,
    /// The kind of store, and how many members it has.
    pub store: String,
    /// The shortest TTL that loses no more than is tolerated; `None` if each does.
    pub advised: Option<TtlRow>,
    /// Each that was tried, the shortest first.
    pub ttls: Vec<TtlRow>,
}

/// One election of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedReport {
    /// Which.
    pub election: String,
    /// How many runs it had.
    pub runs: usize,
    /// From the first fault to the next leader.
    pub failover_ms: Option<Percentiles>,
    /// In how many runs nobody led at the end.
    pub unreplaced: usize,
    /// The mean number of messages, from the last fault on, to the end of the run.
    pub messages: f64,
    /// The mean number of those that elect, where the next leader came; `None` if nothing says which do.
    pub to_elect: Option<f64>,
    /// What theory says of them.
    pub theory: Option<TheoryReport>,
    /// When two led at once.
    pub overlaps: OverlapReport,
}

/// How many messages one election takes in theory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TheoryReport {
    /// At least.
    pub least: u64,
    /// At most; `None` if nothing bounds it.
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

/// What `elect simulate compare` reports.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparisonReport {
    /// The seed of the first run.
    pub seed: u64,
    /// How many runs there were of each, but perhaps of the last.
    pub runs: usize,
    /// Whether a signal ended it: then elections are missing, and runs of the last one.
    pub ended_early: bool,
    /// Each election.
    pub elections: Vec<ComparedReport>,
}

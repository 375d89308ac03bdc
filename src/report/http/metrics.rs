use std::collections::{BTreeMap, HashMap};
use std::hash::RandomState;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use elect_api::{ErrorKind, Promise, trips};
use prometheus::core::Collector;
use prometheus::proto::{LabelPair, MetricFamily};
use prometheus::{Gauge, Histogram, HistogramOpts, IntCounterVec, Opts, Registry, TextEncoder};

use serde::{Deserialize, Serialize};

use super::{CandidateView, Identity, Reason};
use crate::report::Suspicion;

/// Bucket limits for a renewal, in seconds: from a store in the same rack to a renewal that is nearly too late.
const RENEWALS: &[f64] = &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0];
/// Bucket limits for the time to leadership, in seconds: at once, after a hand-over, after a lease, after a day as a
/// standby.
const ELECTIONS: &[f64] = &[0.01, 0.1, 1.0, 5.0, 15.0, 60.0, 600.0, 3_600.0, 21_600.0, 86_400.0];

/// The metrics for Prometheus. Counters begin at 0 with each `elect run`, and keep their values when elect re-executes
/// itself.
#[derive(Debug)]
pub struct Metrics {
    identity: Identity,
    registry: Registry,
    leadership_changes: IntCounterVec,
    election_duration: Histogram,
    renewal_duration: Histogram,
    failed_renewals: IntCounterVec,
    store_calls: IntCounterVec,
    command_exits: IntCounterVec,
    command_restarts: IntCounterVec,
    round_trips: IntCounterVec,
    /// The round trips that `round_trips` already includes, by operation.
    known_trips: Mutex<BTreeMap<&'static str, u64>>,
}

/// A counter's value, saved across a restart of elect.
#[derive(Serialize, Deserialize)]
struct Count {
    name: String,
    labels: HashMap<String, String>,
    value: f64,
}

/// The labels of all metrics. The label for the store's id is left out until the store has answered.
const ELECTION: &str = "election";
const STORE_ID: &str = "store_id";

/// The reason why a renewal failed, as a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The store returned an error of this kind.
    Error(ErrorKind),
    /// The store did not answer in time.
    Timeout,
}

impl Failure {
    /// Returns the name of the label; stable.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error(ErrorKind::Unreachable) => "unreachable",
            Self::Error(ErrorKind::Ambiguous) => "ambiguous",
            Self::Error(ErrorKind::Denied) => "denied",
            Self::Error(ErrorKind::Unfit) => "unfit",
            Self::Timeout => "timeout",
        }
    }
}

/// The names of all metrics, each with its help text.
const HELP: &str = include_str!("metrics.txt");

/// Returns the name and the help text of a metric.
fn opts(name: &str) -> Opts {
    let help = HELP.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    Opts::new(name, help.expect("each metric has a help text"))
}

impl Metrics {
    pub(super) fn new(identity: &Identity) -> Self {
        let registry = Registry::new();
        let counters = |name, labels: &[&str]| {
            let counters = IntCounterVec::new(opts(name), labels).expect("a valid name");
            registry.register(Box::new(counters.clone())).expect("each name is there once");
            counters
        };
        let histogram = |name, buckets: &[f64]| {
            let opts = HistogramOpts::from(opts(name)).buckets(buckets.to_vec());
            let histogram = Histogram::with_opts(opts).expect("a valid name");
            registry.register(Box::new(histogram.clone())).expect("each name is there once");
            histogram
        };
        let metrics = Self {
            identity: identity.clone(),
            leadership_changes: counters("elect_leadership_changes_total", &["reason"]),
            election_duration: histogram("elect_election_duration_seconds", ELECTIONS),
            renewal_duration: histogram("elect_renewal_duration_seconds", RENEWALS),
            failed_renewals: counters("elect_failed_renewals_total", &["kind"]),
            store_calls: counters("elect_store_calls_total", &["operation", "outcome"]),
            command_exits: counters("elect_command_exits_total", &["outcome", "code"]),
            command_restarts: counters("elect_command_restarts_total", &[]),
            round_trips: counters("elect_store_round_trips_total", &["operation"]),
            registry,
            known_trips: Mutex::default(),
        };
        // Events that have not happened yet count as 0: a rate needs a value to rise from.
        for reason in ["won", "ended", "stepped_down", "lost", "failed"] {
            metrics.leadership_changes.with_label_values(&[reason]);
        }
        for kind in ["unreachable", "ambiguous", "denied", "unfit", "timeout"] {
            metrics.failed_renewals.with_label_values(&[kind]);
        }
        metrics.command_exits.with_label_values(&["exited", "0"]);
        metrics.command_restarts.with_label_values::<&str>(&[]);
        metrics
    }

    const fn counters(&self) -> [&IntCounterVec; 6] {
        [
            &self.leadership_changes,
            &self.failed_renewals,
            &self.store_calls,
            &self.command_exits,
            &self.command_restarts,
            &self.round_trips,
        ]
    }

    /// Counts a won election. `after` is the time since this candidate joined.
    pub(super) fn won(&self, after: Duration) {
        self.leadership_changes.with_label_values(&["won"]).inc();
        self.election_duration.observe(after.as_secs_f64());
    }

    pub(super) fn over(&self, reason: Reason) {
        self.leadership_changes.with_label_values(&[reason.name()]).inc();
    }

    /// Records a renewal that the store has acknowledged, and the time it took.
    pub fn renewed(&self, took: Duration) {
        self.renewal_duration.observe(took.as_secs_f64());
    }

    /// Counts a renewal that failed.
    pub fn not_renewed(&self, failure: Failure) {
        self.failed_renewals.with_label_values(&[failure.name()]).inc();
    }

    /// Counts a finished call to the store.
    pub fn called(&self, operation: &str, outcome: &str) {
        self.store_calls.with_label_values(&[operation, outcome]).inc();
    }

    /// Counts a command that has ended. `outcome` is `exited` or `signaled`.
    pub fn command_ended(&self, outcome: &str, code: i32) {
        self.command_exits.with_label_values(&[outcome, &code.to_string()]).inc();
    }

    /// Counts a restart of the command.
    pub fn restarted(&self) {
        self.command_restarts.with_label_values::<&str>(&[]).inc();
    }

    /// Returns the values of the counters, for [`Metrics::resume`].
    pub fn note(&self) -> String {
        self.count_trips();
        let pair = |label: &LabelPair| (label.name().to_owned(), label.value().to_owned());
        let families = self.counters().into_iter().flat_map(Collector::collect);
        let mut counts = Vec::new();
        for family in families {
            counts.extend(family.get_metric().iter().map(|metric| Count {
                name: family.name().to_owned(),
                labels: metric.get_label().iter().map(pair).collect(),
                value: metric.get_counter().get_value(),
            }));
        }
        // The counts are text and numbers, so their JSON cannot fail.
        serde_json::to_string(&counts).unwrap_or_default()
    }

    /// Adds the counts of an earlier [`Metrics`]. Ignores what it cannot read.
    pub fn resume(&self, note: &str) {
        let counts: Vec<Count> = serde_json::from_str(note).unwrap_or_default();
        for Count { name, labels, value } in counts {
            let is_it =
                |counter: &&IntCounterVec| counter.desc().iter().any(|it| it.fq_name == name);
            let labels =
                labels.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            let counter = self.counters().into_iter().find(is_it);
            let counter =
                counter.and_then(|it| it.get_metric_with::<&str, RandomState>(&labels).ok());
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
            counter.inspect(|counter| counter.inc_by(value as u64));
        }
    }

    /// Adds the round trips that this process's stores have counted since the last call.
    fn count_trips(&self) {
        let mut known = self.known_trips.lock().unwrap_or_else(PoisonError::into_inner);
        for (operation, count) in trips() {
            let before = known.insert(operation, count).unwrap_or(0);
            self.round_trips.with_label_values(&[operation]).inc_by(count - before);
        }
    }

    /// Returns all metrics in Prometheus' text format.
    pub(super) fn text(
        &self,
        view: &CandidateView,
        suspicion: Option<Suspicion>,
        store: Option<&str>,
    ) -> String {
        self.count_trips();
        let mut families = self.registry.gather();
        families.extend(self.present(view, suspicion).gather());
        let store = store.map(|store| label(STORE_ID, store));
        let labels = [Some(label(ELECTION, &self.identity.election)), store];
        for metric in families.iter_mut().flat_map(MetricFamily::mut_metric) {
            let own = metric.get_label().iter().cloned();
            metric.set_label(own.chain(labels.iter().flatten().cloned()).collect());
        }
        families.sort_by(|one, other| one.name().cmp(other.name()));
        TextEncoder::new().encode_to_string(&families).unwrap_or_default()
    }

    /// Returns the gauges for one instant. Gauges that do not apply are left out.
    fn present(&self, view: &CandidateView, suspicion: Option<Suspicion>) -> Registry {
        let registry = Registry::new();
        let show = |opts: Opts, value: Option<f64>| {
            let Some(value) = value else { return };
            let gauge = Gauge::with_opts(opts).expect("a valid name");
            gauge.set(value);
            registry.register(Box::new(gauge)).expect("each name is there once");
        };
        let number = |is: bool| Some(f64::from(u8::from(is)));
        let Identity { id, store, promise, .. } = &self.identity;
        let version = opts("elect_build_info").const_label("version", env!("CARGO_PKG_VERSION"));
        show(version, Some(1.0));
        let candidate = opts("elect_candidate_info").const_label("id", id);
        show(candidate.const_label("store", *store), Some(1.0));
        show(opts("elect_store_weak"), number(*promise == Promise::Weak));
        show(opts("elect_is_leader"), number(view.leadership.is_some()));
        show(opts("elect_paused"), number(view.is_paused));
        show(opts("elect_command_running"), view.command_runs.and_then(number));
        let place = view.place.map(|place| u32::try_from(place).unwrap_or(u32::MAX).into());
        show(opts("elect_queue_place"), place);
        let suspicion = suspicion.filter(|_| view.is_next()).map(Suspicion::phi);
        show(opts("elect_leader_suspicion"), suspicion);
        let left = view.leadership.and_then(|leadership| leadership.to_hard);
        let left = left.map(|left| left.as_secs_f64());
        show(opts("elect_hard_deadline_remaining_seconds"), left);
        registry
    }
}

fn label(name: &str, value: &str) -> LabelPair {
    let mut label = LabelPair::default();
    label.set_name(name.to_owned());
    label.set_value(value.to_owned());
    label
}

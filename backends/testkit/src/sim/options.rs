use std::time::Duration;

use elect_api::{Order, Promise};
use serde::{Deserialize, Serialize};

use super::Rate;

/// The end of the URL of a store whose promise is weak.
pub(super) const WEAK: &str = "&promise=weak";

/// The family of a simulated store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// A queue of entries, each with a lease of its own, as in etcd and `ZooKeeper`.
    Queue,
    /// Documents that change by compare-and-swap, as in Kubernetes and S3. The store knows no time. Each waiter has a
    /// document.
    Record,
    /// The same, but only the leader has a document.
    Race,
}

impl Kind {
    /// Returns how such a store chooses the next leader.
    pub const fn order(self) -> Order {
        match self {
            Self::Queue | Self::Record => Order::Queue,
            Self::Race => Order::Race,
        }
    }

    /// Returns the query of such a store's URL.
    pub const fn query(self) -> &'static str {
        match self {
            Self::Queue => "?kind=queue",
            Self::Record => "?kind=record",
            Self::Race => "?kind=record&order=race",
        }
    }
}

/// The properties of a simulated store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// Its family.
    pub kind: Kind,
    /// The shortest lease that it grants. Default 1 ms.
    pub min_ttl: Duration,
    /// The longest lease that it grants. Default one day.
    pub max_ttl: Duration,
    /// The rate of its clock. Default: the machine's.
    pub rate: Rate,
    /// The longest delay of a message, each way. The seed chooses each delay. Default: none.
    pub latency: Duration,
    /// How often the member that serves a candidate tells the other members whom it has heard of. Only then is a lease
    /// in a queue prolonged, as `ZooKeeper`'s sessions are. Default: at once.
    pub tells_every: Option<Duration>,
    /// Whether its answers show the term of the member that leads the store, as etcd's do. Default: no.
    pub shows_terms: bool,
    /// Whether a former leading member that stood still answers reads from its old state when it goes on, as etcd's did
    /// (etcd-io/etcd#20418). Default: no.
    pub reads_stale: bool,
    /// What it says of its promise. Default: strong.
    pub promise: Promise,
    /// The seed of all rules that depend on chance. Default 0.
    pub seed: u64,
}

impl Options {
    /// Returns a store of this kind that grants leases as asked.
    pub const fn new(kind: Kind) -> Self {
        Self {
            kind,
            min_ttl: Duration::from_millis(1),
            max_ttl: Duration::from_secs(86_400),
            rate: Rate::SAME,
            latency: Duration::ZERO,
            tells_every: None,
            shows_terms: false,
            reads_stale: false,
            promise: Promise::Strong,
            seed: 0,
        }
    }

    /// Sets the clock's rate, in thousandths of the machine's.
    #[must_use]
    pub fn rate_per_mille(mut self, thousandths: u32) -> Self {
        self.rate = Rate::per_mille(thousandths);
        self
    }

    /// Sets the shortest and the longest lease that it grants.
    #[must_use]
    pub const fn ttl_within(mut self, min: Duration, max: Duration) -> Self {
        (self.min_ttl, self.max_ttl) = (min, max);
        self
    }

    /// Sets the longest delay of a message, each way.
    #[must_use]
    pub const fn latency(mut self, longest: Duration) -> Self {
        self.latency = longest;
        self
    }

    /// Sets how often members tell each other whom they have heard of.
    #[must_use]
    pub const fn telling_every(mut self, span: Duration) -> Self {
        self.tells_every = Some(span);
        self
    }

    /// Has answers show the term of the member that leads the store.
    #[must_use]
    pub const fn showing_terms(mut self) -> Self {
        self.shows_terms = true;
        self
    }

    /// Has answers show terms, and lets members answer reads from old state once they have stood still.
    #[must_use]
    pub const fn reading_stale(mut self) -> Self {
        (self.shows_terms, self.reads_stale) = (true, true);
        self
    }

    /// Has the store say that its promise is weak.
    #[must_use]
    pub const fn weak(mut self) -> Self {
        self.promise = Promise::Weak;
        self
    }

    /// Sets the seed.
    #[must_use]
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Returns the query of the store's URL.
    pub(super) fn query(&self) -> String {
        let weak = if self.promise == Promise::Weak { WEAK } else { "" };
        format!("{}{weak}", self.kind.query())
    }

    pub(super) fn grant(&self, asked: Duration) -> Duration {
        asked.min(self.max_ttl).max(self.min_ttl)
    }
}

use std::time::Duration;

use elect_api::Order;
use serde::{Deserialize, Serialize};

use super::Rate;

/// The family that the simulated store belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// Ordered entries, each with a lease of its own, as in etcd and `ZooKeeper`.
    Queue,
    /// Documents that are changed by compare-and-swap, as in Kubernetes and S3: the store knows no time. Those who wait
    /// have one each.
    Record,
    /// The same, where only the leader has one.
    Race,
}

impl Kind {
    /// Who is next in such a store.
    pub const fn order(self) -> Order {
        match self {
            Self::Queue | Self::Record => Order::Queue,
            Self::Race => Order::Race,
        }
    }

    /// What stands behind the path in a URL of such a store.
    pub const fn query(self) -> &'static str {
        match self {
            Self::Queue => "?kind=queue",
            Self::Record => "?kind=record",
            Self::Race => "?kind=record&order=race",
        }
    }
}

/// What a simulated store is like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// Its family.
    pub kind: Kind,
    /// The shortest lease that it grants, whatever was asked for. Default 1 ms.
    pub min_ttl: Duration,
    /// The longest lease that it grants. Default one day.
    pub max_ttl: Duration,
    /// How fast its clock runs. Default: as the machine's.
    pub rate: Rate,
    /// How long a message takes at most, each way, by the seed. Default: no time.
    pub latency: Duration,
    /// How often the member of the store that a candidate talks to tells the others whom it has heard of:
    /// a lease in a queue is prolonged only then, as `ZooKeeper`'s sessions are. Default: at once.
    pub tells_every: Option<Duration>,
    /// Whether its answers show the term of the member that leads it, as etcd's do. Default: no.
    pub shows_terms: bool,
    /// Whether a member that led it and stood still answers reads from what it knew before, when it goes on, as etcd's
    /// did (etcd-io/etcd#20418). Default: no.
    pub reads_stale: bool,
    /// The seed of all rules that work by chance. Default 0.
    pub seed: u64,
}

impl Options {
    /// A store of this kind that grants what is asked for.
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
            seed: 0,
        }
    }

    /// With a clock that runs at so many thousandths of the machine's.
    #[must_use]
    pub fn rate_per_mille(mut self, thousandths: u32) -> Self {
        self.rate = Rate::per_mille(thousandths);
        self
    }

    /// Which grants no shorter leases than `min` and no longer ones than `max`.
    #[must_use]
    pub const fn ttl_within(mut self, min: Duration, max: Duration) -> Self {
        (self.min_ttl, self.max_ttl) = (min, max);
        self
    }

    /// Whose messages take up to `longest` each way.
    #[must_use]
    pub const fn latency(mut self, longest: Duration) -> Self {
        self.latency = longest;
        self
    }

    /// Whose members tell each other so often whom they have heard of.
    #[must_use]
    pub const fn telling_every(mut self, span: Duration) -> Self {
        self.tells_every = Some(span);
        self
    }

    /// Whose answers show the term of the member that leads it.
    #[must_use]
    pub const fn showing_terms(mut self) -> Self {
        self.shows_terms = true;
        self
    }

    /// Whose answers show that too, and whose members answer reads from the past once they have stood still.
    #[must_use]
    pub const fn reading_stale(mut self) -> Self {
        (self.shows_terms, self.reads_stale) = (true, true);
        self
    }

    /// With another seed.
    #[must_use]
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    pub(super) fn grant(&self, asked: Duration) -> Duration {
        asked.min(self.max_ttl).max(self.min_ttl)
    }
}

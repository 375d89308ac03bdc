//! Faults that a test injects into the fake server, and counts of its requests.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::request::Request;

/// The requests that a fault affects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// The verbs of these requests. Empty means any.
    pub verbs: Vec<String>,
    /// Their resource. `None` means any.
    pub resource: Option<String>,
    /// The name of their object. `None` means any.
    pub name: Option<String>,
    /// How many of them. `None` means all until [`Fault::None`].
    pub times: Option<u32>,
}

impl Scope {
    /// All requests.
    pub fn all() -> Self {
        Self::default()
    }

    /// Requests with these verbs.
    pub fn verbs(verbs: &[&str]) -> Self {
        Self { verbs: verbs.iter().map(ToString::to_string).collect(), ..Self::default() }
    }

    /// Requests that change something.
    pub fn writes() -> Self {
        Self::verbs(&["create", "update", "patch", "delete"])
    }

    /// Requests that change nothing, except watches.
    pub fn reads() -> Self {
        Self::verbs(&["get", "list"])
    }

    /// Watches.
    pub fn watches() -> Self {
        Self::verbs(&["watch"])
    }

    /// Restricts the scope to a resource: `leases`, `pods`, `events`.
    #[must_use]
    pub fn of(mut self, resource: &str) -> Self {
        self.resource = Some(resource.to_owned());
        self
    }

    /// Restricts the scope to the object with this name.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// Restricts the scope to the next `times` requests.
    #[must_use]
    pub const fn times(mut self, times: u32) -> Self {
        self.times = Some(times);
        self
    }

    fn meets(&self, request: &Request) -> bool {
        let deed = request.deed();
        let verb = request.verb();
        (self.verbs.is_empty() || self.verbs.iter().any(|own| own == verb))
            && self
                .resource
                .as_ref()
                .is_none_or(|own| deed.is_some_and(|deed| deed.resource == own))
            && self.name.as_ref().is_none_or(|own| deed.is_some_and(|deed| deed.name == own))
            && self.times != Some(0)
    }
}

/// A fault. One with a [`Scope`] lasts until its scope is used up or until [`Fault::None`]. If several affect a
/// request, the oldest one takes effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// Ends all other faults. Silent watches stay silent.
    None,
    /// Answers 429, with `Retry-After` in seconds.
    Throttle(Scope, u64),
    /// Answers with this status, whether the request is carried out or not.
    Fail {
        /// The affected requests.
        scope: Scope,
        /// The status: 500, 503, 504 or another.
        status: u16,
        /// Whether the request is carried out.
        done: bool,
    },
    /// Never answers.
    Hang {
        /// The affected requests.
        scope: Scope,
        /// Whether the request is carried out.
        done: bool,
    },
    /// Closes the connection without an answer.
    Drop {
        /// The affected requests.
        scope: Scope,
        /// Whether the request is carried out.
        done: bool,
    },
    /// Answers late.
    Delay {
        /// The affected requests.
        scope: Scope,
        /// The delay.
        by: Duration,
        /// Whether the request is carried out at once. Otherwise that happens with the answer, even if its client
        /// has gone.
        done: bool,
    },
    /// Stops etcd's answers. Cached reads are served. All other requests get a 500 after this time. Their writes
    /// take effect when the fault ends.
    EtcdDown(Duration),
    /// Keeps all news from the cache and from watches.
    CacheLags,
    /// Silences all watches that are open or begin during the fault. They stay open.
    SilentWatches,
    /// Ends all open watches.
    EndWatches,
    /// Ends all open watches with an error 410.
    ExpireWatches,
    /// Stops listening at the address.
    Refuse,
    /// Ends all connections.
    HangUp,
}

impl Fault {
    const fn scope(&mut self) -> Option<&mut Scope> {
        match self {
            Self::Throttle(scope, _)
            | Self::Fail { scope, .. }
            | Self::Hang { scope, .. }
            | Self::Drop { scope, .. }
            | Self::Delay { scope, .. } => Some(scope),
            _ => None,
        }
    }
}

/// The faults in force that affect requests.
#[derive(Debug, Default)]
pub(super) struct Faults {
    active: Vec<Fault>,
}

impl Faults {
    pub(super) fn add(&mut self, fault: Fault) {
        self.active.push(fault);
    }

    pub(super) fn clear(&mut self) {
        self.active.clear();
    }

    /// Returns the fault that affects a request, if any.
    pub(super) fn meet(&mut self, request: &Request) -> Option<Fault> {
        let meets = |fault: &mut Fault| fault.scope().is_some_and(|scope| scope.meets(request));
        let place = self.active.iter_mut().position(meets)?;
        let met = &mut self.active[place];
        if let Some(left) = met.scope().and_then(|scope| scope.times.as_mut()) {
            *left -= 1;
        }
        Some(met.clone())
    }
}

/// Counts since the last start of the server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Requests by `VERB RESOURCE`, as in `update leases`, or by `get PATH` for other paths than objects.
    pub requests: BTreeMap<String, u64>,
    /// Answers by status.
    pub answers: BTreeMap<u16, u64>,
    /// Requests that a fault with a [`Scope`] has affected.
    pub faults: u64,
    /// Writes that have changed anything.
    pub changes: u64,
    /// Watches that are open now.
    pub watches: u64,
    /// Connections so far.
    pub connections: u64,
}

impl Counts {
    /// Returns the number of requests with one verb on one resource.
    pub fn of(&self, verb: &str, resource: &str) -> u64 {
        self.requests.get(&format!("{verb} {resource}")).copied().unwrap_or_default()
    }

    /// Returns the number of writes of Leases.
    pub fn writes(&self) -> u64 {
        ["create", "update", "patch", "delete"].iter().map(|verb| self.of(verb, "leases")).sum()
    }

    /// Returns the number of reads of Leases, except watches.
    pub fn reads(&self) -> u64 {
        self.of("get", "leases") + self.of("list", "leases")
    }

    pub(super) fn request(&mut self, request: &Request) {
        let verb = request.verb();
        let what = request.target.as_ref().map_or(&request.path, |target| &target.resource);
        *self.requests.entry(format!("{verb} {what}")).or_default() += 1;
    }

    pub(super) fn answer(&mut self, status: u16) {
        *self.answers.entry(status).or_default() += 1;
    }
}

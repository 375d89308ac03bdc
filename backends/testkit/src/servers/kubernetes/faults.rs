//! What goes wrong at a test's word, and what is counted.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::request::Request;

/// Which requests a fault meets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// With one of these verbs; with any, if there are none.
    pub verbs: Vec<String>,
    /// About this resource; about anything, if it is `None`.
    pub resource: Option<String>,
    /// About the object of this name.
    pub name: Option<String>,
    /// How many of them; all until [`Fault::None`], if it is `None`.
    pub times: Option<u32>,
}

impl Scope {
    /// Every request.
    pub fn all() -> Self {
        Self::default()
    }

    /// Those with these verbs.
    pub fn verbs(verbs: &[&str]) -> Self {
        Self { verbs: verbs.iter().map(ToString::to_string).collect(), ..Self::default() }
    }

    /// What changes something.
    pub fn writes() -> Self {
        Self::verbs(&["create", "update", "patch", "delete"])
    }

    /// What changes nothing, watches excepted.
    pub fn reads() -> Self {
        Self::verbs(&["get", "list"])
    }

    /// Watches.
    pub fn watches() -> Self {
        Self::verbs(&["watch"])
    }

    /// Those of them about a resource: `leases`, `pods`, `events`.
    #[must_use]
    pub fn of(mut self, resource: &str) -> Self {
        self.resource = Some(resource.to_owned());
        self
    }

    /// Those of them about the object of one name.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// Only the next so many of them.
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

/// What goes wrong. Those with a [`Scope`] last until it is used up or [`Fault::None`]; of several the oldest that
/// meets a request is the one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// Nothing any more: ends all the others. Watches that have gone silent stay so.
    None,
    /// 429 with `Retry-After` in seconds.
    Throttle(Scope, u64),
    /// This status, for a request that was carried out all the same, or was not.
    Fail {
        /// Which requests.
        scope: Scope,
        /// 500, 503, 504 or another.
        status: u16,
        /// Whether it was carried out.
        done: bool,
    },
    /// No answer, ever.
    Hang {
        /// Which requests.
        scope: Scope,
        /// Whether it was carried out.
        done: bool,
    },
    /// The connection ends without an answer.
    Drop {
        /// Which requests.
        scope: Scope,
        /// Whether it was carried out.
        done: bool,
    },
    /// An answer that comes late.
    Delay {
        /// Which requests.
        scope: Scope,
        /// By how much.
        by: Duration,
        /// Whether it is carried out at once; else only as the answer comes, even if nobody waits for that any more.
        done: bool,
    },
    /// etcd does not answer. Cached reads are served; all else is answered with 500 after this time, and what would
    /// have been written then is written when this ends.
    EtcdDown(Duration),
    /// The cache gets no news, nor do watches.
    CacheLags,
    /// Watches that are open, or begin meanwhile, stay open and say nothing more.
    SilentWatches,
    /// Watches that are open end now.
    EndWatches,
    /// Watches that are open end now, with an error 410.
    ExpireWatches,
    /// Nobody listens at the address.
    Refuse,
    /// All connections end now.
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

/// The faults of requests that are in force.
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

    /// What meets a request.
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

/// What was counted since the server was started last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Requests that have come in, by `VERB RESOURCE`, as in `update leases`; by `get PATH` where it is no object.
    pub requests: BTreeMap<String, u64>,
    /// Answers that have gone out, by status.
    pub answers: BTreeMap<u16, u64>,
    /// Requests that a fault with a [`Scope`] has met.
    pub faults: u64,
    /// Writes of anything that have changed something.
    pub changes: u64,
    /// Watches that are open now.
    pub watches: u64,
    /// Connections that have been made.
    pub connections: u64,
}

impl Counts {
    /// Requests of one verb on one resource.
    pub fn of(&self, verb: &str, resource: &str) -> u64 {
        self.requests.get(&format!("{verb} {resource}")).copied().unwrap_or_default()
    }

    /// Requests on Leases that write.
    pub fn writes(&self) -> u64 {
        ["create", "update", "patch", "delete"].iter().map(|verb| self.of(verb, "leases")).sum()
    }

    /// Requests on Leases that read, watches excepted.
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

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Finding, StoreId};

/// What a store is and can do, as far as it is known. A flag that the store cannot honour is refused, never ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The scheme of its URLs: `file`, `etcd`, ...
    pub scheme: &'static str,
    /// The location as a URL without secrets, for people.
    pub location: String,
    /// Whether and how leases of this store end by time.
    pub lease: Lease,
    /// Who leads next.
    pub order: Order,
    /// How surely at most one candidate leads.
    pub promise: Promise,
    /// The id of the store in which this process takes part: the requested one, or else the first one that it has
    /// entered. `None` while the id is not known, and where the location alone identifies the store.
    pub id: Option<StoreId>,
    /// Whether each server proves by its certificate that it has the name in the URL, so that no proxy can take its
    /// place.
    pub checks_names: bool,
    /// What is unsafe about the store, the way to it and the credentials, as far as that shows before any request.
    pub cautions: Vec<Finding>,
    /// The length of lease to ask for by default.
    pub usual_ttl: Duration,
    /// What requests cost; `None` if they cost nothing by themselves.
    pub price: Option<Price>,
    /// Whether the store is a part of a service, as a table or a bucket is. Its URL then has the name of that part in
    /// the place of a host, and the machine in the option `endpoint`.
    pub is_in_service: bool,
}

impl Profile {
    /// The default TTL in most stores.
    pub const USUAL_TTL: Duration = Duration::from_secs(15);

    /// The profile of a strong store that is identified by its location, with nothing unsafe about it.
    pub const fn new(scheme: &'static str, location: String, lease: Lease, order: Order) -> Self {
        let (promise, checks_names) = (Promise::Strong, false);
        let (usual_ttl, price) = (Self::USUAL_TTL, None);
        Self {
            scheme,
            location,
            lease,
            order,
            promise,
            id: None,
            checks_names,
            cautions: Vec::new(),
            usual_ttl,
            price,
            is_in_service: false,
        }
    }

    /// The same profile with a weak promise. `what` says how two candidates may lead at a time, and `way_out` what a
    /// person can do about it. `elect help SCHEME` has to say more.
    #[must_use]
    pub fn weak(mut self, what: impl Into<String>, way_out: impl Into<String>) -> Self {
        self.promise = Promise::Weak;
        self.cautions.push(Finding::warning(what, way_out));
        self
    }
}

/// The list price of a service that bills each request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// The price of a million writes of a row, in thousandths of a US dollar.
    pub writes: u32,
    /// The price of a million reads of a row, each of which shows all writes before it, in thousandths of a US dollar.
    pub reads: u32,
    /// The price of a million lists in thousandths of a US dollar, if a list shows the names of rows alone and each row
    /// is read after it. `None` if a list shows the rows, and costs as much as a read.
    pub lists: Option<u32>,
    /// Where the price holds, and the date of the list.
    pub listed: &'static str,
}

/// How surely at most one candidate leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Promise {
    /// As the manual's topic `guarantee` says.
    Strong,
    /// The same, until the store lets a member answer that it has replaced. Then two candidates may lead at a time.
    Weak,
}

/// Who leads next when leadership is vacant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The candidate that has waited longest. All waiting candidates have an entry, and [`crate::Survey`] shows them.
    Queue,
    /// The candidate that asks first. Only the leader has an entry.
    Race,
}

/// How a lease ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lease {
    /// The lease lasts as long as a process of its holder lives, without limit.
    Unlimited,
    /// The lease ends unless it is renewed.
    Timed(Cadence),
}

/// How often a timed lease must be renewed, in 48ths of the window W (see [`crate::Validity`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cadence {
    /// How long before the send of a renewal its proof may anchor.
    pub anchor_lag_48ths: u32,
    /// The time from one renewal to the next, and the longest time for one attempt.
    pub renew_48ths: u32,
    /// Whose clock decides that a lease without renewals is over.
    pub judge: Judge,
}

impl Cadence {
    /// The cadence of a lease that the store ends, and whose renewals it acknowledges, as in etcd: six renewals in W.
    pub const LEASE: Self = Self { anchor_lag_48ths: 0, renew_48ths: 8, judge: Judge::Store };

    /// The cadence of a session, as in `ZooKeeper`. It is renewed every W/16. A proof takes two requests. The first one
    /// is the anchor, and is acknowledged within W/16, before the next renewal. The second one confirms it, and is sent
    /// at least W/4 later.
    pub const SESSION: Self = Self { anchor_lag_48ths: 15, renew_48ths: 3, judge: Judge::Store };

    /// The cadence of a record whose lease the candidates judge, as in Kubernetes.
    pub const RECORD: Self = Self { judge: Judge::Candidates, ..Self::LEASE };
}

/// Who decides that a lease is over (law 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judge {
    /// The store. Its own clock and the holder's clock matter.
    Store,
    /// Each waiting candidate. Its own clock and the holder's clock matter.
    Candidates,
}

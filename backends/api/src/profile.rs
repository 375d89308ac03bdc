use crate::Finding;
use crate::remote::StoreId;

/// What a store is and can do, as far as is known. A flag that it cannot honour is refused, never ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The scheme of its URLs: `file`, `etcd`, ...
    pub scheme: &'static str,
    /// Where it is, as a URL without secrets, for people.
    pub location: String,
    /// Whether and how its leases end by time.
    pub lease: Lease,
    /// Who is next.
    pub order: Order,
    /// What the store is called that this process takes part in: the one that was asked for, or else the first that it
    /// has entered. `None` as long as that is not known, and where the location alone says which store it is.
    pub id: Option<StoreId>,
    /// What is unsafe about the way to it and the credentials for it, as far as that shows before it is asked.
    pub cautions: Vec<Finding>,
}

impl Profile {
    /// That of a store which has no name but its location, and nothing unsafe about it.
    pub const fn new(scheme: &'static str, location: String, lease: Lease, order: Order) -> Self {
        Self { scheme, location, lease, order, id: None, cautions: Vec::new() }
    }
}

/// Who leads next when leadership is vacant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Whoever has waited longest. All who wait have an entry, and [`crate::Survey`] shows them.
    Queue,
    /// Whoever asks first. Only the leader has an entry.
    Race,
}

/// Whether a lease ends by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lease {
    /// Held as long as a process of ours lives, however long that is.
    Unlimited,
    /// Ends unless it is renewed.
    Timed(Cadence),
}

/// How often a timed lease must be renewed, in 48ths of the window W (see [`crate::Validity`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cadence {
    /// How far behind the send of a renewal its proof may anchor.
    pub anchor_lag_48ths: u32,
    /// The time from one renewal to the next, and the longest that one attempt may take.
    pub renew_48ths: u32,
    /// By whose clock a lease is over that is not renewed.
    pub judge: Judge,
}

impl Cadence {
    /// Of a lease that the store ends, and whose renewal is answered: six times in W, as in etcd.
    pub const LEASE: Self = Self { anchor_lag_48ths: 0, renew_48ths: 8, judge: Judge::Store };

    /// Of a session, as in `ZooKeeper`. It is renewed every W/16. A proof takes two requests: it anchors at the first,
    /// which was acknowledged within W/16, before the next renewal, and the second confirms it, at least W/4 after that.
    pub const SESSION: Self = Self { anchor_lag_48ths: 15, renew_48ths: 3, judge: Judge::Store };

    /// Of a record that candidates judge, as in Kubernetes.
    pub const RECORD: Self = Self { judge: Judge::Candidates, ..Self::LEASE };
}

/// Who says that a lease is over (law 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judge {
    /// The store: of the clocks its own matters, and that of the holder.
    Store,
    /// Each candidate that waits: its clock matters, and that of the holder.
    Candidates,
}

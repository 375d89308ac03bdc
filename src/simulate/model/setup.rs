//! What a simulated candidate is like.

use std::time::Duration;

use elect_api::Lease;

use crate::election::timing::{Timing, TimingOptions, TooTight};

/// What a candidate is like.
#[derive(Clone, Debug)]
pub struct Setup {
    /// What `elect run` is told about time.
    pub options: TimingOptions,
    /// The store's leases.
    pub lease: Lease,
    /// How long its command runs on after leadership is lost and it was asked to stop; `None` until it is killed. A signal
    /// that elect passes on ends it at once.
    pub stops_within: Option<Duration>,
}

impl Setup {
    /// What follows from that for its machine.
    ///
    /// # Errors
    /// Such a lease leaves no time to renew it.
    pub fn timing(&self) -> Result<Timing, TooTight> {
        Timing::new(&self.options, self.lease)
    }
}

/// Who a candidate is.
#[derive(Clone, Copy, Debug)]
pub struct Identity<'a> {
    /// Its id.
    pub id: &'a str,
    /// Its own priority.
    pub priority: u32,
    /// Of what it leaves to chance.
    pub seed: u64,
}

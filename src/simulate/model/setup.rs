//! This file has the settings of a simulated candidate.

use std::time::Duration;

use elect_api::Lease;

use crate::election::timing::{Timing, TimingOptions, TooTight};

/// The settings of a candidate.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The timing options of `elect run`.
    pub options: TimingOptions,
    /// The store's leases.
    pub lease: Lease,
    /// The time that the command runs on after it was asked to stop because leadership was lost. `None` means that it
    /// runs until it is killed. A signal that elect passes on ends it at once.
    pub stops_within: Option<Duration>,
}

impl Setup {
    /// Returns the timing of its machine.
    ///
    /// # Errors
    /// If the lease leaves no time to renew it.
    pub fn timing(&self) -> Result<Timing, TooTight> {
        Timing::new(&self.options, self.lease)
    }
}

/// The identity of a candidate.
#[derive(Clone, Copy, Debug)]
pub struct Identity<'a> {
    /// Its id.
    pub id: &'a str,
    /// Its own priority.
    pub priority: u32,
    /// The seed of its random choices.
    pub seed: u64,
}

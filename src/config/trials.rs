//! The plans of what tries a store: `doctor` and `selftest`.

use std::time::Duration;

use elect_api::{Lease, Profile};

use super::{BackendUrl, ConfigError, Containment, OutputFormat, stores};
use crate::cli::{DoctorArgs, SelftestArgs};

/// What `elect doctor` is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoctorPlan {
    /// The store to examine.
    pub backend: BackendUrl,
    /// The form of the report.
    pub output: OutputFormat,
}

impl DoctorPlan {
    /// The plan that these arguments ask for.
    ///
    /// # Errors
    /// What is wrong with them, with a hint.
    pub fn new(args: DoctorArgs) -> Result<Self, ConfigError> {
        stores::check(&args.backend)?;
        Ok(Self { backend: args.backend, output: args.output })
    }
}

/// What `elect selftest` is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelftestPlan {
    /// The store to try it in.
    pub backend: BackendUrl,
    /// The length of lease to ask for, 1 s to 24 h; 5 s if `None`.
    pub ttl: Option<Duration>,
    /// What is to hold the trees of the candidates; the best that changes nothing that they could see if `None`.
    pub containment: Option<Containment>,
    /// The form of the report.
    pub output: OutputFormat,
}

impl SelftestPlan {
    /// The plan that these arguments ask for.
    ///
    /// # Errors
    /// What is wrong with them, with a hint.
    pub fn new(args: SelftestArgs) -> Result<Self, ConfigError> {
        stores::check(&args.backend)?;
        Ok(Self {
            backend: args.backend,
            ttl: args.ttl,
            containment: args.containment.tier(),
            output: args.output,
        })
    }

    /// The length of lease to ask this store for; `None` where leases do not end by time.
    ///
    /// # Errors
    /// [`ConfigError::Timeless`] if one is asked for there.
    pub fn lease(&self, store: &Profile) -> Result<Option<Duration>, ConfigError> {
        match (store.lease, self.ttl) {
            (Lease::Unlimited, None) => Ok(None),
            (Lease::Unlimited, Some(_)) => {
                Err(ConfigError::Timeless { scheme: store.scheme, flag: "--ttl" })
            }
            (Lease::Timed(_), ttl) => Ok(Some(ttl.unwrap_or(SHORT_LEASE))),
        }
    }
}

/// Short enough to see several of them end within a minute; no server that is set up as usual refuses it.
const SHORT_LEASE: Duration = Duration::from_secs(5);

use std::time::Duration;

use crate::cli::{CommandLine, HealthArgs, HealthUrl};

/// How something is known to be well. Without URL and command it always is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthPlan {
    /// What has to answer a GET with a status of 200 to 299.
    pub url: Option<HealthUrl>,
    /// What has to exit with 0.
    pub command: Option<CommandLine>,
    /// From the start of one check to that of the next; 10 ms at least.
    pub interval: Duration,
    /// How long a check may take; 10 ms at least.
    pub timeout: Duration,
    /// How many checks have to fail in a row; 1 at least.
    pub threshold: u32,
}

impl HealthPlan {
    /// The plan that these arguments ask for.
    pub(super) fn new(args: HealthArgs) -> Self {
        Self {
            url: args.health_http,
            command: args.health_cmd,
            interval: args.health_interval,
            timeout: args.health_timeout,
            threshold: args.health_threshold,
        }
    }

    /// Whether there is anything to look at.
    pub const fn looks(&self) -> bool {
        self.url.is_some() || self.command.is_some()
    }
}

//! What runs beside a command: health checks and hooks.

use std::time::Duration;

use crate::cli::{CommandLine, HealthArgs, HealthUrl, HookArgs};

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

/// What is run beside, when leadership changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookPlan {
    /// As we begin to lead; dead before anybody else can.
    pub elected: Option<CommandLine>,
    /// When our leadership is over, and its command dead.
    pub lost: Option<CommandLine>,
    /// When another leads than was seen before, or nobody.
    pub change: Option<CommandLine>,
    /// How long each may take; 10 ms at least. Default 10 s.
    pub timeout: Duration,
}

impl HookPlan {
    /// Whether there is any.
    pub const fn has_any(&self) -> bool {
        self.elected.is_some() || self.lost.is_some() || self.change.is_some()
    }

    pub(super) fn new(args: HookArgs) -> Self {
        Self {
            elected: args.on_elected,
            lost: args.on_lost,
            change: args.on_change,
            timeout: args.hook_timeout,
        }
    }
}

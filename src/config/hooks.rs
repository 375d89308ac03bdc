use std::time::Duration;

use crate::cli::{CommandLine, HookArgs};

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

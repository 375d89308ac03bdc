use std::time::Duration;

use clap::{Args, ValueHint};

use super::CommandLine;
use super::values::parse_period;

const HOOKS: &str = "Hooks";

/// What is run beside, when leadership changes.
#[derive(Args, Clone, Debug)]
pub struct HookArgs {
    /// Run once we lead
    ///
    /// Beside the command, and dead before anybody else can lead. A command whose words are split as a shell does it;
    /// it is executed without one.
    #[arg(long, env = "ELECT_ON_ELECTED", value_name = "CMD", value_hint = ValueHint::CommandString, allow_hyphen_values = true, help_heading = HOOKS)]
    pub on_elected: Option<CommandLine>,

    /// Run once we do not any more
    ///
    /// When the command is dead, however that came. Another may lead by then.
    #[arg(long, env = "ELECT_ON_LOST", value_name = "CMD", value_hint = ValueHint::CommandString, allow_hyphen_values = true, help_heading = HOOKS)]
    pub on_lost: Option<CommandLine>,

    /// Run when another leads, or nobody
    ///
    /// And at first. Its environment has the id and the token of whoever leads.
    #[arg(long, env = "ELECT_ON_CHANGE", value_name = "CMD", value_hint = ValueHint::CommandString, allow_hyphen_values = true, help_heading = HOOKS)]
    pub on_change: Option<CommandLine>,

    /// Kill each of these after so long
    #[arg(long, env = "ELECT_HOOK_TIMEOUT", value_name = "DUR", value_parser = parse_period, allow_hyphen_values = true, default_value = "10s", help_heading = HOOKS)]
    pub hook_timeout: Duration,
}

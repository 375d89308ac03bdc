use std::time::Duration;

use clap::Args;

use super::run::COMMAND;
use super::values::{Restart, parse_period};

/// When a command that has ended is started again.
#[derive(Args, Clone, Debug)]
pub struct RestartArgs {
    /// Start it again at its end
    ///
    /// While we lead, with the same token, once nothing of it is left. Not when somebody wanted it to end, when it
    /// could not be executed, or when it has done what --once is for.
    #[arg(long, env = "ELECT_RESTART", value_enum, value_name = "WHEN", default_value_t = Restart::Never, help_heading = COMMAND)]
    pub restart: Restart,

    /// How long after its end
    ///
    /// The pause doubles from one start to the next; 10 ms at least.
    #[arg(long, env = "ELECT_RESTART_DELAY", value_name = "DUR", value_parser = parse_period, allow_hyphen_values = true, default_value = "1s", help_heading = COMMAND)]
    pub restart_delay: Duration,

    /// The longest such pause
    ///
    /// A command that has run for that long begins with --restart-delay again.
    #[arg(long, env = "ELECT_RESTART_MAX_DELAY", value_name = "DUR", value_parser = parse_period, allow_hyphen_values = true, default_value = "1m", help_heading = COMMAND)]
    pub restart_max_delay: Duration,
}

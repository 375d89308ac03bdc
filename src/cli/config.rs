use std::ffi::OsString;

use clap::{Args, Subcommand};

use super::FileArgs;
use super::values::OutputFormat;

const SHOW_EXAMPLES: &str = "\
Examples:
  elect config show --profile nightly";

/// The arguments of `elect config`.
#[derive(Args, Debug)]
#[command(after_help = SHOW_EXAMPLES, disable_help_subcommand = true)]
pub struct ConfigArgs {
    /// What to do with the configuration.
    #[command(subcommand)]
    pub command: ConfigCommand,
}

/// The subcommands of `elect config`.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Show what a subcommand would use, and where each value comes from
    Show(ShowArgs),
}

const EXAMPLES: &str = "\
Examples:
  elect config show --profile nightly
  elect config show run -e nightly -w 5s
  elect config show -o json status";

const MORE: &str = "\
Output:
  Secrets are not shown. JSON and YAML have these keys, and more may come:
  subcommand, file, profile, profiles: [...]
  settings: [{key, value, from, variable, line, profile, overruled_by}]
  `from` is flag, variable, file or default.";

/// The arguments of `elect config show`.
#[derive(Args, Debug)]
#[command(
    override_usage = "elect config show [FLAGS] [SUBCOMMAND [FLAG...]]",
    after_help = EXAMPLES,
    after_long_help = MORE
)]
pub struct ShowArgs {
    /// table, json or yaml
    #[arg(short, long, env = "ELECT_OUTPUT", value_enum, value_name = "FORMAT", default_value_t = OutputFormat::Table)]
    pub output: OutputFormat,

    /// Which configuration file counts.
    #[command(flatten)]
    pub file: FileArgs,

    /// Whose settings, and flags of its own [default: run]
    #[arg(value_name = "SUBCOMMAND", trailing_var_arg = true)]
    pub words: Vec<OsString>,
}

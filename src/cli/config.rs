use std::ffi::OsString;

use clap::{Args, Subcommand};

use super::FileArgs;
use super::values::OutputFormat;

/// The arguments of `elect config`.
#[derive(Args, Debug)]
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

/// The arguments of `elect config show`.
#[derive(Args, Debug)]
pub struct ShowArgs {
    /// The form of the report
    #[arg(short, long, env = "ELECT_OUTPUT", value_enum, value_name = "FORMAT", default_value_t = OutputFormat::Table)]
    pub output: OutputFormat,

    /// Which configuration file counts.
    #[command(flatten)]
    pub file: FileArgs,

    /// The subcommand, with flags of its own if you like [default: run]
    #[arg(value_name = "SUBCOMMAND", trailing_var_arg = true)]
    pub words: Vec<OsString>,
}

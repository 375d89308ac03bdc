//! The arguments of `elect doctor`.

use clap::builder::BoolishValueParser;
use clap::{Args, ValueHint};

use super::addresses::BACKEND_HELP;
use super::values::OutputFormat;
use super::{BackendUrl, FileArgs};

/// The arguments of `elect doctor`.
#[derive(Args, Debug)]
#[command(after_long_help = include_str!("help/doctor.txt"))]
pub struct DoctorArgs {
    /// Store to examine
    #[arg(short, long, env = "ELECT_BACKEND", value_name = "URL", value_hint = ValueHint::Url, default_value = "file:", long_help = BACKEND_HELP)]
    pub backend: BackendUrl,

    /// Create what holds the elections, if it is missing
    ///
    /// In DynamoDB this is the table, which is billed by request. In other stores the first `elect run` creates it.
    #[arg(long, env = "ELECT_CREATE", value_parser = BoolishValueParser::new())]
    pub create: bool,

    /// Output format: table, json or yaml
    #[arg(short, long, env = "ELECT_OUTPUT", value_enum, value_name = "FORMAT", default_value_t = OutputFormat::Table)]
    pub output: OutputFormat,

    /// Which configuration file counts.
    #[command(flatten)]
    pub file: FileArgs,
}

use clap::Args;

use super::values::OutputFormat;
use super::{BackendUrl, FileArgs};

const AFTER_HELP: &str = "\
Exit codes:
  0    every named election has a leader; or none was named
  1    a named election has no leader
  125  failure: usage, configuration, the store

JSON and YAML have one object for each election:
  elections: [{election, backend, leader, waiting}]
  leader:    null or {id, host, pid, command, containment, token, since, joined, remaining_ms}
  waiting:   [{place, id, host, pid, command, containment, joined}], the next to lead first
Times are RFC 3339 in UTC; remaining_ms is null where leases do not end by time.";

/// The arguments of `elect status`.
#[derive(Args, Debug)]
#[command(after_long_help = AFTER_HELP)]
pub struct StatusArgs {
    /// The store that keeps the elections
    #[arg(
        short,
        long,
        env = "ELECT_BACKEND",
        value_name = "URL",
        default_value = "file:",
        help = "The store: file:///DIR, etcd://HOST,HOST or zk://HOST,HOST"
    )]
    pub backend: BackendUrl,

    /// The form of the report
    #[arg(short, long, env = "ELECT_OUTPUT", value_enum, value_name = "FORMAT", default_value_t = OutputFormat::Table)]
    pub output: OutputFormat,

    /// Which configuration file counts.
    #[command(flatten)]
    pub file: FileArgs,

    /// The elections to look at [default: all]
    #[arg(value_name = "ELECTION")]
    pub elections: Vec<String>,
}

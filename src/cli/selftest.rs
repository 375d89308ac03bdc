use std::time::Duration;

use clap::{Args, ValueHint};

use super::backend_url::STORES;
use super::values::{ContainmentChoice, OutputFormat, parse_ttl};
use super::{BackendUrl, FileArgs};

const EXAMPLES: &str = "\
Examples:
  elect selftest                        on this machine's disk, some seconds
  elect selftest -b etcd://a,b,c        under a minute
  elect selftest -o json -b zk://a,b,c";

const MORE: &str = "\
Candidates that are real runs of elect are stopped, killed and cut off, in
elections of their own, which are removed afterwards. Their commands note at
each millisecond that they run: no two of them ever may at once.

Exit codes:
  0    all that could be tried holds
  1    something does not hold
  125  it could not be tried: usage, configuration, the store

Output:
  JSON and YAML have these keys, and more may come:
  backend, holds, left: [...]
  checks: [{check, result, took_ms, handover_ms, slack_ms, seen}]
  `result` is holds, fails or skipped; `left` is what could not be removed.";

/// The arguments of `elect selftest`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = MORE)]
pub struct SelftestArgs {
    /// The store to try it in
    #[arg(short, long, env = "ELECT_BACKEND", value_name = "URL", value_hint = ValueHint::Url, default_value = "file:", long_help = STORES)]
    pub backend: BackendUrl,

    /// Length of the leases [default: 5s]
    ///
    /// It takes about six of them. 1 s to 24 h; refused where leases have no limit.
    #[arg(long, env = "ELECT_TTL", value_name = "DUR", value_parser = parse_ttl, allow_hyphen_values = true)]
    pub ttl: Option<Duration>,

    /// What holds the descendants of the commands
    ///
    /// The containment to try, as `elect run` takes it. What is better than `auto` changes what a command sees.
    #[arg(long, env = "ELECT_CONTAINMENT", value_enum, value_name = "TIER", default_value_t = ContainmentChoice::Auto)]
    pub containment: ContainmentChoice,

    /// table, json or yaml
    #[arg(short, long, env = "ELECT_OUTPUT", value_enum, value_name = "FORMAT", default_value_t = OutputFormat::Table)]
    pub output: OutputFormat,

    /// Which configuration file counts.
    #[command(flatten)]
    pub file: FileArgs,
}

//! The arguments of what tries a store: `doctor` and `selftest`.

use std::time::Duration;

use clap::{Args, ValueHint};

use super::backend_url::STORES;
use super::values::{ContainmentChoice, OutputFormat, parse_ttl};
use super::{BackendUrl, FileArgs};

const DOCTOR_EXAMPLES: &str = "\
Examples:
  elect doctor                       this machine, and its disk
  elect doctor -b etcd://a,b,c       each member, and what it lets us do
  elect doctor -o json -b zk://a,b,c";

const DOCTOR_MORE: &str = "\
What elect may do in the store is tried in an election of its own, which is
removed afterwards. No other election is touched.

Exit codes:
  0    nothing is wrong
  1    something is wrong, or will be: there is a warning or an error
  125  the store could not be asked at all; also usage, configuration

Output:
  JSON and YAML have these keys, and more may come:
  backend, well
  endpoints:   [{endpoint, answers, round_trip_ms, version, role, error}]
  rights:      [{right, granted, error}]
  renewal:     null or {usual_ms, slowest_ms, tries}
  ttl:         null or {advised_ms, shortest_ms, least_ms, greatest_ms,
               reasons: [...]}
  clock:       {rate}
  containment: [{containment, at_hand, why_not}], the best first
  limits:      [{limit, unit, most, used}]
  findings:    [{severity, what, way_out}], the worst first
  `severity` is error, warning or note; what is not known is null.";

/// The arguments of `elect doctor`.
#[derive(Args, Debug)]
#[command(after_help = DOCTOR_EXAMPLES, after_long_help = DOCTOR_MORE)]
pub struct DoctorArgs {
    /// The store to examine
    #[arg(short, long, env = "ELECT_BACKEND", value_name = "URL", value_hint = ValueHint::Url, default_value = "file:", long_help = STORES)]
    pub backend: BackendUrl,

    /// table, json or yaml
    #[arg(short, long, env = "ELECT_OUTPUT", value_enum, value_name = "FORMAT", default_value_t = OutputFormat::Table)]
    pub output: OutputFormat,

    /// Which configuration file counts.
    #[command(flatten)]
    pub file: FileArgs,
}

const SELFTEST_EXAMPLES: &str = "\
Examples:
  elect selftest                        on this machine's disk, some seconds
  elect selftest -b etcd://a,b,c        under a minute
  elect selftest -o json -b zk://a,b,c";

const SELFTEST_MORE: &str = "\
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
#[command(after_help = SELFTEST_EXAMPLES, after_long_help = SELFTEST_MORE)]
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

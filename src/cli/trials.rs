//! The arguments of what tries a store: `doctor` and `selftest`.

use std::time::Duration;

use clap::{Args, ValueHint};

use super::backend_url::BACKEND_HELP;
use super::values::{ContainmentChoice, OutputFormat, parse_ttl};
use super::{BackendUrl, FileArgs};

const DOCTOR_EXAMPLES: &str = "\
Examples:
  elect doctor                       this machine, and its disk
  elect doctor -b etcd://a,b,c       each member, and what it lets us do
  elect doctor -o json -b zk://a,b,c";

const DOCTOR_MORE: &str = "\
elect tries what it may do in the store in an election of its own, and removes
that afterwards; on Kubernetes an empty Lease stays. It touches no other election.

Exit codes:
  0    nothing is wrong
  1    something is wrong, or will be: there is a warning or an error
  125  the store did not answer at all; also usage, configuration

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
    /// Store to examine
    #[arg(short, long, env = "ELECT_BACKEND", value_name = "URL", value_hint = ValueHint::Url, default_value = "file:", long_help = BACKEND_HELP)]
    pub backend: BackendUrl,

    /// Output format: table, json or yaml
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
elect starts candidates in elections of its own, stops them, kills them, and cuts
them off from the store. Their commands record each millisecond in which they
run: no two may run at once. elect removes these elections afterwards.

Exit codes:
  0    every check that could run has passed
  1    a check has failed
  125  the test could not run: usage, configuration, the store

Output:
  JSON and YAML have these keys, and more may come:
  backend, holds, left: [...]
  checks: [{check, result, took_ms, handover_ms, slack_ms, seen}]
  `result` is holds, fails or skipped; `left` is what could not be removed.";

/// The arguments of `elect selftest`.
#[derive(Args, Debug)]
#[command(after_help = SELFTEST_EXAMPLES, after_long_help = SELFTEST_MORE)]
pub struct SelftestArgs {
    /// Store to test
    #[arg(short, long, env = "ELECT_BACKEND", value_name = "URL", value_hint = ValueHint::Url, default_value = "file:", long_help = BACKEND_HELP)]
    pub backend: BackendUrl,

    /// Length of the leases [default: 5s]
    ///
    /// The test takes about six of them. At least 3.6 s, at most 24 h. The local disk refuses it: its leases have no
    /// time limit.
    #[arg(long, env = "ELECT_TTL", value_name = "DUR", value_parser = parse_ttl, allow_hyphen_values = true)]
    pub ttl: Option<Duration>,

    /// Containment to test
    ///
    /// It is what `elect run --containment` takes. Those better than `auto` change what a command sees.
    #[arg(long, env = "ELECT_CONTAINMENT", value_enum, value_name = "TIER", default_value_t = ContainmentChoice::Auto)]
    pub containment: ContainmentChoice,

    /// Output format: table, json or yaml
    #[arg(short, long, env = "ELECT_OUTPUT", value_enum, value_name = "FORMAT", default_value_t = OutputFormat::Table)]
    pub output: OutputFormat,

    /// Which configuration file counts.
    #[command(flatten)]
    pub file: FileArgs,
}

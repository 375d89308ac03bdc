//! The arguments of `elect doctor`.

use clap::{Args, ValueHint};

use super::addresses::BACKEND_HELP;
use super::values::OutputFormat;
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

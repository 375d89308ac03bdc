//! The arguments of what helps with elect itself, and takes part in nothing: `completions`, `config`, `dashboard`, `doctor`,
//! `help`, `man` and `selftest`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueHint};

use super::backend_url::STORES;
use super::values::{ContainmentChoice, OutputFormat, parse_duration, parse_ttl};
use super::{BackendUrl, FileArgs};

pub use clap_complete::Shell;

const COMPLETIONS_MORE: &str = "\
Names:
  For bash, zsh and fish the scripts ask elect for the names of profiles and
  elections: with the store and the configuration file that are named before
  them, and for a second at most.";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  elect completions bash >~/.local/share/bash-completion/completions/elect
  elect completions zsh >/usr/local/share/zsh/site-functions/_elect
  elect completions fish >~/.config/fish/completions/elect.fish";

/// The arguments of `elect completions`.
#[derive(Args, Debug)]
#[command(after_help = COMPLETIONS_EXAMPLES, after_long_help = COMPLETIONS_MORE)]
pub struct CompletionsArgs {
    /// The shell to print the script for
    #[arg(value_name = "SHELL", required_unless_present = "dir")]
    pub shell: Option<Shell>,

    /// Write the scripts of all shells to this folder
    #[arg(long, env = "ELECT_DIR", value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
}

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

const CONFIG_EXAMPLES: &str = "\
Examples:
  elect config show --profile nightly
  elect config show run -e nightly -w 5s
  elect config show -o json status";

const CONFIG_MORE: &str = "\
Output:
  Secrets are not shown. JSON and YAML have these keys, and more may come:
  subcommand, file, profile, profiles: [...]
  settings: [{key, value, from, variable, line, profile, overruled_by}]
  `from` is flag, variable, file or default.";

/// The arguments of `elect config show`.
#[derive(Args, Debug)]
#[command(
    override_usage = "elect config show [FLAGS] [SUBCOMMAND [FLAG...]]",
    after_help = CONFIG_EXAMPLES,
    after_long_help = CONFIG_MORE
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

const DASHBOARD_EXAMPLES: &str = "\
Examples:
  elect dashboard alerts >/etc/prometheus/rules.d/elect.yaml
  elect dashboard grafana >elect.json";

const DASHBOARD_MORE: &str =
    "They are made for the metrics that this version shows with `elect run --http`.";

const ALERTS: &str = "\
Examples:
  elect dashboard alerts >/etc/prometheus/rules.d/elect.yaml
  elect dashboard alerts --for 5m";

const GRAFANA: &str = "\
Examples:
  elect dashboard grafana >elect.json";

/// The arguments of `elect dashboard`.
#[derive(Args, Debug)]
#[command(after_help = DASHBOARD_EXAMPLES, after_long_help = DASHBOARD_MORE)]
pub struct DashboardArgs {
    /// What to print.
    #[command(subcommand)]
    pub what: Dashboard,
}

/// What `elect dashboard` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Subcommand)]
pub enum Dashboard {
    /// Alerting rules for Prometheus
    #[command(after_help = ALERTS)]
    Alerts {
        /// How long something has to be so before anybody is told
        #[arg(long = "for", env = "ELECT_FOR", value_name = "DUR", value_parser = parse_duration, default_value = "1m")]
        lasting: Duration,
    },
    /// A dashboard for Grafana
    #[command(after_help = GRAFANA)]
    Grafana,
}

const DOCTOR_EXAMPLES: &str = "\
Examples:
  elect doctor                       this machine, and its disk
  elect doctor -b etcd://a,b,c       each member, and what it lets us do
  elect doctor -o json -b zk://a,b,c";

const DOCTOR_MORE: &str = "\
What elect may do in the store is tried in an election of its own, which is
removed afterwards. Nobody is disturbed.

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

const MAN_EXAMPLES: &str = "\
Examples:
  elect man run | man -l -                   read a page
  elect man --dir /usr/local/share/man/man1  install them all";

/// The arguments of `elect man`.
#[derive(Args, Debug)]
#[command(after_help = MAN_EXAMPLES)]
pub struct ManArgs {
    /// Write all pages to this folder
    #[arg(long, env = "ELECT_DIR", value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub dir: Option<PathBuf>,

    /// The subcommand to print the page of; all of elect's if none
    #[arg(value_name = "SUBCOMMAND")]
    pub words: Vec<String>,
}

const HELP_EXAMPLES: &str = "\
Examples:
  elect help run
  elect help config show";

/// The arguments of `elect help`.
#[derive(Args, Debug)]
#[command(after_help = HELP_EXAMPLES)]
pub struct HelpArgs {
    /// The subcommand to explain; elect as a whole if none
    #[arg(value_name = "SUBCOMMAND")]
    pub words: Vec<String>,
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

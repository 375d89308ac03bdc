use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::BoolishValueParser;
use nix::sys::signal::Signal;

use super::origin::{Layers, Overruled, Rivals};
use super::values::{
    AfterLoss, Leftover, LogFormat, parse_duration, parse_share, parse_signal, parse_ttl,
};
use super::{BackendUrl, FileArgs};

const AFTER_HELP: &str = "\
Exit codes:
  0-255  the command's own, unchanged
  128+n  signal n ended the command; or, before it was started, made elect leave the queue
  124    leadership was lost, and the command was stopped
  75     not acquired: -n, or --wait ran out (-E changes it; -E 0 is silent)
  125    elect itself failed: usage, configuration, the store
  126    the command cannot be executed
  127    the command was not found
  A command may return any of these itself; --outcome FILE tells them apart.

Environment:
  Each flag can be given as the variable named beside it; the flag beats the variable, and an empty
  variable counts as unset.
  The command finds: ELECT_TOKEN, the fencing token of this leadership; ELECT_LEADER_ELECTION and
  ELECT_LEADER_ID; ELECT_LEASE, which `elect check` reads. ELECT_ELECTION and ELECT_ID are removed.

Durations: 500ms, 15s, 2m, 1h30m; a bare number is seconds.";

/// The arguments of `elect run`.
#[derive(Args, Debug)]
#[command(
    override_usage = "elect run [FLAGS] [--] COMMAND [ARG...]",
    after_help = "`elect run --help` lists the exit codes and the environment.",
    after_long_help = AFTER_HELP
)]
pub struct RunArgs {
    /// The store that keeps the election
    #[arg(
        short,
        long,
        env = "ELECT_BACKEND",
        value_name = "URL",
        default_value = "file:",
        help = "The store: file:///DIR, etcd://HOST,HOST or zk://HOST,HOST"
    )]
    pub backend: BackendUrl,

    /// The election to take part in [default: the command's file name]
    #[arg(short, long, env = "ELECT_ELECTION", value_name = "NAME")]
    pub election: Option<String>,

    /// Do not wait: exit at once if another candidate leads
    #[arg(short, long, env = "ELECT_NO_WAIT", value_parser = BoolishValueParser::new())]
    pub no_wait: bool,

    /// Wait at most this long to lead [default: without end]
    #[arg(short, long, env = "ELECT_WAIT", value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true)]
    pub wait: Option<Duration>,

    /// The exit code when another candidate leads; 0 is silent
    #[arg(
        short = 'E',
        long,
        env = "ELECT_CONFLICT_EXIT_CODE",
        value_name = "N",
        default_value_t = 75
    )]
    pub conflict_exit_code: u8,

    /// The length of the lease: a leader that is cut off is replaced after it [default: 15s]
    #[arg(long, env = "ELECT_TTL", value_name = "DUR", value_parser = parse_ttl, allow_hyphen_values = true)]
    pub ttl: Option<Duration>,

    /// By how much the clocks of this machine and of the store may differ in speed [default: 10%]
    #[arg(long, env = "ELECT_MAX_CLOCK_DRIFT", value_name = "SHARE", value_parser = parse_share, allow_hyphen_values = true)]
    pub max_clock_drift: Option<f64>,

    /// The signal that asks the command to stop when the lease is lost: TERM, SIGTERM or 15
    #[arg(short, long, env = "ELECT_SIGNAL", value_name = "SIG", value_parser = parse_signal, default_value = "TERM")]
    pub signal: Signal,

    /// How long before it is killed the command is asked to stop when the lease is lost [default: 4/15 of the lease]
    #[arg(short, long, env = "ELECT_KILL_GRACE", value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true)]
    pub kill_grace: Option<Duration>,

    /// The label of this candidate, to which elect adds a nonce [default: the name of the host]
    #[arg(long, env = "ELECT_ID", value_name = "LABEL")]
    pub id: Option<String>,

    /// What happens to processes that the command leaves running when it ends
    #[arg(long, env = "ELECT_LEFTOVER", value_enum, value_name = "WHAT", default_value_t = Leftover::Kill)]
    pub leftover: Leftover,

    /// Kill the command this long after it was first told to stop [default: never]
    #[arg(long, env = "ELECT_STOP_TIMEOUT", value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true)]
    pub stop_timeout: Option<Duration>,

    /// Keep the lease until this long after the start, even if the command ends sooner [default: 0]
    #[arg(long, env = "ELECT_HOLD", value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true)]
    pub hold: Option<Duration>,

    /// What to do once leadership was lost and the command is dead
    #[arg(long, env = "ELECT_AFTER_LOSS", value_enum, value_name = "WHAT", default_value_t = AfterLoss::Exit)]
    pub after_loss: AfterLoss,

    /// Write what happened to this file, as JSON
    #[arg(long, env = "ELECT_OUTCOME", value_name = "FILE")]
    pub outcome: Option<PathBuf>,

    /// Say nothing but errors
    #[arg(short, long, env = "ELECT_QUIET", value_parser = BoolishValueParser::new())]
    pub quiet: bool,

    /// Say more; without it, and off a terminal, only warnings
    #[arg(short, long, env = "ELECT_VERBOSE", value_parser = BoolishValueParser::new())]
    pub verbose: bool,

    /// The form of elect's own words on stderr
    #[arg(long, env = "ELECT_LOG_FORMAT", value_enum, value_name = "FORMAT", default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,

    /// Which configuration file counts.
    #[command(flatten)]
    pub file: FileArgs,

    /// The command to run, and its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true)]
    pub command: Vec<OsString>,
}

impl RunArgs {
    /// Drops the flags whose rivals come from a nearer layer, and says which.
    pub(super) fn settle(&mut self, layers: Layers<'_>) -> Result<Vec<Overruled>, Box<Rivals>> {
        let mut all = Vec::new();
        if self.no_wait && self.wait.is_some() {
            all.push(layers.settle("no-wait", "wait")?);
        }
        if self.quiet && self.verbose {
            all.push(layers.settle("quiet", "verbose")?);
        }
        for overruled in &all {
            match overruled.flag {
                "no-wait" => self.no_wait = false,
                "wait" => self.wait = None,
                "quiet" => self.quiet = false,
                _ => self.verbose = false,
            }
        }
        Ok(all)
    }
}

use std::time::Duration;

use clap::{Args, ValueHint};

use super::backend_url::STORES;
use super::values::parse_duration;
use super::{BackendUrl, FileArgs};

const EXAMPLES: &str = "\
Examples:
  elect pause nightly                          nobody leads until elect resume
  elect pause web --reason upgrade             so that the others know why
  elect pause web --timeout 0                  ask, and do not wait";

const MORE: &str = "\
A command that runs gets the signal that its elect run has for --signal, and all
the time that it takes (or its --stop-timeout). Whoever is next keeps its place
and starts nothing. Programs other than elect know of no pause:
they wait behind it, and one that leads goes on.

Exit codes:
  0    nobody leads
  75   the time of --timeout was over before; the pause stays
  125  failure: usage, configuration, the store";

/// The arguments of `elect pause`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = MORE)]
pub struct PauseArgs {
    /// Where the election is kept
    #[arg(short, long, env = "ELECT_BACKEND", value_name = "URL", value_hint = ValueHint::Url, default_value = "file:", long_help = STORES)]
    pub backend: BackendUrl,

    /// Why, for all who look
    #[arg(long, env = "ELECT_REASON", value_name = "TEXT", value_hint = ValueHint::Other)]
    pub reason: Option<String>,

    /// Wait at most so long [default: without end]
    ///
    /// 500ms, 15s, 2m; a bare number is seconds. With 0 it is asked for, and not waited for.
    #[arg(long, env = "ELECT_TIMEOUT", value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true)]
    pub timeout: Option<Duration>,

    /// Which configuration file counts.
    #[command(flatten)]
    pub file: FileArgs,

    /// The election
    #[arg(value_name = "ELECTION", required = true, value_hint = ValueHint::Other)]
    pub election: Option<String>,
}

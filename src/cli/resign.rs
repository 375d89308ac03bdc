use std::time::Duration;

use clap::{Args, ValueHint};

use super::backend_url::STORES;
use super::values::parse_duration;
use super::{BackendUrl, FileArgs};

const EXAMPLES: &str = "\
Examples:
  elect resign web                             the next candidate leads
  elect resign web --reason upgrade            so that the log says why
  elect resign web --timeout 1m                75 if that takes longer";

const MORE: &str = "\
The leader's command gets the signal that its elect run has for --signal, and all
the time that it takes (or its --stop-timeout); then whoever is next leads, and the elect run that led ends with 124, or waits again if it has
--after-loss campaign. A leader that is no elect cannot be asked.

Exit codes:
  0    it has handed over, or nobody led; stdout says who leads now
  75   the time of --timeout was over before; the leader has been asked
  125  failure: usage, configuration, the store; a leader that is no elect";

/// The arguments of `elect resign`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = MORE)]
pub struct ResignArgs {
    /// Where the election is kept
    #[arg(short, long, env = "ELECT_BACKEND", value_name = "URL", value_hint = ValueHint::Url, default_value = "file:", long_help = STORES)]
    pub backend: BackendUrl,

    /// Why, for the leader's log
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

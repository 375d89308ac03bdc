use std::time::Duration;

use clap::{Args, ValueHint};

use super::backend_url::STORES;
use super::values::parse_duration;
use super::{BackendUrl, FileArgs, Goal};

const EXAMPLES: &str = "\
Examples:
  elect wait nightly                        until somebody leads
  elect wait nightly --for vacant           until nobody does
  elect wait web --for web2 --timeout 1m    until web2 leads";

const MORE: &str = "\
Exit codes:
  0    it is so
  75   it was not so before the time of --timeout was over
  125  failure: usage, configuration, the store; also if the store has not
       answered once before the time was over

Output:
  None on stdout. A store that falls silent is asked until it answers; stderr
  says so once.";

/// The arguments of `elect wait`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = MORE)]
pub struct WaitArgs {
    /// Where the election is kept
    #[arg(short, long, env = "ELECT_BACKEND", value_name = "URL", value_hint = ValueHint::Url, default_value = "file:", long_help = STORES)]
    pub backend: BackendUrl,

    /// leader, vacant, or who is to lead
    ///
    /// An ID is a whole one, as `elect status` shows it, or the label in front of its last part: what
    /// --id said, or else the name of the host.
    #[arg(id = "for", long, env = "ELECT_FOR", value_name = "leader|vacant|ID", value_hint = ValueHint::Other, default_value = "leader")]
    pub goal: Goal,

    /// Wait at most so long [default: without end]
    ///
    /// 500ms, 15s, 2m; a bare number is seconds. With 0 the store is asked once.
    #[arg(long, env = "ELECT_TIMEOUT", value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true)]
    pub timeout: Option<Duration>,

    /// Which configuration file counts.
    #[command(flatten)]
    pub file: FileArgs,

    /// The election to look at
    #[arg(value_name = "ELECTION", required = true, value_hint = ValueHint::Other)]
    pub election: Option<String>,
}

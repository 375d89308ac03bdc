use clap::{Args, ValueHint};

use super::backend_url::STORES;
use super::values::OutputFormat;
use super::{BackendUrl, FileArgs};

const EXAMPLES: &str = "\
Examples:
  elect observe nightly                 until Ctrl-C
  elect observe -b etcd://a,b nightly
  elect observe -o json nightly | jq -r 'select(.event == \"leader\").id'";

const MORE: &str = "\
Exit codes:
  0    INT, TERM, HUP or QUIT came, or nobody reads stdout any more
  125  failure: usage, configuration, a store that refuses us

Output:
  First how it stands, then a line for each change, at once. JSON is one object a
  line, YAML one document a change, with the same keys:
  time:      when it was seen, RFC 3339 in UTC, by the clock of this machine
  election:  its name
  event:     leader     somebody else leads, or anew: with id and token
             vacant     nobody leads
             joined     a candidate waits: with id
             left       a candidate is gone: with id
             outage     the store has not answered for some seconds: with reason
             recovered  it answers again
  id, host, pid, command: the candidate, as `elect status` has it, or null
  token:     the fencing token of a leader, else null
  reason:    why the store does not answer, else null
  Nothing is told that the store did not say: what changed while it did not answer,
  or between two answers of it, is told as the difference. Tokens always rise.";

/// The arguments of `elect observe`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = MORE)]
pub struct ObserveArgs {
    /// Where the election is kept
    #[arg(short, long, env = "ELECT_BACKEND", value_name = "URL", value_hint = ValueHint::Url, default_value = "file:", long_help = STORES)]
    pub backend: BackendUrl,

    /// table (lines for people), json or yaml
    #[arg(short, long, env = "ELECT_OUTPUT", value_enum, value_name = "FORMAT", default_value_t = OutputFormat::Table)]
    pub output: OutputFormat,

    /// Which configuration file counts.
    #[command(flatten)]
    pub file: FileArgs,

    /// The election to look at
    #[arg(value_name = "ELECTION", required = true, value_hint = ValueHint::Other)]
    pub election: Option<String>,
}

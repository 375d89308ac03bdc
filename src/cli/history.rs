use std::num::NonZeroUsize;

use clap::{Args, ValueHint};

use super::backend_url::STORES;
use super::number::whole;
use super::values::OutputFormat;
use super::{BackendUrl, FileArgs};

const EXAMPLES: &str = "\
Examples:
  elect history nightly                 the last 50, the newest at the end
  elect history -b etcd://a,b --last 1 nightly
  elect history -o json nightly | jq -r '.leaderships[-1].reason'";

const MORE: &str = "\
Exit codes:
  0    it was shown; also if nobody has led yet
  125  failure: usage, configuration, the store

Output:
  JSON and YAML have one object, with the newest leadership at the end:
  election:    its name
  backend:     where it is kept
  leaderships: [{token, id, start, end, reason}]
  Times are RFC 3339 in UTC by the clock of the leader, and end and reason are
  null as long as nobody has said how it ended: `elect status` tells whether it
  lasts. What a leader did not live to say its successor says, with the time at
  which it began itself.
  A program that is no elect is not in it. Of a leader that was killed in the
  first tenth of a second, or whose command ended before the store had answered
  it once, nothing may be known.";

/// The arguments of `elect history`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = MORE)]
pub struct HistoryArgs {
    /// Where the election is kept
    #[arg(short, long, env = "ELECT_BACKEND", value_name = "URL", value_hint = ValueHint::Url, default_value = "file:", long_help = STORES)]
    pub backend: BackendUrl,

    /// table, json or yaml
    #[arg(short, long, env = "ELECT_OUTPUT", value_enum, value_name = "FORMAT", default_value_t = OutputFormat::Table)]
    pub output: OutputFormat,

    /// Show only so many, the newest [default: all 50]
    #[arg(long, env = "ELECT_LAST", value_name = "N", value_parser = whole::<NonZeroUsize>(1..=u32::MAX.into()))]
    pub last: Option<NonZeroUsize>,

    /// Which configuration file counts.
    #[command(flatten)]
    pub file: FileArgs,

    /// The election to look at
    #[arg(value_name = "ELECTION", required = true, value_hint = ValueHint::Other)]
    pub election: Option<String>,
}

use clap::{Args, ValueHint};

use super::backend_url::STORES;
use super::{BackendUrl, FileArgs};

const EXAMPLES: &str = "\
Examples:
  elect resume nightly                      whoever is next leads at once
  elect resume web -b etcd://a,b,c";

const MORE: &str = "\
Exit codes:
  0    the election is not paused
  125  failure: usage, configuration, the store";

/// The arguments of `elect resume`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = MORE)]
pub struct ResumeArgs {
    /// Where the election is kept
    #[arg(short, long, env = "ELECT_BACKEND", value_name = "URL", value_hint = ValueHint::Url, default_value = "file:", long_help = STORES)]
    pub backend: BackendUrl,

    /// Which configuration file counts.
    #[command(flatten)]
    pub file: FileArgs,

    /// The election
    #[arg(value_name = "ELECTION", required = true, value_hint = ValueHint::Other)]
    pub election: Option<String>,
}

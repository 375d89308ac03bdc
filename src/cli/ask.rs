use std::time::Duration;

use clap::{Args, ValueHint};

use super::BackendUrl;
use super::backend_url::STORES;
use super::values::parse_duration;

/// What is asked of an election, and for how long the answer is waited for.
#[derive(Args, Debug)]
pub struct AskArgs {
    /// Where the election is kept
    #[arg(short, long, env = "ELECT_BACKEND", value_name = "URL", value_hint = ValueHint::Url, default_value = "file:", long_help = STORES)]
    pub backend: BackendUrl,

    /// Why, for logs and for all who look
    #[arg(long, env = "ELECT_REASON", value_name = "TEXT", value_hint = ValueHint::Other)]
    pub reason: Option<String>,

    /// Wait at most so long [default: without end]
    ///
    /// 500ms, 15s, 2m; a bare number is seconds. With 0 it is asked for, and not waited for.
    #[arg(long, env = "ELECT_TIMEOUT", value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true)]
    pub timeout: Option<Duration>,

    /// The election
    #[arg(value_name = "ELECTION", required = true, value_hint = ValueHint::Other)]
    pub election: Option<String>,
}

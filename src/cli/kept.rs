use clap::{Args, ValueHint};

use super::backend_url::STORES;
use super::{BackendUrl, FileArgs};

/// Of which election: inside a command that `elect run` started, of that one.
#[derive(Args, Clone, Debug)]
pub struct KeptArgs {
    /// Where it is kept [default: as told, else file:]
    #[arg(short, long, env = "ELECT_BACKEND", value_name = "URL", value_hint = ValueHint::Url, default_value = "file:", hide_default_value = true, long_help = STORES)]
    pub backend: BackendUrl,

    /// The election [default: that which leads here]
    ///
    /// In a command that `elect run` started it is the one that this leads.
    #[arg(short, long, env = "ELECT_ELECTION", value_name = "ELECTION", value_hint = ValueHint::Other)]
    pub election: Option<String>,

    /// Which configuration file counts.
    #[command(flatten)]
    pub file: FileArgs,
}

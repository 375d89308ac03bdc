use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::values::{parse_share, parse_ttl};
use super::{BackendUrl, ListenAddress};

/// Who takes part in what: the arguments of all that leads.
#[derive(Args, Clone, Debug)]
pub struct CampaignArgs {
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

    /// The length of the lease: a leader that is cut off is replaced after it [default: 15s]
    #[arg(long, env = "ELECT_TTL", value_name = "DUR", value_parser = parse_ttl, allow_hyphen_values = true)]
    pub ttl: Option<Duration>,

    /// By how much the clocks of this machine and of the store may differ in speed [default: 10%]
    #[arg(long, env = "ELECT_MAX_CLOCK_DRIFT", value_name = "SHARE", value_parser = parse_share, allow_hyphen_values = true)]
    pub max_clock_drift: Option<f64>,

    /// The label of this candidate, to which elect adds a nonce [default: the name of the host]
    #[arg(long, env = "ELECT_ID", value_name = "LABEL")]
    pub id: Option<String>,

    /// Keep in this file whether we lead, for `elect check` in other containers
    #[arg(long, env = "ELECT_LEASE_FILE", value_name = "FILE")]
    pub lease_file: Option<PathBuf>,

    /// Show how things are over HTTP: whether we lead, probes, events, metrics
    #[arg(
        long,
        env = "ELECT_HTTP",
        value_name = "ADDR",
        help = "Show over HTTP whether we lead, with probes, events and metrics: PORT (of this machine only) or HOST:PORT"
    )]
    pub http: Option<ListenAddress>,
}

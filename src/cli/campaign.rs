use std::path::PathBuf;
use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{Args, ValueHint};
use elect_api::Candidate;

use super::backend_url::STORES;
use super::number::whole;
use super::values::{MAX_PRIORITY, parse_duration, parse_share, parse_ttl};
use super::{BackendUrl, HookArgs, ListenAddress};

/// The headings of what all that leads has in common.
pub(super) const ELECTION: &str = "Election";
pub(super) const LEASE: &str = "Lease";
const STANDING: &str = "Standing";

/// Who takes part in what: the arguments of all that leads.
#[derive(Args, Clone, Debug)]
pub struct CampaignArgs {
    /// Where the election is kept
    #[arg(short, long, env = "ELECT_BACKEND", value_name = "URL", value_hint = ValueHint::Url, default_value = "file:", long_help = STORES, help_heading = ELECTION)]
    pub backend: BackendUrl,

    /// Its name [default: the command's file name]
    ///
    /// 1 to 128 letters, digits and . _ - @ : + =, first a letter, a digit or _, and not digits only.
    #[arg(short, long, env = "ELECT_ELECTION", value_name = "ELECTION", value_hint = ValueHint::Other, help_heading = ELECTION)]
    pub election: Option<String>,

    /// Label of this candidate [default: host name]
    ///
    /// 1 to 64 printable ASCII characters without spaces and /. elect adds a nonce to it.
    #[arg(long, env = "ELECT_ID", value_name = "LABEL", value_hint = ValueHint::Other, help_heading = ELECTION)]
    pub id: Option<String>,

    /// The greatest leads next; 0 never
    ///
    /// 0 to 1000000. Of equals whoever joined first leads first. See elect priority.
    #[arg(long, env = "ELECT_PRIORITY", value_name = "N", default_value_t = Candidate::USUAL_PRIORITY, value_parser = whole::<u32>(0..=MAX_PRIORITY.into()), help_heading = ELECTION)]
    pub priority: u32,

    /// Ask a leader of less priority to hand over
    ///
    /// To us, once we have waited for the time of --preempt-after. Not where programs other than elect take part.
    #[arg(long, env = "ELECT_PREEMPT", value_parser = BoolishValueParser::new(), help_heading = ELECTION)]
    pub preempt: bool,

    /// Wait so long before that [default: 30s]
    ///
    /// 500ms, 15s, 2m; a bare number is seconds. It implies --preempt.
    #[arg(long, env = "ELECT_PREEMPT_AFTER", value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true, help_heading = ELECTION)]
    pub preempt_after: Option<Duration>,

    /// Length of the lease [default: 15s]
    ///
    /// A leader that is cut off is replaced after it. 1 s to 24 h; refused where leases have no limit.
    #[arg(long, env = "ELECT_TTL", value_name = "DUR", value_parser = parse_ttl, allow_hyphen_values = true, help_heading = LEASE)]
    pub ttl: Option<Duration>,

    /// Clocks may differ by so much [default: 10%]
    ///
    /// By how much the clocks of this machine and of the store may differ in speed: 0.1 or 10%.
    #[arg(long, env = "ELECT_MAX_CLOCK_DRIFT", value_name = "SHARE", value_parser = parse_share, allow_hyphen_values = true, help_heading = LEASE)]
    pub max_clock_drift: Option<f64>,

    /// Wait so long after a crash [default: 0]
    ///
    /// Counted from our win, unless the leader before us has said that it ended well. All candidates need it.
    #[arg(long, env = "ELECT_LOCK_DELAY", value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true, help_heading = LEASE)]
    pub lock_delay: Option<Duration>,

    /// Show over HTTP how things are
    ///
    /// Whether we lead, probes, events and metrics, at PORT (of this machine only) or HOST:PORT.
    #[arg(long, env = "ELECT_HTTP", value_name = "ADDR", value_hint = ValueHint::Other, help_heading = STANDING)]
    pub http: Option<ListenAddress>,

    /// Keep there whether we lead
    ///
    /// For `elect check --lease-file` in other containers, and for others who share the folder.
    #[arg(long, env = "ELECT_LEASE_FILE", value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = STANDING)]
    pub lease_file: Option<PathBuf>,

    /// What is run beside, when leadership changes.
    #[command(flatten)]
    pub hooks: HookArgs,
}

use std::time::Duration;

use clap::Args;

use super::values::parse_duration;
use super::{CampaignArgs, HealthArgs, LogArgs};

const AFTER_HELP: &str = "\
What it says, to whoever asks `elect check`: while we lead, nobody else leads for at least --grace
from then on. So an application that asks again within that time, and stops when we do not lead any
more, is never active beside another leader's. Nothing is killed.

Exit codes:
  0    told to end by HUP, INT, QUIT or TERM; leadership was given up
  125  elect itself failed: usage, configuration, the store refuses
  It goes on for ever otherwise: after a loss, and while the store is out of reach.

Example:
  elect sidecar -b etcd://10.0.0.1 -e web --lease-file /run/elect/lease \\
      --health-http http://127.0.0.1:8080/healthz";

/// The arguments of `elect sidecar`.
#[derive(Args, Debug)]
#[command(
    override_usage = "elect sidecar -e NAME [FLAGS]",
    after_help = "`elect sidecar --help` says more.",
    after_long_help = AFTER_HELP
)]
pub struct SidecarArgs {
    /// Who takes part in what.
    #[command(flatten)]
    pub campaign: CampaignArgs,

    /// How long nobody else leads after we have stopped saying that we do [default: 4/15 of the lease]
    #[arg(long, env = "ELECT_GRACE", value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true)]
    pub grace: Option<Duration>,

    /// How the application is known to be well.
    #[command(flatten)]
    pub health: HealthArgs,

    /// How elect speaks.
    #[command(flatten)]
    pub log: LogArgs,
}

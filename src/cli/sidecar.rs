use std::time::Duration;

use clap::{Arg, Args};

use super::groups::LEASE;
use super::help::GENERAL;
use super::values::parse_duration;
use super::{CampaignArgs, FileArgs, HealthArgs, LogArgs};

const EXAMPLES: &str = "\
Examples:
  elect sidecar -e web --lease-file /run/web/lease --http 9090
  elect sidecar -e web --health-http http://127.0.0.1:8080/healthz";

const MORE: &str = "\
Exit codes:
  0    told to end by HUP, INT, QUIT or TERM; leadership was given up
  125  elect itself failed: usage, configuration, the store refuses
  It goes on for ever otherwise: after a loss, and while the store is away.

Truth:
  While it says that it leads, nobody else does, nor for the grace after that.
  An application that asks again within the grace, and stops when we do not lead
  any more, is never active beside another leader's. Nothing is killed.";

/// There is no command whose file name it could be.
fn without_default(election: Arg) -> Arg {
    const NAME: &str = "Its name";
    let more = election.get_long_help().map(ToString::to_string).unwrap_or_default();
    let more = more.split_once('\n').map_or("", |(_, more)| more);
    let more = format!("{NAME}\n{more}");
    election.help(NAME).long_help(more)
}

/// The arguments of `elect sidecar`.
#[derive(Args, Debug)]
#[command(
    override_usage = "elect sidecar -e ELECTION [FLAGS]",
    after_help = EXAMPLES,
    after_long_help = MORE,
    mut_arg("election", without_default)
)]
pub struct SidecarArgs {
    /// Who takes part in what.
    #[command(flatten)]
    pub campaign: CampaignArgs,

    /// From our last yes to the next leader [default: 4/15 of TTL]
    ///
    /// How long nobody else leads after we have stopped saying that we do.
    #[arg(long, env = "ELECT_GRACE", value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true, help_heading = LEASE)]
    pub grace: Option<Duration>,

    /// How the application is known to be well.
    #[command(flatten)]
    pub health: HealthArgs,

    /// How elect speaks.
    #[command(flatten)]
    pub log: LogArgs,

    /// Which configuration file counts.
    #[command(flatten, next_help_heading = GENERAL)]
    pub file: FileArgs,
}

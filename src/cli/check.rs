use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::values::parse_duration;

const AFTER_HELP: &str = "\
Exit codes:
  0    we lead, and the lease runs on for at least --remaining; no time limit counts as enough
  1    it does not, or leadership has ended
  125  there is no lease to look at: none is named, or its file cannot be read

Run it inside a command that `elect run` started, which finds ELECT_LEASE, or name the file of another
elect's --lease-file. The store is not asked.";

/// The arguments of `elect check`.
#[derive(Args, Debug)]
#[command(after_long_help = AFTER_HELP)]
pub struct CheckArgs {
    /// How long the lease must still run: 500ms, 15s, 2m; a bare number is seconds [default: 0]
    #[arg(long, env = "ELECT_REMAINING", value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true)]
    pub remaining: Option<Duration>,

    /// What an elect of this machine keeps there with its --lease-file [default: the command's own]
    #[arg(long, env = "ELECT_LEASE_FILE", value_name = "FILE")]
    pub lease_file: Option<PathBuf>,
}

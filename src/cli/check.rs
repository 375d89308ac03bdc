use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};

use super::number::whole;
use super::values::parse_duration;

const EXAMPLES: &str = "\
Examples:
  elect check && echo \"still leading\"
  elect check --remaining 5s || exit    stop before the lease does
  elect check --lease-file /run/lease   outside: in another container, say";

const MORE: &str = "\
Exit codes:
  0    we lead, and the lease runs on for at least --remaining; no time limit
       counts as enough
  1    it does not, or leadership has ended
  125  there is no lease to look at: none is named, or its file cannot be read

Use:
  Run it inside a command that `elect run` started, which finds ELECT_LEASE, or
  name the file of another elect's --lease-file. The store is not asked.";

/// The arguments of `elect check`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = MORE)]
pub struct CheckArgs {
    /// How long it must still hold [default: 0]
    ///
    /// 500ms, 15s, 2m; a bare number is seconds.
    #[arg(long, env = "ELECT_REMAINING", value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true)]
    pub remaining: Option<Duration>,

    /// Whose lease it is [default: the command's own]
    ///
    /// The file that another elect of this machine keeps with its --lease-file.
    #[arg(long, env = "ELECT_LEASE_FILE", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub lease_file: Option<PathBuf>,

    /// Believe this user, too
    ///
    /// A number, as of the other container's runAsUser. Needed where others can write to the folder and that elect is
    /// neither ours nor root's.
    #[arg(long, env = "ELECT_LEASE_OWNER", value_name = "UID", value_parser = whole::<u32>(0..=u32::MAX.into()))]
    pub lease_owner: Option<u32>,
}

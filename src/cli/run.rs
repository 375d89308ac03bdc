//! The arguments of what takes part in an election: `run` and `sidecar`.

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{Arg, Args, ValueHint};
use elect_api::Division;
use nix::sys::signal::Signal;

use super::groups::{COMMAND, ELECTION, LEASE};
use super::help::GENERAL;
use super::settings::{Layers, Overruled, Rivals};
use super::values::{
    AfterLoss, Containment, ContainmentChoice, Leftover, parse_duration, parse_once, parse_signal,
    whole,
};
use super::{CampaignArgs, FileArgs, HealthArgs, LogArgs, RestartArgs};

const EXAMPLES: &str = "\
Examples:
  elect run ./cron-job                wait for our turn, then run
  elect run -n -E 0 ./cron-job        or leave at once and without a word
  elect run -b etcd://a,b -- ./serve  on each of many machines; one leads";

const MORE: &str = "\
Exit codes:
  0-255  the command's own, unchanged
  128+n  signal n ended the command, or made elect end while none ran
  124    leadership was lost, and the command was stopped; or it was lost before
         a success could be recorded (--once)
  0      it was done already: --once KEY
  75     not acquired: -n, or --wait ran out (-E changes it; -E 0 is silent)
  75     --once-attempts permits no further run (-E changes this one, too)
  125    elect itself failed: usage, configuration, the store
  126    the command cannot be executed
  127    the command was not found
  A command may return any of these itself; --outcome FILE tells them apart.

Environment:
  Each flag can be given as the variable named beside it; the flag beats the
  variable, and an empty variable counts as unset.
  The command finds: ELECT_TOKEN, the fencing token of this leadership;
  ELECT_LEADER_ELECTION, ELECT_LEADER_BACKEND and ELECT_LEADER_ID; ELECT_LEASE,
  which `elect check` reads; ELECT_HTTP_ADDRESS, where --http listens; ELECT_SLOT or
  ELECT_SHARD, with --slots or --shards. ELECT_ELECTION, ELECT_ID, ELECT_ONCE,
  ELECT_ONCE_ATTEMPTS, ELECT_OUTCOME, ELECT_HTTP, ELECT_LEASE_FILE, ELECT_RESTART, ELECT_HEALTH_CMD,
  ELECT_HEALTH_HTTP, ELECT_SLOTS, ELECT_SHARDS and the hooks are removed.

Files:
  The configuration file is the first of these that exists: the one named by
  --config or ELECT_CONFIG, $XDG_CONFIG_HOME/elect/config.yaml or
  ~/.config/elect/config.yaml, /etc/elect/config.yaml.
  Its keys are the long names of flags. What stands below `profiles: NAME:`
  counts with --profile NAME, and beats what stands above. `elect config show`
  tells what comes of it.

Durations:
  500ms, 15s, 2m, 1h30m; a bare number is seconds.";

/// The arguments of `elect run`.
#[derive(Args, Debug)]
#[command(
    override_usage = "elect run [FLAGS] [--] COMMAND [ARG...]",
    after_help = EXAMPLES,
    after_long_help = MORE
)]
pub struct RunArgs {
    /// Who takes part in what.
    #[command(flatten)]
    pub campaign: CampaignArgs,

    /// Exit at once if another candidate leads
    #[arg(short, long, env = "ELECT_NO_WAIT", value_parser = BoolishValueParser::new(), help_heading = ELECTION)]
    pub no_wait: bool,

    /// Wait at most so long [default: without end]
    #[arg(short, long, env = "ELECT_WAIT", value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true, help_heading = ELECTION)]
    pub wait: Option<Duration>,

    /// Exit code if not acquired
    ///
    /// That is, if another candidate leads, and -n was given or --wait ran out; 0 is silent.
    #[arg(
        short = 'E',
        long,
        env = "ELECT_CONFLICT_EXIT_CODE",
        value_name = "N",
        value_parser = whole::<u8>(0..=255),
        default_value_t = 75,
        help_heading = ELECTION
    )]
    pub conflict_exit_code: u8,

    /// Let so many lead at once [1 to 64]
    ///
    /// Each leads in a slot of its own, whose number the command finds in `ELECT_SLOT`. All who take part have to
    /// name the same number.
    #[arg(long, env = "ELECT_SLOTS", value_name = "N", value_parser = whole::<u16>(1..=Division::MOST_SLOTS.into()), help_heading = ELECTION)]
    pub slots: Option<u16>,

    /// Spread so many shards over all [1 to 1024]
    ///
    /// For each shard that is ours a command of its own runs, which finds its number in `ELECT_SHARD`. All who take
    /// part have to name the same number.
    #[arg(long, env = "ELECT_SHARDS", value_name = "N", value_parser = whole::<u16>(1..=Division::MOST_SHARDS.into()), help_heading = ELECTION)]
    pub shards: Option<u16>,

    /// What asks the command to stop
    ///
    /// The signal that it gets when the lease is lost: TERM, SIGTERM or 15.
    #[arg(short, long, env = "ELECT_SIGNAL", value_name = "SIG", value_parser = parse_signal, default_value = "TERM", help_heading = LEASE)]
    pub signal: Signal,

    /// From that to the kill [default: 4/15 of TTL]
    ///
    /// How long before it is killed the command is asked to stop when the lease is lost.
    #[arg(short, long, env = "ELECT_KILL_GRACE", value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true, help_heading = LEASE)]
    pub kill_grace: Option<Duration>,

    /// Then exit, or campaign anew
    ///
    /// What to do once leadership was lost and the command is dead.
    #[arg(long, env = "ELECT_AFTER_LOSS", value_enum, value_name = "WHAT", default_value_t = AfterLoss::Exit, help_heading = LEASE)]
    pub after_loss: AfterLoss,

    /// kill or wait for leftovers
    ///
    /// What happens to processes that the command leaves running when it ends.
    #[arg(long, env = "ELECT_LEFTOVER", value_enum, value_name = "WHAT", default_value_t = Leftover::Kill, help_heading = COMMAND)]
    pub leftover: Leftover,

    /// What holds its descendants
    ///
    /// How surely all of them can be killed. What is better than `auto` changes what the command sees: its
    /// process ids, or its cgroup.
    #[arg(long, env = "ELECT_CONTAINMENT", value_enum, value_name = "TIER", default_value_t = ContainmentChoice::Auto, help_heading = COMMAND)]
    pub containment: ContainmentChoice,

    /// Refuse to run with less
    ///
    /// What is to hold its descendants at least, the best first. It is enough by itself: `auto` then is what changes
    /// the least of what would do.
    #[arg(long, env = "ELECT_REQUIRE_CONTAINMENT", value_enum, value_name = "TIER", help_heading = COMMAND)]
    pub require_containment: Option<Containment>,

    /// From INT or TERM to kill [default: never]
    ///
    /// Counted from the first INT, QUIT or TERM that elect passes on.
    #[arg(long, env = "ELECT_STOP_TIMEOUT", value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true, help_heading = COMMAND)]
    pub stop_timeout: Option<Duration>,

    /// Keep the lease so long at least [default: 0]
    ///
    /// Counted from the start of the command, even if it ends sooner.
    #[arg(long, env = "ELECT_HOLD", value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true, help_heading = COMMAND)]
    pub hold: Option<Duration>,

    /// When it has ended and is started again.
    #[command(flatten)]
    pub restart: RestartArgs,

    /// How the command is known to be well.
    #[command(flatten)]
    pub health: HealthArgs,

    /// Run once for each KEY
    ///
    /// A run that succeeds records KEY, and whoever comes with the same KEY leaves with 0.
    #[arg(long, env = "ELECT_ONCE", value_name = "KEY", value_parser = parse_once, value_hint = ValueHint::Other, help_heading = COMMAND)]
    pub once: Option<String>,

    /// How many runs of KEY there may be [default: any number]
    ///
    /// Counted among all candidates, before each run starts. A run that exits with 126 or 127 does not count. When they
    /// are used up, `elect run` leaves with 75, or the code of -E. Requires --once.
    #[arg(long, env = "ELECT_ONCE_ATTEMPTS", value_name = "N", value_parser = whole::<NonZeroU32>(1..=1000), help_heading = COMMAND)]
    pub once_attempts: Option<NonZeroU32>,

    /// Write what happened there, as JSON
    #[arg(long, env = "ELECT_OUTCOME", value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = COMMAND)]
    pub outcome: Option<PathBuf>,

    /// How elect speaks.
    #[command(flatten)]
    pub log: LogArgs,

    /// Which configuration file counts.
    #[command(flatten, next_help_heading = GENERAL)]
    pub file: FileArgs,

    /// The command to run, and its arguments
    ///
    /// A name without a slash is looked for in PATH. What comes after it is the command's own.
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, value_hint = ValueHint::CommandWithArguments, hide_short_help = true)]
    pub command: Vec<OsString>,
}

impl RunArgs {
    /// Drops the flags whose rivals come from a nearer layer, and says which.
    pub(super) fn settle(&mut self, layers: Layers<'_>) -> Result<Vec<Overruled>, Box<Rivals>> {
        let mut all = Vec::new();
        if self.no_wait && self.wait.is_some() {
            all.push(layers.settle("no-wait", "wait")?);
        }
        for overruled in &all {
            match overruled.flag {
                "no-wait" => self.no_wait = false,
                _ => self.wait = None,
            }
        }
        all.extend(self.log.settle(layers)?);
        Ok(all)
    }
}

const SIDECAR_EXAMPLES: &str = "\
Examples:
  elect sidecar -e web --lease-file /run/web/lease --http 9090
  elect sidecar -e web --health-http http://127.0.0.1:8080/healthz";

const SIDECAR_MORE: &str = "\
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
    after_help = SIDECAR_EXAMPLES,
    after_long_help = SIDECAR_MORE,
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

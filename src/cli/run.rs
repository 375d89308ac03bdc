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
use super::period::Period;
use super::settings::{Layers, Overruled, Rivals};
use super::values::{
    AfterLoss, Containment, ContainmentChoice, LeftoverChoice, parse_duration, parse_limit,
    parse_once, parse_signal, whole,
};
use super::{CampaignArgs, FileArgs, HealthArgs, LogArgs, RestartArgs};

/// The arguments of `elect run`.
#[derive(Args, Debug)]
#[command(
    override_usage = "elect run [FLAGS] [--] COMMAND [ARG...]",
    after_long_help = include_str!("help/run.txt")
)]
pub struct RunArgs {
    /// The candidate and its election.
    #[command(flatten)]
    pub campaign: CampaignArgs,

    /// The command, and how elect runs it.
    #[command(flatten)]
    pub flags: RunFlags,

    /// The amount and the form of messages.
    #[command(flatten)]
    pub log: LogArgs,

    /// Which configuration file counts.
    #[command(flatten, next_help_heading = GENERAL)]
    pub file: FileArgs,

    /// The command to run, and its arguments
    ///
    /// A name without a slash is looked for in PATH. Words after it belong to the command.
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, value_hint = ValueHint::CommandWithArguments, hide_short_help = true)]
    pub command: Vec<OsString>,
}

/// The flags of `elect run` about what it runs.
#[derive(Args, Clone, Debug)]
pub struct RunFlags {
    /// Exit at once if another candidate leads
    ///
    /// On all stores but the local disk, etcd and ZooKeeper a leader that died looks alive at first. There elect waits
    /// until it has seen the leader renew its lease, which takes a sixth of the TTL. If it sees no renewal, it waits
    /// until the lease is over, which takes the TTL and two looks more. Where such a store may have lost the record of
    /// a leader, elect waits for 60 s, and says so.
    #[arg(short, long, env = "ELECT_NO_WAIT", value_parser = BoolishValueParser::new(), help_heading = ELECTION)]
    pub no_wait: bool,

    /// Longest wait to lead [default: without end]
    ///
    /// 500ms, 15s, 2m; a bare number is seconds. On the stores that --no-wait names, the wait is at least as long as
    /// there. In `elect status`, -w is short for --watch.
    #[arg(short, long, env = "ELECT_WAIT", value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true, help_heading = ELECTION)]
    pub wait: Option<Duration>,

    /// Exit code without leadership
    ///
    /// elect exits with this code if -n is given or --wait ran out, for one of three reasons. Another candidate leads,
    /// the election is paused, or the priority is 0. With code 0, elect prints nothing.
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

    /// Number of leaders at a time [1 to 64]
    ///
    /// Each leads in a slot of its own; its command finds the number in `ELECT_SLOT`. All candidates need the same N.
    #[arg(long, env = "ELECT_SLOTS", value_name = "N", value_parser = whole::<u16>(1..=Division::MOST_SLOTS.into()), help_heading = ELECTION, hide_short_help = true)]
    pub slots: Option<u16>,

    /// Number of shards to spread [1 to 1024]
    ///
    /// elect spreads the shards over all candidates, and runs a command for each shard that it holds. The command finds
    /// its number in `ELECT_SHARD`. All candidates need the same N.
    #[arg(long, env = "ELECT_SHARDS", value_name = "N", value_parser = whole::<u16>(1..=Division::MOST_SHARDS.into()), help_heading = ELECTION, hide_short_help = true)]
    pub shards: Option<u16>,

    /// Signal that asks the command to stop
    ///
    /// The command gets it when leadership is lost or given up. Write TERM, SIGTERM or 15.
    #[arg(short, long, env = "ELECT_SIGNAL", value_name = "SIG", value_parser = parse_signal, default_value = "TERM", help_heading = LEASE)]
    pub signal: Signal,

    /// Time between the stop signal and SIGKILL [default: 4/15 of TTL, else 4s]
    ///
    /// The time is for a lost lease, and for processes left behind. --stop-timeout is for a stop that a person asks
    /// for. On the local disk, which has no TTL, the default is 4 s.
    #[arg(short, long, env = "ELECT_KILL_GRACE", value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true, help_heading = LEASE)]
    pub kill_grace: Option<Duration>,

    /// After a loss, exit or campaign again
    ///
    /// elect does so once leadership is lost or given up, and the command is dead.
    #[arg(long, env = "ELECT_AFTER_LOSS", value_enum, value_name = "WHAT", default_value_t = AfterLoss::Exit, help_heading = LEASE)]
    pub after_loss: AfterLoss,

    /// Processes left behind: kill or wait
    ///
    /// This flag is for a command that ends by itself. With `kill`, elect names the processes that the command left
    /// running, and stops them. With `wait`, elect leads until these processes have ended.
    #[arg(long, env = "ELECT_LEFTOVER", value_enum, value_name = "WHAT", default_value_t = LeftoverChoice::Kill, help_heading = COMMAND, hide_short_help = true)]
    pub leftover: LeftoverChoice,

    /// Time for processes left behind to end
    ///
    /// The time counts from the end of the command. Then the processes get TERM, and KILL after the time of -k.
    /// --leftover wait excludes this flag.
    #[arg(long, env = "ELECT_LEFTOVER_GRACE", value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true, default_value = "1s", help_heading = COMMAND, hide_short_help = true)]
    pub leftover_grace: Duration,

    /// How elect holds all descendants
    ///
    /// A better containment kills them more surely. A containment better than `auto` changes what the command sees: its
    /// process ids, or its cgroup.
    #[arg(long, env = "ELECT_CONTAINMENT", value_enum, value_name = "TIER", default_value_t = ContainmentChoice::Auto, help_heading = COMMAND)]
    pub containment: ContainmentChoice,

    /// Weakest containment to accept
    ///
    /// With a weaker containment, elect refuses to run. The list has the best containment first. Without --containment,
    /// elect takes a containment that is good enough, and changes the least for the command.
    #[arg(long, env = "ELECT_REQUIRE_CONTAINMENT", value_enum, value_name = "TIER", help_heading = COMMAND, hide_short_help = true)]
    pub require_containment: Option<Containment>,

    /// Time from INT or TERM to SIGKILL [default: never]
    ///
    /// The time counts from the first INT, QUIT or TERM that elect passes on, or from a request to hand over.
    #[arg(long, env = "ELECT_STOP_TIMEOUT", value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true, help_heading = COMMAND)]
    pub stop_timeout: Option<Duration>,

    /// Shortest time to keep the lease [default: 0]
    ///
    /// The time counts from the start of the command. If the command ends sooner, elect leads until the time is over.
    #[arg(long, env = "ELECT_HOLD", value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true, help_heading = COMMAND, hide_short_help = true)]
    pub hold: Option<Duration>,

    /// Stop the command after so long [default: never]
    ///
    /// The time counts from each start of the command; at least 10 ms. Then the command gets the signal of -s. KILL
    /// comes after --stop-timeout, or without it after the time of -k. elect exits as the command does. --restart does
    /// not start the command again, and a key of --once stays open.
    #[arg(long, env = "ELECT_MAX_RUN", value_name = "DUR", value_parser = parse_limit, allow_hyphen_values = true, help_heading = COMMAND, hide_short_help = true)]
    pub max_run: Option<Duration>,

    /// The restarts of a command that has ended.
    #[command(flatten)]
    pub restart: RestartArgs,

    /// The health checks of the command.
    #[command(flatten)]
    pub health: HealthArgs,

    /// Run only once per KEY, among all candidates
    ///
    /// A run that succeeds records KEY in the store. Later runs with the same KEY exit with 0 and run nothing.
    #[arg(long, env = "ELECT_ONCE", value_name = "KEY", value_parser = parse_once, value_hint = ValueHint::Other, help_heading = COMMAND)]
    pub once: Option<String>,

    /// Run once in each PERIOD, such as day@02:50
    ///
    /// This flag is --once with a key for the period that is current when elect starts: `2026-11-26` for `day@02:50`.
    /// A run that starts late counts for the same period, whatever the machine's time zone. Other periods are `15m@13`,
    /// `hour@50`, `6h@02:50`, `week@Sun@02:50` and `month@15@02:50`. Times are in UTC, or have an offset:
    /// `day@02:50+01:00`.
    #[arg(long, env = "ELECT_ONCE_PER", value_name = "PERIOD", value_hint = ValueHint::Other, help_heading = COMMAND, hide_short_help = true)]
    pub once_per: Option<Period>,

    /// How many runs of KEY there may be [default: any number]
    ///
    /// elect counts the runs of all candidates, each before it starts. A run that exits with 126 or 127 does not count.
    /// Once N runs are counted, `elect run` exits with 75, or the code of -E. Requires --once or --once-per.
    #[arg(long, env = "ELECT_ONCE_ATTEMPTS", value_name = "N", value_parser = whole::<NonZeroU32>(1..=1000), help_heading = COMMAND, hide_short_help = true)]
    pub once_attempts: Option<NonZeroU32>,

    /// Write the outcome to FILE, as JSON
    #[arg(long, env = "ELECT_OUTCOME", value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = COMMAND)]
    pub outcome: Option<PathBuf>,
}

impl RunArgs {
    /// Drops the flags whose rivals come from a nearer layer, and returns which ones lost.
    pub(super) fn overrule(&mut self, layers: Layers<'_>) -> Result<Vec<Overruled>, Box<Rivals>> {
        let (flags, mut all) = (&mut self.flags, Vec::new());
        if flags.no_wait && flags.wait.is_some() {
            let wait = ("wait", || flags.wait = None);
            all.push(layers.overrule(("no-wait", || flags.no_wait = false), wait)?);
        }
        if flags.once.is_some() && flags.once_per.is_some() {
            let once_per = ("once-per", || flags.once_per = None);
            all.push(layers.overrule(("once", || flags.once = None), once_per)?);
        }
        all.extend(self.log.overrule(layers)?);
        Ok(all)
    }
}

/// Removes the default of the election's name, because there is no command whose file name it could be.
fn without_default(election: Arg) -> Arg {
    const NAME: &str = "Name of the election";
    let more = election.get_long_help().map(ToString::to_string).unwrap_or_default();
    let more = more.split_once('\n').map_or("", |(_, more)| more);
    let more = format!("{NAME}\n{more}");
    election.help(NAME).long_help(more)
}

/// The arguments of `elect sidecar`.
#[derive(Args, Debug)]
#[command(
    override_usage = "elect sidecar -e ELECTION [FLAGS]",
    after_long_help = include_str!("help/sidecar.txt"),
    mut_arg("election", without_default)
)]
pub struct SidecarArgs {
    /// The candidate and its election.
    #[command(flatten)]
    pub campaign: CampaignArgs,

    /// Time for the application to stop [default: 4/15 of TTL, else 4s]
    ///
    /// After elect has stopped saying that it leads, no other candidate leads for this time.
    #[arg(long, env = "ELECT_GRACE", value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true, help_heading = LEASE)]
    pub grace: Option<Duration>,

    /// The health checks of the application.
    #[command(flatten)]
    pub health: HealthArgs,

    /// The amount and the form of messages.
    #[command(flatten)]
    pub log: LogArgs,

    /// Which configuration file counts.
    #[command(flatten, next_help_heading = GENERAL)]
    pub file: FileArgs,
}

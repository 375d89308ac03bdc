//! The arguments of what asks something of an election: `elect resign`, `pause`, `resume` and `priority`.

use std::str::FromStr;
use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{Args, ValueHint};

use super::help::GENERAL;
use super::values::{MAX_PRIORITY, parse_duration};
use super::{FileArgs, TargetArgs};

/// What is asked of an election, and for how long the answer is waited for.
#[derive(Args, Debug)]
pub struct AskArgs {
    /// Which election, and where it is kept.
    #[command(flatten)]
    pub target: TargetArgs,

    /// Reason to show in logs and in `elect status`
    #[arg(long, env = "ELECT_REASON", value_name = "TEXT", value_hint = ValueHint::Other)]
    pub reason: Option<String>,

    /// Longest time to wait [default: without end]
    ///
    /// 500ms, 15s, 2m; a bare number is seconds. With 0 elect asks, and does not wait.
    #[arg(long, env = "ELECT_TIMEOUT", value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true)]
    pub timeout: Option<Duration>,
}

/// The heading of what goes further than asking.
const SILENT: &str = "If it does not answer";

const RESIGN_EXAMPLES: &str = "\
Examples:
  elect resign web                             the next candidate leads
  elect resign web --reason upgrade            so that the log says why
  elect resign web --to db2                    db2 leads next
  elect resign web --timeout 1m                75 if that takes longer
  elect resign web --force                     remove a leader that is dead";

const RESIGN_MORE: &str = "\
The elect run that leads stops its command with its --signal, and waits until the
command has ended, or for its --stop-timeout. Then the next candidate leads. The old
leader exits with 124, or waits again with --after-loss campaign. Programs other than
elect cannot be asked.

With --to, the named candidate leads next, if it is still there and nobody else has
led meanwhile.

With --force, elect asks the leader first, and waits as long as a lease lasts without
a renewal. Then etcd and ZooKeeper have removed the entry of a dead leader; elect
removes one without a lease. An entry that is still there has a live holder, and only
--even-if-alive removes it. An elect run that finds its entry gone kills its command at
once. Until then two commands may run; other programs may run on for ever.
On the local disk the lease lasts as long as the process that holds it. --force names
that process and how to end it: at once if it is dead or stopped, else after 15 s.

Exit codes:
  0    the leader has handed over, or nobody led; stdout says who leads now
  75   --timeout ran out first, and the leader has been asked; or another
       candidate leads than --to names
  125  failure: usage, configuration, the store; the leader is no elect, or lives
       in spite of --force";

/// The arguments of `elect resign`.
#[derive(Args, Debug)]
#[command(after_help = RESIGN_EXAMPLES, after_long_help = RESIGN_MORE)]
pub struct ResignArgs {
    /// What is asked for.
    #[command(flatten)]
    pub ask: AskArgs,

    /// Candidate to lead next, by id or label
    #[arg(long, env = "ELECT_TO", value_name = "ID", value_hint = ValueHint::Other)]
    pub to: Option<String>,

    /// Remove the entry of a dead leader
    ///
    /// elect asks the leader first, and waits as long as a lease lasts. The entry of a leader that lives stays.
    #[arg(long, env = "ELECT_FORCE", value_parser = BoolishValueParser::new(), help_heading = SILENT)]
    pub force: bool,

    /// With --force: even if it lives; two may run
    ///
    /// Two commands may run until the old leader finds out that its entry is gone.
    #[arg(long, env = "ELECT_EVEN_IF_ALIVE", value_parser = BoolishValueParser::new(), help_heading = SILENT)]
    pub even_if_alive: bool,

    /// Which configuration file counts.
    #[command(flatten, next_help_heading = GENERAL)]
    pub file: FileArgs,
}

const PAUSE_EXAMPLES: &str = "\
Examples:
  elect pause nightly                          nobody leads until elect resume
  elect pause web --reason upgrade             so that the others know why
  elect pause web --timeout 0                  ask, and do not wait";

const PAUSE_MORE: &str = "\
A command that runs gets the signal that its elect run has for --signal, and all
the time that it takes (or its --stop-timeout). Whoever is next keeps its place
and starts nothing. Programs other than elect know of no pause:
they wait behind it, and one that leads goes on.

Exit codes:
  0    nobody leads
  75   the time of --timeout was over before; the pause stays
  125  failure: usage, configuration, the store";

/// The arguments of `elect pause`.
#[derive(Args, Debug)]
#[command(after_help = PAUSE_EXAMPLES, after_long_help = PAUSE_MORE)]
pub struct PauseArgs {
    /// What is asked for.
    #[command(flatten)]
    pub ask: AskArgs,

    /// Which configuration file counts.
    #[command(flatten)]
    pub file: FileArgs,
}

const RESUME_EXAMPLES: &str = "\
Examples:
  elect resume nightly                      whoever is next leads at once
  elect resume web -b etcd://a,b,c";

const RESUME_MORE: &str = "\
Exit codes:
  0    the election is not paused
  125  failure: usage, configuration, the store";

/// The arguments of `elect resume`.
#[derive(Args, Debug)]
#[command(after_help = RESUME_EXAMPLES, after_long_help = RESUME_MORE)]
pub struct ResumeArgs {
    /// Which election, and where it is kept.
    #[command(flatten)]
    pub target: TargetArgs,

    /// Which configuration file counts.
    #[command(flatten)]
    pub file: FileArgs,
}

const PRIORITY_EXAMPLES: &str = "\
Examples:
  elect priority web db1 200        db1 leads next, whoever came first
  elect priority web db1 0          db1 hands over, and does not lead again";

const PRIORITY_MORE: &str = "\
ID is the whole id that elect status shows, and then counts for this run of elect
only, or its label, and then counts for all candidates of that label, also for
those to come. A leader of priority 0 hands over in good order, as with elect
resign, and that is waited for.

Exit codes:
  0    it is so
  75   the time of --timeout was over before; the leader has been asked
  125  failure: usage, configuration, the store; nobody is known by that ID";

/// The arguments of `elect priority`.
#[derive(Args, Debug)]
#[command(after_help = PRIORITY_EXAMPLES, after_long_help = PRIORITY_MORE)]
pub struct PriorityArgs {
    /// What is asked for, of whom.
    #[command(flatten)]
    pub ask: AskArgs,

    /// Candidate, by id or label
    #[arg(value_name = "ID", required = true, value_hint = ValueHint::Other)]
    pub id: Option<String>,

    /// Priority; 0: never leads, own: as it was started
    #[arg(value_name = "N", required = true, value_hint = ValueHint::Other)]
    pub priority: Option<Preference>,

    /// Which configuration file counts.
    #[command(flatten)]
    pub file: FileArgs,
}

/// Which priority a candidate is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preference {
    /// The one that it was started with.
    Own,
    /// This one.
    Set(u32),
}

impl FromStr for Preference {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "own" {
            return Ok(Self::Own);
        }
        let number = text.parse().ok().filter(|number| *number <= MAX_PRIORITY);
        number.map(Self::Set).ok_or_else(|| format!("take 0 to {MAX_PRIORITY}, or own"))
    }
}

#[cfg(test)]
mod tests {
    use super::Preference;

    #[test]
    fn a_number_or_own() {
        assert_eq!("own".parse(), Ok(Preference::Own));
        assert_eq!("0".parse(), Ok(Preference::Set(0)));
        assert_eq!("1000000".parse(), Ok(Preference::Set(1_000_000)));
        for bad in ["", "1000001", "-1", "Own", "1.5"] {
            assert!(bad.parse::<Preference>().is_err(), "{bad}");
        }
    }
}

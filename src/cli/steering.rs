//! The arguments of what asks something of an election: `elect resign`, `pause`, `resume` and `priority`.

use std::str::FromStr;
use std::time::{Duration, SystemTime};

use clap::builder::BoolishValueParser;
use clap::{Args, ValueHint};

use super::help::{GENERAL, PAUSE_FOR};
use super::settings::{Layers, Overruled, Rivals};
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
  elect pause web --for 2h --reason upgrade    until then, or elect resume";

const PAUSE_MORE: &str = "\
A command that runs gets the signal that its elect run has for --signal, and all
the time that it takes (or its --stop-timeout). Whoever is next keeps its place
and starts nothing. Programs other than elect know of no pause:
they wait behind it, and one that leads goes on.

With --timeout 0 it is asked for, and not waited for. Without --for and --until
the pause lasts until elect resume. The last elect pause counts.

The end of --for or --until is one time, and each candidate compares it with its
own wall clock. A clock that is wrong ends the pause early or late there; never
do two lead. An older elect does not know of the end, and stays paused.

An election that has neither candidates nor a past is paused with --create only.

Exit codes:
  0    nobody leads
  75   the time of --timeout was over before; the pause stays
  125  failure: usage, configuration, the store; no such election";

/// The arguments of `elect pause`.
#[derive(Args, Debug)]
#[command(after_help = PAUSE_EXAMPLES, after_long_help = PAUSE_MORE)]
pub struct PauseArgs {
    /// What is asked for.
    #[command(flatten)]
    pub ask: AskArgs,

    /// End the pause after so long
    ///
    /// 90s, 15m, 2h; a bare number is seconds.
    #[arg(id = PAUSE_FOR, long = "for", env = "ELECT_FOR", value_name = "DUR", value_parser = parse_duration, allow_hyphen_values = true)]
    pub span: Option<Duration>,

    /// End the pause at this time: HH:MM in UTC, or RFC 3339
    ///
    /// 06:30 is the next one. With a date: 2026-12-31T06:30:00Z, or with an offset in place of Z, such as +01:00.
    #[arg(long, env = "ELECT_UNTIL", value_name = "TIME", value_hint = ValueHint::Other)]
    pub until: Option<PauseTime>,

    /// Pause an election that nobody has been in yet
    #[arg(long, env = "ELECT_CREATE", value_parser = BoolishValueParser::new())]
    pub create: bool,

    /// Which configuration file counts.
    #[command(flatten)]
    pub file: FileArgs,
}

impl PauseArgs {
    /// Drops the flag whose rival comes from a nearer layer, and says which.
    pub(super) fn settle(&mut self, layers: Layers<'_>) -> Result<Vec<Overruled>, Box<Rivals>> {
        if self.span.is_none() || self.until.is_none() {
            return Ok(Vec::new());
        }
        let overruled = layers.settle("for", "until")?;
        match overruled.flag {
            "for" => self.span = None,
            _ => self.until = None,
        }
        Ok(vec![overruled])
    }
}

/// A time at which a pause ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseTime {
    /// This instant.
    Instant(SystemTime),
    /// The next time that the clock shows this, so long after midnight in UTC.
    OfDay(Duration),
}

impl FromStr for PauseTime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let time = of_day(text).map(Self::OfDay).or_else(|| instant(text).map(Self::Instant));
        time.ok_or_else(|| {
            "write 06:30, which is in UTC, or 2026-12-31T06:30:00Z, or +01:00 in place of Z"
                .to_owned()
        })
    }
}

/// `HH:MM`, as time after midnight.
fn of_day(text: &str) -> Option<Duration> {
    let (hours, minutes) = text.split_once(':')?;
    let number = |text: &str, most: u64| {
        let is_plain = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u64>().ok().filter(|number| is_plain && *number <= most)
    };
    let minutes = number(hours, 23)? * 60 + number(minutes, 59)?;
    Some(Duration::from_secs(minutes * 60))
}

/// RFC 3339, with `Z` or an offset.
fn instant(text: &str) -> Option<SystemTime> {
    if let Ok(time) = humantime::parse_rfc3339(text) {
        return Some(time);
    }
    let (local, offset) = text.split_at_checked(text.len().checked_sub(6)?)?;
    let (sign, offset) = offset.split_at_checked(1)?;
    let (local, offset) = (humantime::parse_rfc3339(&format!("{local}Z")).ok()?, of_day(offset)?);
    match sign {
        "+" => local.checked_sub(offset),
        "-" => local.checked_add(offset),
        _ => None,
    }
}

const FORGET_EXAMPLES: &str = "\
Examples:
  elect forget nightly                      show what would be lost
  elect forget nightly --yes                remove it";

const FORGET_MORE: &str = "\
What is kept of an election is removed with its name: its history, the keys of
what is done once, its values, priorities, and with --fences its fences. Tokens
of an election of the same name rise all the same.

It is refused while somebody is in the election, and while that is paused. An
election with fences needs --fences: afterwards a token passes that is stale.

Exit codes:
  0    it is gone
  125  it is still there: without --yes; somebody is in it, it is paused, it has
       fences, or there is no such election; or usage, configuration, the store

Output:
  A line on stdout for each thing that would be lost, or is.";

/// The arguments of `elect forget`.
#[derive(Args, Debug)]
#[command(after_help = FORGET_EXAMPLES, after_long_help = FORGET_MORE)]
pub struct ForgetArgs {
    /// Which election, and where it is kept.
    #[command(flatten)]
    pub target: TargetArgs,

    /// Remove it, and do not only show what is kept
    #[arg(long, env = "ELECT_YES", value_parser = BoolishValueParser::new())]
    pub yes: bool,

    /// With --yes: though it has fences, which let a stale token pass then
    #[arg(long, env = "ELECT_FENCES", value_parser = BoolishValueParser::new())]
    pub fences: bool,

    /// Which configuration file counts.
    #[command(flatten)]
    pub file: FileArgs,
}

const RESUME_EXAMPLES: &str = "\
Examples:
  elect resume nightly                      whoever is next leads at once
  elect resume web -b etcd://a,b,c";

const RESUME_MORE: &str = "\
Output:
  A line on stdout: whether a pause was ended, or there was none.

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
resign, and that is waited for. Who drains the last candidate that may lead is
warned at once.

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
    use std::time::{Duration, UNIX_EPOCH};

    use super::{PauseTime, Preference};

    #[test]
    fn a_time_of_day_or_an_instant() {
        let of_day = |minutes: u64| Ok(PauseTime::OfDay(Duration::from_secs(minutes * 60)));
        assert_eq!("06:30".parse(), of_day(390));
        assert_eq!("23:59".parse(), of_day(1_439));
        let hour = Ok(PauseTime::Instant(UNIX_EPOCH + Duration::from_secs(3_600)));
        for same in
            ["1970-01-01T01:00:00Z", "1970-01-01T02:30:00+01:30", "1970-01-01T00:00:00-01:00"]
        {
            assert_eq!(same.parse(), hour, "{same}");
        }
        for bad in [
            "",
            "6:30",
            "24:00",
            "06:60",
            "06:30:00",
            "tomorrow",
            "1970-01-01",
            "1970-01-01T01:00:00",
            "+6:30",
        ] {
            assert!(bad.parse::<PauseTime>().is_err(), "{bad}");
        }
    }

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

//! The arguments of the subcommands that change an election: `forget`, `pause`, `priority`, `resign` and `resume`.

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

/// The heading for flags that go further than asking.
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

    /// With --force: remove a live leader too; two may run
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
The leader stops its command with its --signal, and waits until the command has
ended, or for its --stop-timeout. The next candidate keeps its place and starts
nothing. Programs other than elect know no pause: one that leads goes on, and one
that waits stays behind the candidate that keeps its place.

With --timeout 0 elect asks, and does not wait. Without --for and --until the
pause lasts until elect resume. The last elect pause counts.

Each candidate compares the end of the pause with its own wall clock. A clock that
is wrong ends the pause early or late there; two never lead. An older elect does
not know the end, and stays paused.

An election that has neither candidates nor a past needs --create.

Exit codes:
  0    nobody leads
  75   --timeout ran out first; the pause stays
  125  failure: usage, configuration, the store; unknown election";

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

    /// Pause an unknown election too
    ///
    /// An election that has neither candidates nor a past is most likely a typo, and its pause would last for good.
    #[arg(long, env = "ELECT_CREATE", value_parser = BoolishValueParser::new())]
    pub create: bool,

    /// Which configuration file counts.
    #[command(flatten)]
    pub file: FileArgs,
}

impl PauseArgs {
    /// Drops the flag whose rival comes from a nearer layer, and returns which one lost.
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

/// The time at which a pause ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseTime {
    /// This instant.
    Instant(SystemTime),
    /// The next time that the clock shows this time of day, as time after midnight in UTC.
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

/// Reads `HH:MM` as time after midnight.
fn of_day(text: &str) -> Option<Duration> {
    let (hours, minutes) = text.split_once(':')?;
    let number = |text: &str, most: u64| {
        let is_plain = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u64>().ok().filter(|number| is_plain && *number <= most)
    };
    let minutes = number(hours, 23)? * 60 + number(minutes, 59)?;
    Some(Duration::from_secs(minutes * 60))
}

/// Reads RFC 3339 with `Z` or an offset.
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
Without --yes elect shows what it would remove. With --yes it removes all that the
store keeps of the election: the history, the --once keys, values, priorities, and
with --fences the fences. Tokens of a new election of that name rise all the same.

elect refuses to forget an election that has candidates or is paused. One with
fences needs --fences: once a fence is gone, a stale token passes.

Exit codes:
  0    it is gone
  1    without --yes: nothing is removed
  125  failure: usage, configuration, the store; the election has candidates, is
       paused, has fences, or is unknown

Output:
  A line on stdout for each thing that is lost, or would be with --yes.";

/// The arguments of `elect forget`.
#[derive(Args, Debug)]
#[command(after_help = FORGET_EXAMPLES, after_long_help = FORGET_MORE)]
pub struct ForgetArgs {
    /// Which election, and where it is kept.
    #[command(flatten)]
    pub target: TargetArgs,

    /// Remove the election, not only show what is kept
    #[arg(long, env = "ELECT_YES", value_parser = BoolishValueParser::new())]
    pub yes: bool,

    /// With --yes: remove fences too; stale tokens pass then
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
ID is a whole id, as elect status shows it, or a label. A whole id is that of one
run of elect. A label is that of all candidates that have it, also of later ones.

A leader with priority 0 hands over in good order, as with elect resign, and elect
waits for that. It warns at once if no candidate is left that may lead.

Exit codes:
  0    the priority is set; a leader with priority 0 has handed over
  75   --timeout ran out first; the leader has been asked
  125  failure: usage, configuration, the store; no candidate has that ID";

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

/// The priority that a candidate should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preference {
    /// The priority with which it was started.
    Own,
    /// This priority.
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

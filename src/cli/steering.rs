//! The arguments of the subcommands that change an election: `forget`, `pause`, `priority`, `resign` and `resume`.

use std::str::FromStr;
use std::time::{Duration, SystemTime};

use clap::builder::BoolishValueParser;
use clap::{Args, ValueHint};

use super::help::{GENERAL, PAUSE_FOR};
use super::period::time_of_day;
use super::settings::{Layers, Overruled, Rivals};
use super::values::{MAX_PRIORITY, parse_duration};
use super::{FileArgs, TargetArgs};

/// The election that a request is for, and the longest wait for its effect.
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

/// The arguments of `elect resign`.
#[derive(Args, Debug)]
#[command(after_long_help = include_str!("help/resign.txt"))]
pub struct ResignArgs {
    /// The election and the longest wait.
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

/// The arguments of `elect pause`.
#[derive(Args, Debug)]
#[command(after_long_help = include_str!("help/pause.txt"))]
pub struct PauseArgs {
    /// The election and the longest wait.
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
    pub until: Option<PauseEnd>,

    /// Pause an unknown election too
    ///
    /// An election with neither candidates nor a past is most likely a typo. Its pause would last for good.
    #[arg(long, env = "ELECT_CREATE", value_parser = BoolishValueParser::new())]
    pub create: bool,

    /// Which configuration file counts.
    #[command(flatten)]
    pub file: FileArgs,
}

impl PauseArgs {
    /// Drops the flag whose rival comes from a nearer layer, and returns which one lost.
    pub(super) fn overrule(&mut self, layers: Layers<'_>) -> Result<Vec<Overruled>, Box<Rivals>> {
        if self.span.is_none() || self.until.is_none() {
            return Ok(Vec::new());
        }
        let span = ("for", || self.span = None);
        Ok(vec![layers.overrule(span, ("until", || self.until = None))?])
    }
}

/// The time at which a pause ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseEnd {
    /// This long after the request.
    After(Duration),
    /// This instant.
    Instant(SystemTime),
    /// The next time that the clock shows this time of day, as time after midnight in UTC.
    OfDay(Duration),
}

impl FromStr for PauseEnd {
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
    time_of_day(text).map(|seconds| Duration::from_secs(seconds.unsigned_abs()))
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

/// The arguments of `elect forget`.
#[derive(Args, Debug)]
#[command(after_long_help = include_str!("help/forget.txt"))]
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

/// The arguments of `elect resume`.
#[derive(Args, Debug)]
#[command(after_long_help = include_str!("help/resume.txt"))]
pub struct ResumeArgs {
    /// Which election, and where it is kept.
    #[command(flatten)]
    pub target: TargetArgs,

    /// Which configuration file counts.
    #[command(flatten)]
    pub file: FileArgs,
}

/// The arguments of `elect priority`.
#[derive(Args, Debug)]
#[command(after_long_help = include_str!("help/priority.txt"))]
pub struct PriorityArgs {
    /// The election and the longest wait.
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

    use super::{PauseEnd, Preference};

    #[test]
    fn a_time_of_day_or_an_instant() {
        let of_day = |minutes: u64| Ok(PauseEnd::OfDay(Duration::from_secs(minutes * 60)));
        assert_eq!("06:30".parse(), of_day(390));
        assert_eq!("23:59".parse(), of_day(1_439));
        let hour = Ok(PauseEnd::Instant(UNIX_EPOCH + Duration::from_secs(3_600)));
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
            assert!(bad.parse::<PauseEnd>().is_err(), "{bad}");
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

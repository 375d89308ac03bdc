//! This file reads the values of flags, and explains refused ones.

use crate::election::timing::LONGEST_TTL;
use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use nix::sys::signal::Signal;

pub use crate::guard::Containment;

/// The treatment of processes that the command leaves running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LeftoverChoice {
    /// The processes have a moment to end by themselves. Then they are asked to stop, then killed.
    #[value(help = "They get TERM after --leftover-grace, and KILL after -k")]
    Kill,
    /// The candidate keeps the lead until the processes have ended by themselves.
    #[value(help = "Leadership is kept until they have ended by themselves")]
    Wait,
}

impl ValueEnum for Containment {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()).help(match self {
            Self::Pidns => {
                "A pid namespace: nothing escapes, even if elect is killed; other process ids"
            }
            Self::Cgroup => "A cgroup: set-uid programs are killed, too",
            Self::Scan => "All descendants are found and killed, while elect or its guardian lives",
            Self::Group => "The command's process group is killed, and nothing else",
        }))
    }
}

/// The requested containment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContainmentChoice {
    /// The best containment that changes nothing that the command can see.
    Auto,
    /// This containment.
    Only(Containment),
}

impl ContainmentChoice {
    const ALL: [Self; 5] = {
        let [a, b, c, d] = Containment::ALL;
        [Self::Auto, Self::Only(a), Self::Only(b), Self::Only(c), Self::Only(d)]
    };

    /// Returns the requested containment; `None` for `auto`.
    pub const fn tier(self) -> Option<Containment> {
        match self {
            Self::Auto => None,
            Self::Only(containment) => Some(containment),
        }
    }
}

impl ValueEnum for ContainmentChoice {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::Auto => Some(
                PossibleValue::new("auto")
                    .help("The best that changes nothing the command can see"),
            ),
            Self::Only(containment) => containment.to_possible_value(),
        }
    }
}

/// The next step after leadership was lost and the command is dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AfterLoss {
    /// Exit with code 124.
    Exit,
    /// Take part again, and run the command anew once we lead.
    Campaign,
}

/// When a command that has ended is started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Restart {
    /// The run ends with the command.
    Never,
    /// When it has exited with another code than 0, or a signal has ended it.
    OnFailure,
    /// However it has ended.
    Always,
}

/// The shortest period of an action that repeats.
const LEAST_PERIOD: Duration = Duration::from_millis(10);

/// Reads a duration of at least 10 ms, so that nothing becomes a busy loop.
pub(super) fn parse_period(text: &str) -> Result<Duration, String> {
    match parse_duration(text)? {
        period if period < LEAST_PERIOD => Err("less than 10ms".to_owned()),
        period => Ok(period),
    }
}

/// Reads a limit, which is a duration as for [`parse_period`]. The way to have no limit is to give none.
pub(super) fn parse_limit(text: &str) -> Result<Duration, String> {
    match parse_duration(text)? {
        Duration::ZERO => Err("0 is not a limit; leave it out for no limit".to_owned()),
        _ => parse_period(text),
    }
}

/// The form of elect's own words on stderr.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// One line for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// The form of a report on stdout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// For people; may change.
    Table,
    /// For programs; stable.
    Json,
    /// For programs; the same keys as JSON.
    Yaml,
}

/// The longest accepted duration, ten years. A longer one is probably a mistake.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

const DURATION_EXAMPLES: &str =
    "write 500ms, 15s, 2m, 1h30m, or a number of seconds such as 30 or 0.5";

/// The greatest priority.
pub(super) const MAX_PRIORITY: u32 = 1_000_000;

/// Reads a duration in the usual forms: `500ms`, `15s`, `2m`, `1h30m`; a bare number is seconds.
///
/// # Errors
/// Returns a text with examples for the user, if the duration is negative, is not a number, or is above ten years.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let refuse = |why: &str| Err(format!("{why}; {DURATION_EXAMPLES}"));
    let is_bare = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let parsed = if is_bare {
        text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
    } else if text.starts_with('-') && !text[1..].starts_with(|c: char| c.is_ascii_digit()) {
        return refuse("the duration is missing");
    } else if text.starts_with('-') {
        return refuse("a duration cannot be negative");
    } else {
        humantime::parse_duration(text).ok()
    };
    match parsed {
        None => refuse("not a duration"),
        Some(duration) if duration > LONGEST => refuse("longer than ten years"),
        Some(duration) => Ok(duration),
    }
}

const SHORTEST_TTL: Duration = Duration::from_secs(1);
/// Reads the length of a lease: 1 second to 24 hours. The timing itself refuses a lease that is too short for it.
///
/// # Errors
/// Returns a text for the user, as [`parse_duration`] does.
pub(crate) fn parse_ttl(text: &str) -> Result<Duration, String> {
    match parse_duration(text)? {
        ttl if ttl < SHORTEST_TTL => {
            Err("a lease of less than 1s leaves no time to renew it; take 3.6s or more".to_owned())
        }
        ttl if ttl > LONGEST_TTL => Err("a lease takes 24 hours at most".to_owned()),
        ttl => Ok(ttl),
    }
}

/// Reads a share of one, as a fraction (`0.1`) or in percent (`10%`): at least 0 and below 1.
///
/// # Errors
/// Returns a text with examples for the user.
pub(crate) fn parse_share(text: &str) -> Result<f64, String> {
    let (number, whole) = match text.strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (text, 1.0),
    };
    let is_plain = number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let share = number.parse::<f64>().ok().filter(|_| is_plain).map(|share| share / whole);
    share
        .filter(|share| (0.0..1.0).contains(share))
        .ok_or_else(|| "not a share below one; write 0.1 or 10%".to_owned())
}

/// Reads a key of `--once`: 1 to 128 characters without control characters.
///
/// # Errors
/// Returns a text for the user.
pub(super) fn parse_once(text: &str) -> Result<String, String> {
    match text.chars().count() {
        0 => Err("an empty key says nothing; write one such as \"$(date +%F)\"".to_owned()),
        129.. => Err("a key has 128 characters at most".to_owned()),
        _ if text.contains(char::is_control) => {
            Err("a key is one line without control characters".to_owned())
        }
        _ => Ok(text.to_owned()),
    }
}

/// Reads a signal by its number, or by its name in any case, with or without `SIG`.
///
/// # Errors
/// Returns a text with examples for the user.
pub fn parse_signal(text: &str) -> Result<Signal, String> {
    let upper = text.to_ascii_uppercase();
    let by_name =
        || Signal::from_str(&format!("SIG{}", upper.strip_prefix("SIG").unwrap_or(&upper))).ok();
    let by_number = || text.parse::<i32>().ok().and_then(|number| Signal::try_from(number).ok());
    by_name()
        .or_else(by_number)
        .ok_or_else(|| "no such signal; write TERM, SIGTERM or 15".to_owned())
}

/// Returns a parser for whole numbers of this range in decimal digits. Its error states the range.
pub(super) fn whole<T>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: FromStr + Clone + Send + Sync + 'static,
{
    move |text| {
        let is_in_range = text.parse().is_ok_and(|number| range.contains(&number));
        text.parse()
            .ok()
            .filter(|_| is_in_range)
            .ok_or_else(|| format!("take a whole number from {} to {}", range.start(), range.end()))
    }
}

#[cfg(test)]
mod values_tests {
    use std::time::Duration;

    use nix::sys::signal::Signal;

    use super::{
        parse_duration, parse_limit, parse_once, parse_period, parse_share, parse_signal, parse_ttl,
    };

    #[test]
    fn periods_are_no_busy_loops() {
        assert!(parse_period("10ms").is_ok());
        assert!(parse_limit("0").unwrap_err().contains("leave it out"));
        assert!(parse_limit("1ms").is_err() && parse_limit("10ms").is_ok());
        assert!(parse_duration("--").unwrap_err().contains("missing"));
        assert!(parse_period("0").is_err() && parse_period("soon").is_err());
    }

    #[test]
    fn durations_as_people_write_them() {
        for (text, millis) in [
            ("500ms", 500),
            ("15s", 15_000),
            ("2m", 120_000),
            ("1h30m", 5_400_000),
            ("1.5s", 1_500),
            ("0", 0),
            ("30", 30_000),
            ("0.5", 500),
            ("315360000", 315_360_000_000),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn refused_durations_show_a_valid_one() {
        for text in [
            "",
            " ",
            "-1",
            "-5s",
            "s",
            "NaN",
            "inf",
            "1e9",
            "0x10",
            "1..2",
            ".",
            "5 parsecs",
            "11years",
            "99999999999999999999",
        ] {
            let refusal = parse_duration(text).unwrap_err();
            assert!(refusal.contains("500ms, 15s"), "{text}: {refusal}");
        }
    }

    #[test]
    fn shares_as_fractions_and_in_percent() {
        for (text, share) in [("0.1", 0.1), ("10%", 0.1), ("0", 0.0), ("99.5%", 0.995)] {
            assert_eq!(parse_share(text), Ok(share), "{text}");
        }
        for text in ["", "%", "1", "100%", "10", "-1%", "+1%", "NaN", "1e-1", "ten"] {
            assert!(parse_share(text).is_err_and(|why| why.contains("10%")), "{text}");
        }
    }

    #[test]
    fn keys_say_something_on_one_line() {
        for text in ["2026-11-21", " ", "a b/c\"\u{FC}", &"\u{FC}".repeat(128)] {
            assert_eq!(parse_once(text).as_deref(), Ok(text));
        }
        for text in ["", "a\n", "\u{0}", &"x".repeat(129)] {
            assert!(parse_once(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn leases_of_a_sensible_length() {
        for text in ["1s", "15", "24h"] {
            assert!(parse_ttl(text).is_ok(), "{text}");
        }
        for text in ["0", "999ms", "25h", "-5s", "soon"] {
            assert!(parse_ttl(text).is_err(), "{text}");
        }
    }

    #[test]
    fn signals_by_name_and_number() {
        for text in ["TERM", "SIGTERM", "15", "term", "sigterm"] {
            assert_eq!(parse_signal(text), Ok(Signal::SIGTERM), "{text}");
        }
        assert_eq!(parse_signal("USR1"), Ok(Signal::SIGUSR1));
        for text in ["", "0", "-15", "TERMINATE", "SIG", "SIGSIGTERM", "99", "15.0"] {
            assert!(parse_signal(text).is_err(), "{text}");
        }
    }
}

#[cfg(test)]
mod number_tests {
    use super::whole;

    #[test]
    fn numbers_of_a_range() {
        let read = whole::<u8>(1..=255);
        assert_eq!((read("1"), read("255")), (Ok(1), Ok(255)));
        for text in ["", "0", "256", "-1", "1.5", "0x10", "ten", "99999999999999999999"] {
            let refusal = read(text).unwrap_err();
            assert_eq!(refusal, "take a whole number from 1 to 255", "{text}");
        }
        assert_eq!(whole::<u64>(0..=u64::MAX)("18446744073709551615"), Ok(u64::MAX));
    }
}

/// A command in one text, as in a variable or a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine(Vec<OsString>);

/// Operators that only a shell understands. A user who writes one as a word expects a shell.
const SHELL_WORDS: [&str; 8] = ["&&", "||", "|", ";", "&", ">", ">>", "<"];

impl CommandLine {
    /// Returns the program and its arguments.
    pub fn words(&self) -> &[OsString] {
        &self.0
    }
}

impl FromStr for CommandLine {
    type Err = String;

    /// Splits a text into words as a shell does, with its quotes and backslashes and nothing else. Refuses a flag in
    /// place of the program, because the text was meant as a flag.
    fn from_str(text: &str) -> Result<Self, String> {
        let words = shlex::split(text).ok_or("a quote or a backslash at the end is open")?;
        if let Some(flag) = words.first().filter(|word| word.starts_with('-')) {
            return Err(format!("{flag} is no command"));
        }
        match words.iter().find(|word| SHELL_WORDS.contains(&word.as_str())) {
            _ if words.is_empty() => Err("there is no command in it".to_owned()),
            Some(word) => {
                Err(format!("no shell reads this, which would know {word}; write sh -c '...'"))
            }
            None => Ok(Self(words.into_iter().map(OsString::from).collect())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CommandLine;

    #[test]
    fn commands_are_split_as_a_shell_does() {
        let words = |text: &str| text.parse::<CommandLine>().map(|command| command.0);
        assert_eq!(words("test -e '/a b'").unwrap(), ["test", "-e", "/a b"]);
        assert_eq!(words("sh -c 'a && b'").unwrap(), ["sh", "-c", "a && b"]);
        for bad in ["", "  ", "echo 'a", "curl -f localhost || exit 1", "a | b", "--", "-v"] {
            assert!(words(bad).is_err(), "{bad}");
        }
        assert!(words("a || b").unwrap_err().contains("sh -c"));
    }
}

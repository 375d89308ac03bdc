//! This file has the ways in which elect ends, their exit codes, and the file of `--outcome`.

use std::path::Path;

use elect_api::{ElectionName, Token};
use nix::sys::signal::Signal;
use serde::Serialize;

/// The result of one `elect run`, with the documented and stable keys of the file of `--outcome`.
#[derive(Clone, Debug, Serialize)]
pub struct OutcomeRecord<'a> {
    /// The [name](Outcome::name) of the way in which it ended.
    pub outcome: &'static str,
    /// The exit code of elect.
    pub exit_code: u8,
    /// The election.
    pub election: &'a ElectionName,
    /// The id of this candidate, if it has joined.
    pub id: Option<&'a str>,
    /// The fencing token of the last leadership, if the candidate ever led.
    pub token: Option<Token>,
    /// The slot of that leadership, if the election has slots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<u16>,
    /// The reason in words for people; the words may change.
    pub reason: &'a str,
    /// The time at which elect was started, in RFC 3339.
    pub started: String,
    /// The time at which it ended, in RFC 3339.
    pub ended: String,
}

impl OutcomeRecord<'_> {
    /// Returns the content of the file. Until elect ends, the file is empty.
    pub fn line(&self) -> String {
        // The record is text, numbers and null, so its JSON cannot fail.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }
}

/// The exit code for a leadership that was lost.
pub const LOST: u8 = 124;
/// The exit code for a leadership that was not acquired, unless `-E` sets another.
pub const NOT_ACQUIRED: u8 = 75;
/// The exit code for elect's own failures.
pub const FAILED: u8 = 125;
/// The exit code for a command that cannot be executed.
pub const NOT_EXECUTABLE: u8 = 126;
/// The exit code for a command that was not found.
pub const NOT_FOUND: u8 = 127;

/// The way in which one `elect run` ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The command ended with this exit code, which elect returns, too.
    Exited(u8),
    /// This signal ended the command. The exit code is 128 + its number.
    Signaled(i32),
    /// `--max-run` stopped the command. This is the resulting exit code.
    MaxRun(u8),
    /// The key of `--once` was done already: 0.
    AlreadyDone,
    /// Leadership was lost while the command ran: [`LOST`].
    Lost,
    /// Leadership was given up on request, and the command was stopped: [`LOST`].
    SteppedDown,
    /// Another candidate leads, the election is paused, or our priority is 0, and elect did not have to wait or has
    /// waited long enough. The exit code is [`NOT_ACQUIRED`], or that of `-E`.
    NotAcquired,
    /// The key of `--once` has had as many runs as `--once-attempts` permits: [`NOT_ACQUIRED`], or the code of `-E`.
    AttemptsUsedUp,
    /// elect itself failed: [`FAILED`].
    Failed,
    /// The command is there but cannot be executed: [`NOT_EXECUTABLE`].
    NotExecutable,
    /// There is no such command: [`NOT_FOUND`].
    NotFound,
    /// This signal made elect leave the queue before the command was started. The exit code is 128 + its number.
    Interrupted(i32),
}

impl Outcome {
    /// Returns the outcome when a command cannot be started, for this errno of its execution.
    pub const fn not_started(errno: i32) -> Self {
        match errno {
            libc::ENOENT | libc::ENOTDIR => Self::NotFound,
            libc::EAGAIN | libc::ENOMEM | libc::EMFILE | libc::ENFILE => Self::Failed,
            _ => Self::NotExecutable,
        }
    }

    /// Returns an explanation of an errno that people often misread.
    pub fn hint(self, program: &str) -> String {
        match self {
            Self::NotFound if !program.contains('/') => " (in no folder of PATH)".to_owned(),
            Self::NotFound if Path::new(program).exists() => {
                " (the file exists; the interpreter in its #! line does not)".to_owned()
            }
            Self::NotExecutable if program.contains('/') && Path::new(program).is_dir() => {
                " (it is a directory)".to_owned()
            }
            // The folder is shown because crontabs and units start in another folder than the user's shell.
            Self::NotFound if Path::new(program).is_relative() => {
                let folder = std::env::current_dir();
                folder.map_or_else(|_| String::new(), |it| format!(" (from {})", it.display()))
            }
            _ => String::new(),
        }
    }

    /// Returns elect's exit code. `conflict` is the code that `-E` sets for [`Outcome::NotAcquired`].
    pub fn exit_code(self, conflict: u8) -> u8 {
        match self {
            Self::Exited(code) | Self::MaxRun(code) => code,
            Self::Signaled(signal) | Self::Interrupted(signal) => {
                u8::try_from(signal.saturating_add(128)).unwrap_or(u8::MAX)
            }
            Self::AlreadyDone => 0,
            Self::Lost | Self::SteppedDown => LOST,
            Self::NotAcquired | Self::AttemptsUsedUp => conflict,
            Self::Failed => FAILED,
            Self::NotExecutable => NOT_EXECUTABLE,
            Self::NotFound => NOT_FOUND,
        }
    }

    /// Returns the signal by which elect should end itself, where it can. Shells look at how a program ended, to see
    /// whether INT was meant for the script or loop around it.
    pub const fn own_signal(self) -> Option<Signal> {
        match self {
            Self::Signaled(libc::SIGINT) | Self::Interrupted(libc::SIGINT) => Some(Signal::SIGINT),
            Self::Signaled(libc::SIGQUIT) | Self::Interrupted(libc::SIGQUIT) => {
                Some(Signal::SIGQUIT)
            }
            _ => None,
        }
    }

    /// Returns the name in the file of `--outcome`; stable.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exited(_) => "exited",
            Self::Signaled(_) => "signaled",
            Self::MaxRun(_) => "max_run",
            Self::AlreadyDone => "already_done",
            Self::Lost => "lost",
            Self::SteppedDown => "stepped_down",
            Self::NotAcquired => "not_acquired",
            Self::AttemptsUsedUp => "attempts_used_up",
            Self::Failed => "failed",
            Self::NotExecutable => "not_executable",
            Self::NotFound => "not_found",
            Self::Interrupted(_) => "interrupted",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;
    use std::time::{Duration, UNIX_EPOCH};

    use elect_api::{ElectionName, Token};
    use elect_system::path::Output;
    use nix::sys::stat::Mode;

    use super::{Outcome, OutcomeRecord};
    use crate::report::rfc3339;

    /// A temporary directory for one test, removed at its end.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(test: &str) -> Self {
            let dir =
                std::env::temp_dir().join(format!("elect-outcome-{test}-{}", std::process::id()));
            fs::create_dir(&dir).unwrap();
            Self(dir)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn record(election: &ElectionName) -> OutcomeRecord<'_> {
        OutcomeRecord {
            outcome: Outcome::Signaled(15).name(),
            exit_code: 143,
            election,
            id: Some("me-1"),
            token: Some(Token::new(7)),
            slot: None,
            reason: "SIGTERM ended the command",
            started: rfc3339(UNIX_EPOCH),
            ended: rfc3339(UNIX_EPOCH + Duration::from_millis(1_500)),
        }
    }

    #[test]
    fn the_keys_are_stable() {
        let dir = Scratch::new("keys");
        let path = dir.0.join("out.json");
        fs::write(&path, "an older and much longer text ".repeat(50)).unwrap();
        let file = Output::create(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "");
        let election = "job".parse().unwrap();
        file.write(record(&election).line().as_bytes()).unwrap();
        file.write(record(&election).line().as_bytes()).unwrap();
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "{\"outcome\":\"signaled\",\"exit_code\":143,\"election\":\"job\",\"id\":\"me-1\",\"token\":7,\
             \"reason\":\"SIGTERM ended the command\",\"started\":\"1970-01-01T00:00:00.000Z\",\
             \"ended\":\"1970-01-01T00:00:01.500Z\"}\n"
        );
    }

    #[test]
    fn no_link_leads_astray() {
        let dir = Scratch::new("links");
        let victim = dir.0.join("victim");
        fs::write(&victim, "precious").unwrap();
        symlink(&victim, dir.0.join("soft")).unwrap();
        fs::hard_link(&victim, dir.0.join("hard")).unwrap();
        assert!(Output::create(&dir.0.join("soft")).is_err());
        assert!(Output::create(&dir.0.join("hard")).is_err());
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    }

    #[test]
    fn an_output_that_cannot_be_written_is_refused_at_once() {
        let dir = Scratch::new("refused");
        nix::unistd::mkfifo(&dir.0.join("fifo"), Mode::S_IRWXU).unwrap();
        assert!(Output::create(&dir.0.join("fifo")).is_err());
        assert!(Output::create(&dir.0).is_err());
        assert!(Output::create(&dir.0.join("none/out.json")).is_err());
        assert!(Output::create(std::path::Path::new("/dev/null")).is_ok());
    }
}

#[cfg(test)]
mod exit_tests {
    use super::{NOT_ACQUIRED, Outcome, Signal};

    #[test]
    fn exit_codes() {
        for (outcome, code) in [
            (Outcome::Exited(0), 0),
            (Outcome::Exited(255), 255),
            (Outcome::Signaled(15), 143),
            (Outcome::Signaled(64), 192),
            (Outcome::MaxRun(143), 143),
            (Outcome::AlreadyDone, 0),
            (Outcome::Lost, 124),
            (Outcome::SteppedDown, 124),
            (Outcome::NotAcquired, 75),
            (Outcome::Failed, 125),
            (Outcome::NotExecutable, 126),
            (Outcome::NotFound, 127),
            (Outcome::Interrupted(2), 130),
        ] {
            assert_eq!(outcome.exit_code(NOT_ACQUIRED), code, "{outcome:?}");
        }
    }

    #[test]
    fn elect_ends_by_the_signals_that_shells_look_at() {
        for outcome in [Outcome::Signaled(2), Outcome::Interrupted(2)] {
            assert_eq!(outcome.own_signal(), Some(Signal::SIGINT));
        }
        assert_eq!(Outcome::Signaled(3).own_signal(), Some(Signal::SIGQUIT));
        let others =
            [Outcome::Signaled(15), Outcome::Exited(130), Outcome::MaxRun(130), Outcome::Lost];
        for outcome in others {
            assert_eq!(outcome.own_signal(), None);
        }
    }

    #[test]
    fn only_a_conflict_heeds_the_flag() {
        assert_eq!(Outcome::NotAcquired.exit_code(9), 9);
        assert_eq!(Outcome::NotAcquired.exit_code(0), 0);
        assert_eq!(Outcome::Exited(75).exit_code(9), 75);
    }
}

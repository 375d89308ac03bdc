//! How elect ends: as what, with which exit code, and what the file of `--outcome` says of it.

use std::io;
use std::path::Path;
use std::time::SystemTime;

use elect_api::path::Output;
use elect_api::{ElectionName, Token};
use nix::sys::signal::Signal;
use serde::Serialize;

use super::rfc3339;

/// The file of `--outcome`: open from the start, written once at the end.
///
/// It stays empty until then; so an empty file means that elect is still at work, or was killed.
#[derive(Debug)]
pub struct OutcomeFile {
    output: Output,
}

/// What happened in one `elect run`.
#[derive(Clone, Debug)]
pub struct OutcomeRecord<'a> {
    /// How it ended.
    pub outcome: Outcome,
    /// The exit code of elect.
    pub exit_code: u8,
    /// The election.
    pub election: &'a ElectionName,
    /// The id of our candidate, once there was one.
    pub id: Option<&'a str>,
    /// The fencing token of our last leadership, if we ever led.
    pub token: Option<Token>,
    /// In which slot of the election that was, if it has slots.
    pub slot: Option<u16>,
    /// Why, in words for people; they may change.
    pub reason: &'a str,
    /// When elect was started.
    pub started: SystemTime,
    /// When it ended.
    pub ended: SystemTime,
}

/// The keys of the file, documented and stable.
#[derive(Serialize)]
struct Keys<'a> {
    outcome: &'static str,
    exit_code: u8,
    election: &'a str,
    id: Option<&'a str>,
    token: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    slot: Option<u16>,
    reason: &'a str,
    started: String,
    ended: String,
}

impl OutcomeFile {
    /// Creates the file, or empties it, so that a path that cannot be written is refused early: see
    /// [`Output::create`].
    ///
    /// # Errors
    /// As there.
    pub fn create(path: &Path) -> io::Result<Self> {
        Ok(Self { output: Output::create(path)? })
    }

    /// Where the file is, as it was given.
    pub fn path(&self) -> &Path {
        self.output.path()
    }

    /// Writes what happened.
    ///
    /// # Errors
    /// What kept it from being written; the file may then hold a part of it.
    pub fn write(&self, record: &OutcomeRecord<'_>) -> io::Result<()> {
        self.output.write(render(record).as_bytes())
    }
}

fn render(record: &OutcomeRecord<'_>) -> String {
    let keys = Keys {
        outcome: record.outcome.name(),
        exit_code: record.exit_code,
        election: record.election.as_str(),
        id: record.id,
        token: record.token.map(Token::get),
        slot: record.slot,
        reason: record.reason,
        started: rfc3339(record.started),
        ended: rfc3339(record.ended),
    };
    // Text, numbers and null: there is nothing in it that JSON cannot say.
    let mut line = serde_json::to_string(&keys).unwrap_or_default();
    line.push('\n');
    line
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

/// How one `elect run` ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The command ended with this exit code, which is elect's own too.
    Exited(u8),
    /// This signal ended the command: 128 + its number.
    Signaled(i32),
    /// The command was stopped as `--max-run` says, and this is the exit code that its end makes.
    MaxRun(u8),
    /// What `--once` names was done already: 0.
    AlreadyDone,
    /// Leadership was lost while the command ran: [`LOST`].
    Lost,
    /// Leadership was given up as somebody asked for that, and the command was stopped: [`LOST`].
    SteppedDown,
    /// Another candidate leads, the election is paused or our priority is 0, and waiting was not asked for or is over:
    /// [`NOT_ACQUIRED`], or `-E`.
    NotAcquired,
    /// There were as many runs of what `--once` names as `--once-attempts` permits: [`NOT_ACQUIRED`], or `-E`.
    AttemptsUsedUp,
    /// elect itself failed: [`FAILED`].
    Failed,
    /// The command is there but cannot be executed: [`NOT_EXECUTABLE`].
    NotExecutable,
    /// There is no such command: [`NOT_FOUND`].
    NotFound,
    /// This signal made elect leave the queue before the command was started: 128 + its number.
    Interrupted(i32),
}

impl Outcome {
    /// What it comes to that a command could not be started, for this errno of its execution.
    pub const fn not_started(errno: i32) -> Self {
        match errno {
            libc::ENOENT | libc::ENOTDIR => Self::NotFound,
            libc::EAGAIN | libc::ENOMEM | libc::EMFILE | libc::ENFILE => Self::Failed,
            _ => Self::NotExecutable,
        }
    }

    /// What is behind an errno of a program's execution that people take for something else.
    pub fn hint(self, program: &str) -> String {
        match self {
            Self::NotFound if !program.contains('/') => " (in no folder of PATH)".to_owned(),
            Self::NotFound if Path::new(program).exists() => {
                " (the file is there; what its first line names to run it is not)".to_owned()
            }
            // Where a crontab or a unit starts it is not where people have tried it.
            Self::NotFound if Path::new(program).is_relative() => {
                let folder = std::env::current_dir();
                folder.map_or_else(|_| String::new(), |it| format!(" (from {})", it.display()))
            }
            _ => String::new(),
        }
    }

    /// The exit code of elect, where `conflict` is what `-E` says about [`Outcome::NotAcquired`].
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

    /// The signal that elect is to end by itself, where it can: shells look at how a program ended to know
    /// whether INT was meant for the script, or the loop, around it.
    pub const fn own_signal(self) -> Option<Signal> {
        match self {
            Self::Signaled(libc::SIGINT) | Self::Interrupted(libc::SIGINT) => Some(Signal::SIGINT),
            Self::Signaled(libc::SIGQUIT) | Self::Interrupted(libc::SIGQUIT) => {
                Some(Signal::SIGQUIT)
            }
            _ => None,
        }
    }

    /// The name that `--outcome` writes; stable.
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
    use nix::sys::stat::Mode;

    use super::{Outcome, OutcomeFile, OutcomeRecord};

    /// A directory of its own for one test, removed with it.
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
            outcome: Outcome::Signaled(15),
            exit_code: 143,
            election,
            id: Some("me-1"),
            token: Some(Token::new(7)),
            slot: None,
            reason: "SIGTERM ended the command",
            started: UNIX_EPOCH,
            ended: UNIX_EPOCH + Duration::from_millis(1_500),
        }
    }

    #[test]
    fn the_keys_are_stable() {
        let dir = Scratch::new("keys");
        let path = dir.0.join("out.json");
        fs::write(&path, "an older and much longer text ".repeat(50)).unwrap();
        let file = OutcomeFile::create(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "");
        let election = "job".parse().unwrap();
        file.write(&record(&election)).unwrap();
        file.write(&record(&election)).unwrap();
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
        assert!(OutcomeFile::create(&dir.0.join("soft")).is_err());
        assert!(OutcomeFile::create(&dir.0.join("hard")).is_err());
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    }

    #[test]
    fn what_cannot_be_written_is_refused_at_once() {
        let dir = Scratch::new("refused");
        nix::unistd::mkfifo(&dir.0.join("fifo"), Mode::S_IRWXU).unwrap();
        assert!(OutcomeFile::create(&dir.0.join("fifo")).is_err());
        assert!(OutcomeFile::create(&dir.0).is_err());
        assert!(OutcomeFile::create(&dir.0.join("none/out.json")).is_err());
        assert!(OutcomeFile::create(std::path::Path::new("/dev/null")).is_ok());
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

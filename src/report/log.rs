use std::error::Error;
use std::fmt::{Display, Write as _};
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use anstream::{AutoStream, ColorChoice};
use clap::builder::styling::{AnsiColor, Style};
use elect_api::{ElectionName, Token};
use indicatif::ProgressBar;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::fstat;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{FAILED, escape, rfc3339};
use crate::config::{ConfigError, LogFormat, Verbosity};

/// The longest message, in bytes. With its fields, a line stays below `PIPE_BUF`. A pipe with any room takes a write of
/// up to that size whole.
const MESSAGE_MAX: usize = 2048;

/// The remark about a store that is used because the user has named none.
const BY_DEFAULT: &str = " (the default: no -b, no ELECT_BACKEND, no key in a configuration file)";

/// The importance of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// elect cannot go on.
    Error,
    /// elect goes on, but people should know.
    Warn,
    /// An event of normal operation.
    Info,
    /// A detail of elect's inner work.
    Debug,
}

/// The machine-readable part of a line, for programs that read the JSON form. The text form does not show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LogEvent {
    /// The name of the event, if it has one; stable.
    #[serde(rename = "event", skip_serializing_if = "Option::is_none")]
    pub name: Option<&'static str>,
    /// The token of the leadership that the event is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<u64>,
    /// The exit code that elect ends with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<u8>,
}

impl LogEvent {
    /// A failure of elect itself.
    pub const FAILED: Self = Self { exit_code: Some(FAILED), ..Self::named("failed") };

    /// Returns the event of this name.
    pub const fn named(name: &'static str) -> Self {
        Self { name: Some(name), token: None, exit_code: None }
    }

    /// Adds the token of the leadership that the event is about.
    #[must_use]
    pub fn with_token(self, token: Option<Token>) -> Self {
        Self { token: token.map(Token::get), ..self }
    }

    /// Returns whether the event says that the candidate waits or leads.
    fn is_turn(self) -> bool {
        matches!(self.name, Some("waiting" | "leading"))
    }
}

/// elect's own messages on stderr: one line and one `write(2)` for each.
///
/// A line that cannot be written at once is lost. A reader that leaves stderr unread, or closes it, must not keep elect
/// from renewing a lease. Clones share one terminal line.
#[derive(Clone, Debug)]
pub struct Log {
    threshold: Level,
    format: LogFormat,
    election: Option<String>,
    /// The id of this candidate, which the JSON form names in every line.
    candidate: Option<String>,
    is_of_default_store: bool,
    /// True if the log also says off a terminal whether the candidate waits or leads.
    tells_turns: bool,
    /// True if stderr is a terminal on which a line may be redrawn in place.
    is_terminal: bool,
    clock: fn() -> SystemTime,
    /// The progress line. It is hidden while a log line is written, and drawn again afterwards.
    line: Arc<Mutex<Option<ProgressBar>>>,
}

impl Log {
    /// Creates a log with this verbosity and format. `clock` stamps the lines of the JSON form.
    pub fn new(verbosity: Verbosity, format: LogFormat, clock: fn() -> SystemTime) -> Self {
        let has_terminal = io::stderr().is_terminal();
        // A pipe on stdout may lead to a pager, whose screen log lines would spoil.
        let is_terminal = has_terminal && !is_pipe(io::stdout().as_fd());
        let threshold = match verbosity {
            Verbosity::Quiet => Level::Error,
            Verbosity::Normal if has_terminal && io::stdout().is_terminal() => Level::Info,
            Verbosity::Normal => Level::Warn,
            Verbosity::Verbose => Level::Debug,
        };
        Self {
            threshold,
            format,
            election: None,
            candidate: None,
            is_of_default_store: false,
            tells_turns: false,
            is_terminal,
            clock,
            line: Arc::default(),
        }
    }

    /// Returns the same log for a default store, which [`Log::place`] names as the default.
    #[must_use]
    pub fn of_default_store(&self) -> Self {
        self.altered(|log| log.is_of_default_store = true)
    }

    /// Returns whether the store is the default because the user has named none.
    pub fn is_of_default_store(&self) -> bool {
        self.is_of_default_store
    }

    /// Returns the store's location for people. For the default store, adds that it is the default.
    pub fn place(&self, location: &str) -> String {
        let default = if self.is_of_default_store { BY_DEFAULT } else { "" };
        escape(location) + default
    }

    /// Returns the same log, which names this election in every line.
    #[must_use]
    pub fn about(&self, election: &ElectionName) -> Self {
        self.named(election, self.is_terminal)
    }

    /// Returns the same log for one of several elections at once, for which no progress is drawn.
    #[must_use]
    pub fn about_one_of_many(&self, election: &ElectionName) -> Self {
        self.named(election, false)
    }

    fn named(&self, election: &ElectionName, is_terminal: bool) -> Self {
        let election = Some(election.as_str().to_owned());
        self.altered(|log| (log.election, log.is_terminal) = (election, is_terminal))
    }

    /// Returns the same log, which names this candidate in every line of the JSON form.
    #[must_use]
    pub fn of_candidate(&self, id: &str) -> Self {
        self.altered(|log| log.candidate = Some(id.to_owned()))
    }

    /// Returns the same log for a candidate that stands by. If elect is the first process of a container, people see
    /// only its log. There the log says whether the candidate waits or leads, unless it is quiet.
    #[must_use]
    pub fn telling_turns(&self) -> Self {
        self.altered(|log| log.tells_turns = std::process::id() == 1)
    }

    fn altered(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut log = Self { line: Arc::default(), ..self.clone() };
        change(&mut log);
        log
    }

    /// Logs an error: elect cannot go on.
    pub fn error(&self, message: impl Display) {
        self.say(Level::Error, message, &[]);
    }

    /// Logs a warning.
    pub fn warn(&self, message: impl Display) {
        self.say(Level::Warn, message, &[]);
    }

    /// Logs an event of normal operation.
    pub fn info(&self, message: impl Display) {
        self.say(Level::Info, message, &[]);
    }

    /// Logs a detail of elect's inner work.
    pub fn debug(&self, message: impl Display) {
        self.say(Level::Debug, message, &[]);
    }

    /// Logs a message with more fields. They are keys of the JSON form, and stand in brackets at the end of the text
    /// form.
    pub fn say(&self, level: Level, message: impl Display, fields: &[(&'static str, Value)]) {
        self.event(level, LogEvent::default(), message, fields);
    }

    /// Logs a named event, for programs that read the JSON form.
    pub fn event(
        &self,
        level: Level,
        event: LogEvent,
        message: impl Display,
        fields: &[(&'static str, Value)],
    ) {
        let is_turn = level == Level::Info && event.is_turn();
        if !(self.tells(level) || is_turn && self.tells_turns()) {
            return;
        }
        let message = shorten(message.to_string(), MESSAGE_MAX, "…");
        let election = self.election.as_deref();
        let line = match self.format {
            LogFormat::Text => text_line(level, colours(), &message, election, fields),
            LogFormat::Json => {
                let id = self.candidate.as_deref();
                json_line((self.clock)(), level, event, (election, id), &message, fields)
            }
        };
        match &*self.line() {
            Some(bar) if is_writable(io::stderr().as_fd()) => {
                bar.suspend(|| write_line(io::stderr().as_fd(), &line));
            }
            _ => write_line(io::stderr().as_fd(), &line),
        }
    }

    /// Returns whether the log says whether the candidate waits or leads, even where it does not show other events of
    /// that level.
    pub fn tells_turns(&self) -> bool {
        self.tells_turns && self.tells(Level::Warn)
    }

    /// Logs an error with its chain of causes, and with a hint if there is one.
    pub fn failure(&self, error: &anyhow::Error) {
        let hint = error
            .chain()
            .find_map(|cause| cause.downcast_ref::<ConfigError>())
            .and_then(ConfigError::hint);
        let say = |message: &dyn Display, fields: &[_]| {
            self.event(Level::Error, LogEvent::FAILED, message, fields);
        };
        let what = chain(error.as_ref());
        match (hint, self.format) {
            (None, _) => say(&what, &[]),
            (Some(hint), LogFormat::Json) => say(&what, &[("hint", hint.into())]),
            (Some(hint), LogFormat::Text) => say(&format_args!("{what}; {hint}"), &[]),
        }
    }

    /// Returns whether lines of this level are written.
    pub fn tells(&self, level: Level) -> bool {
        level <= self.threshold
    }

    /// Returns the election that every line names.
    pub(super) fn election(&self) -> Option<&str> {
        self.election.as_deref()
    }

    /// Returns whether progress lines are wanted on stderr.
    pub(super) fn wants_progress(&self) -> bool {
        self.is_terminal && self.threshold >= Level::Warn && self.format == LogFormat::Text
    }

    /// Returns the slot of the progress line.
    pub(super) fn line(&self) -> MutexGuard<'_, Option<ProgressBar>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the error and its causes in one line. Leaves out a cause that the text before it already contains.
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    for cause in causes.map(ToString::to_string) {
        if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    text
}

/// Returns the message of the last cause of an error.
pub fn root(error: &(dyn Error + 'static)) -> String {
    let all = std::iter::successors(Some(error), |&error| error.source());
    all.last().map(ToString::to_string).unwrap_or_default()
}

/// Cuts a text that has more than `most` bytes, and puts the sign at its end.
pub(super) fn shorten(mut text: String, most: usize, sign: &str) -> String {
    if text.len() > most {
        let cut = (0..=most).rev().find(|&at| text.is_char_boundary(at));
        text.truncate(cut.unwrap_or(0));
        text.push_str(sign);
    }
    text
}

/// Returns whether stderr gets colours: on a terminal that is not dumb, unless `NO_COLOR` or `CLICOLOR` forbids them.
/// `CLICOLOR_FORCE` forces colours everywhere.
fn colours() -> bool {
    AutoStream::choice(&io::stderr()) != ColorChoice::Never
}

fn text_line(
    level: Level,
    colours: bool,
    message: &str,
    election: Option<&str>,
    fields: &[(&'static str, Value)],
) -> String {
    let (prefix, colour) = match level {
        Level::Error => ("error: ", AnsiColor::Red),
        Level::Warn => ("warning: ", AnsiColor::Yellow),
        Level::Info | Level::Debug => ("", AnsiColor::White),
    };
    let is_plain = !colours || prefix.is_empty();
    let style = if is_plain { Style::new() } else { colour.on_default().bold() };
    let mut line = format!("elect: {style}{prefix}{style:#}{}", escape(message));
    let election = election.map(|name| ("election", Value::from(name)));
    for (i, (key, value)) in election.iter().chain(fields).enumerate() {
        let opening = if i == 0 { " (" } else { ", " };
        let value = value.as_str().map_or_else(|| value.to_string(), escape);
        // Writing to a String cannot fail.
        let _ = write!(line, "{opening}{key} {value}");
    }
    line.push_str(if election.is_some() || !fields.is_empty() { ")\n" } else { "\n" });
    line
}

/// The fixed keys of a line; the keys of the fields follow.
#[derive(Serialize)]
struct Keys<'a> {
    time: String,
    level: Level,
    #[serde(skip_serializing_if = "Option::is_none")]
    election: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(flatten)]
    event: LogEvent,
    message: &'a str,
    #[serde(flatten)]
    fields: Map<String, Value>,
}

fn json_line(
    now: SystemTime,
    level: Level,
    event: LogEvent,
    (election, id): (Option<&str>, Option<&str>),
    message: &str,
    fields: &[(&'static str, Value)],
) -> String {
    let fields = fields.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    let keys = Keys { time: rfc3339(now), level, election, id, event, message, fields };
    // The line is text, numbers and null, so its JSON cannot fail.
    let mut line = serde_json::to_string(&keys).unwrap_or_default();
    line.push('\n');
    line
}

fn is_pipe(fd: BorrowedFd<'_>) -> bool {
    fstat(fd).is_ok_and(|stat| stat.st_mode & libc::S_IFMT == libc::S_IFIFO)
}

/// Returns whether a write would not block.
pub(super) fn is_writable(fd: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::new(fd, PollFlags::POLLOUT)];
    let ready = poll(&mut fds, PollTimeout::ZERO);
    ready.is_ok() && fds[0].revents().is_some_and(|seen| seen.contains(PollFlags::POLLOUT))
}

/// Writes a line with one write, unless that would block. Errors are ignored, because elect can do nothing about them.
fn write_line(fd: BorrowedFd<'_>, line: &str) {
    if is_writable(fd) {
        let _ = nix::unistd::write(fd, line.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::time::{Duration, UNIX_EPOCH};

    use anyhow::Context;
    use nix::fcntl::OFlag;
    use nix::unistd::{pipe2, read};

    use super::{Level, LogEvent, chain, json_line, shorten, text_line, write_line};

    #[test]
    fn lines_for_people() {
        assert_eq!(text_line(Level::Info, true, "leading", None, &[]), "elect: leading\n");
        assert_eq!(
            text_line(
                Level::Warn,
                false,
                "lost",
                Some("job"),
                &[("token", 7.into()), ("by", "a\nb".into())]
            ),
            "elect: warning: lost (election job, token 7, by a\\nb)\n"
        );
        assert_eq!(
            text_line(Level::Error, true, "a\u{1b}b", None, &[]),
            "elect: \u{1b}[1m\u{1b}[31merror: \u{1b}[0ma\\u{1b}b\n"
        );
    }

    #[test]
    fn lines_for_programs() {
        let now = UNIX_EPOCH + Duration::from_millis(5);
        let (bare, hint) = (LogEvent::default(), [("hint", "c".into())]);
        assert_eq!(
            json_line(now, Level::Warn, bare, (Some("job"), None), "a\nb", &hint),
            "{\"time\":\"1970-01-01T00:00:00.005Z\",\"level\":\"warn\",\"election\":\"job\",\"message\":\"a\\nb\",\"hint\":\"c\"}\n"
        );
        let event = LogEvent { token: Some(7), exit_code: Some(124), ..LogEvent::named("lost") };
        assert_eq!(
            json_line(now, Level::Error, event, (None, Some("me-1")), "why", &[]),
            "{\"time\":\"1970-01-01T00:00:00.005Z\",\"level\":\"error\",\"id\":\"me-1\",\"event\":\"lost\",\"token\":7,\
             \"exit_code\":124,\"message\":\"why\"}\n"
        );
    }

    #[test]
    fn a_message_is_cut_between_letters() {
        let cut = shorten("ä".repeat(4000) + "x", super::MESSAGE_MAX, "…");
        assert!(cut.len() < 2060 && cut.ends_with("ä…"));
        assert_eq!(shorten("short".to_owned(), super::MESSAGE_MAX, "…"), "short");
    }

    #[test]
    fn the_causes_are_told_once() {
        let inner = std::io::Error::other("disk full");
        let error = Err::<(), _>(inner)
            .context("cannot write x: disk full")
            .context("cannot start")
            .unwrap_err();
        assert_eq!(chain(error.as_ref()), "cannot start: cannot write x: disk full");
    }

    #[test]
    fn a_reader_that_does_not_read_blocks_no_writer() {
        let (reader, writer) = pipe2(OFlag::O_CLOEXEC).unwrap();
        let line = "x".repeat(1000);
        // More than any pipe holds: a write that blocks would hang here.
        for _ in 0..2000 {
            write_line(writer.as_fd(), &line);
        }
        let mut buffer = [0; 1000];
        assert_eq!(read(&reader, &mut buffer), Ok(1000));
        drop(reader);
        write_line(writer.as_fd(), &line);
    }
}

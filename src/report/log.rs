use std::error::Error;
use std::fmt::{self, Display, Write as _};
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

/// The longest message, in bytes. With its fields a line stays below `PIPE_BUF`, up to which a pipe
/// that has room at all takes a write whole.
const MESSAGE_MAX: usize = 2048;

/// What is said of a store that nobody has named.
pub const BY_DEFAULT: &str =
    " (the default: no -b, no ELECT_BACKEND, no key in a configuration file)";

/// How much a line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// elect cannot go on.
    Error,
    /// elect goes on, but somebody should know.
    Warn,
    /// What happens.
    Info,
    /// What happens inside.
    Debug,
}

/// What a line of the JSON form tells programs of what has happened; nothing of it where people read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LogEvent {
    /// Its name, if it has one; stable.
    #[serde(rename = "event", skip_serializing_if = "Option::is_none")]
    pub name: Option<&'static str>,
    /// The token of the leadership that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<u64>,
    /// The exit code that elect ends with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<u8>,
}

impl LogEvent {
    /// elect's own failure.
    pub const FAILED: Self = Self { exit_code: Some(FAILED), ..Self::named("failed") };

    /// That of this name.
    pub const fn named(name: &'static str) -> Self {
        Self { name: Some(name), token: None, exit_code: None }
    }

    /// The same about the leadership with this token.
    #[must_use]
    pub fn with_token(self, token: Option<Token>) -> Self {
        Self { token: token.map(Token::get), ..self }
    }

    /// Whether it tells whose turn it is.
    fn is_turn(self) -> bool {
        matches!(self.name, Some("waiting" | "leading"))
    }
}

/// elect's own words, on stderr: one line and one `write(2)` each.
///
/// A line that cannot be written at once is lost. Nobody who leaves our stderr unread, or closes it,
/// may keep us from renewing a lease. Clones share one terminal line.
#[derive(Clone)]
pub struct Log(Arc<Shared>);

struct Shared {
    threshold: Level,
    format: LogFormat,
    election: Option<String>,
    /// The id of our candidate, which the JSON form names in every line.
    candidate: Option<String>,
    is_of_default_store: bool,
    /// Whether a candidate's turns are told off a terminal, too.
    tells_turns: bool,
    /// Whether a line that is drawn again and again disturbs nobody.
    is_terminal: bool,
    clock: fn() -> SystemTime,
    /// The line that shows how the waiting goes; whatever is logged makes way for it and back.
    line: Mutex<Option<ProgressBar>>,
}

impl Log {
    /// A log of this loudness and form. `clock` stamps the lines of the JSON form.
    pub fn new(verbosity: Verbosity, format: LogFormat, clock: fn() -> SystemTime) -> Self {
        let has_terminal = io::stderr().is_terminal();
        // Behind a pipe there may be a pager, whose screen our words would spoil.
        let is_terminal = has_terminal && !is_pipe(io::stdout().as_fd());
        let threshold = match verbosity {
            Verbosity::Quiet => Level::Error,
            Verbosity::Normal if has_terminal && io::stdout().is_terminal() => Level::Info,
            Verbosity::Normal => Level::Warn,
            Verbosity::Verbose => Level::Debug,
        };
        Self(Arc::new(Shared {
            threshold,
            format,
            election: None,
            candidate: None,
            is_of_default_store: false,
            tells_turns: false,
            is_terminal,
            clock,
            line: Mutex::default(),
        }))
    }

    /// The same log where nobody has named the store: what is said of an election that is not there says so, too.
    #[must_use]
    pub fn of_default_store(&self) -> Self {
        self.altered(|shared| shared.is_of_default_store = true)
    }

    /// Whether nobody has named the store.
    pub fn is_of_default_store(&self) -> bool {
        self.0.is_of_default_store
    }

    /// Where the store is, for people: in words if that is the default one, for want of another.
    pub fn place(&self, location: &str) -> String {
        let default = if self.0.is_of_default_store { BY_DEFAULT } else { "" };
        escape(location) + default
    }

    /// The same log, naming this election in every line.
    #[must_use]
    pub fn about(&self, election: &ElectionName) -> Self {
        self.named(election, self.0.is_terminal)
    }

    /// The same for one of several elections at once, for which nothing is drawn.
    #[must_use]
    pub fn about_one_of_many(&self, election: &ElectionName) -> Self {
        self.named(election, false)
    }

    fn named(&self, election: &ElectionName, is_terminal: bool) -> Self {
        self.altered(|shared| {
            shared.election = Some(election.as_str().to_owned());
            shared.is_terminal = is_terminal;
        })
    }

    /// The same log, naming the candidate of this id in every line of the JSON form.
    #[must_use]
    pub fn of_candidate(&self, id: &str) -> Self {
        self.altered(|shared| shared.candidate = Some(id.to_owned()))
    }

    /// The same log of a candidate that stands by. Of the first process of a container nobody sees anything but its
    /// log: there it tells whether it waits or leads, unless it is to be quiet.
    #[must_use]
    pub fn telling_turns(&self) -> Self {
        self.altered(|shared| shared.tells_turns = std::process::id() == 1)
    }

    fn altered(&self, change: impl FnOnce(&mut Shared)) -> Self {
        let (election, candidate) = (self.0.election.clone(), self.0.candidate.clone());
        let mut shared = Shared { election, candidate, line: Mutex::default(), ..*self.0 };
        change(&mut shared);
        Self(Arc::new(shared))
    }

    /// Says that elect cannot go on.
    pub fn error(&self, message: impl Display) {
        self.say(Level::Error, message, &[]);
    }

    /// Says that somebody should know.
    pub fn warn(&self, message: impl Display) {
        self.say(Level::Warn, message, &[]);
    }

    /// Says what happens.
    pub fn info(&self, message: impl Display) {
        self.say(Level::Info, message, &[]);
    }

    /// Says what happens inside.
    pub fn debug(&self, message: impl Display) {
        self.say(Level::Debug, message, &[]);
    }

    /// Says it with further fields: keys of the JSON form, in brackets at the end of the text form.
    pub fn say(&self, level: Level, message: impl Display, fields: &[(&'static str, Value)]) {
        self.event(level, LogEvent::default(), message, fields);
    }

    /// The same about something that has a name: for programs that read the JSON form.
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
        let message = shorten(message.to_string());
        let election = self.0.election.as_deref();
        let line = match self.0.format {
            LogFormat::Text => text_line(level, colours(), &message, election, fields),
            LogFormat::Json => {
                let id = self.0.candidate.as_deref();
                json_line((self.0.clock)(), level, event, (election, id), &message, fields)
            }
        };
        match &*self.line() {
            Some(bar) if is_writable(io::stderr().as_fd()) => {
                bar.suspend(|| write_line(io::stderr().as_fd(), &line));
            }
            _ => write_line(io::stderr().as_fd(), &line),
        }
    }

    /// Whether a candidate's turns are told where other events are not.
    pub fn tells_turns(&self) -> bool {
        self.0.tells_turns && self.tells(Level::Warn)
    }

    /// Reports an error with its chain of causes, and what to do about it if it is known.
    pub fn failure(&self, error: &anyhow::Error) {
        let hint = error
            .chain()
            .find_map(|cause| cause.downcast_ref::<ConfigError>())
            .and_then(ConfigError::hint);
        let say = |message: &dyn Display, fields: &[_]| {
            self.event(Level::Error, LogEvent::FAILED, message, fields);
        };
        let what = chain(error.as_ref());
        match (hint, self.0.format) {
            (None, _) => say(&what, &[]),
            (Some(hint), LogFormat::Json) => say(&what, &[("hint", hint.into())]),
            (Some(hint), LogFormat::Text) => say(&format_args!("{what}; {hint}"), &[]),
        }
    }

    /// Whether what is said at this level is read by anybody.
    pub fn tells(&self, level: Level) -> bool {
        level <= self.0.threshold
    }

    /// The election that every line names.
    pub(super) fn election(&self) -> Option<&str> {
        self.0.election.as_deref()
    }

    /// Whether a line that is drawn again and again would be welcome.
    pub(super) fn wants_progress(&self) -> bool {
        self.0.is_terminal && self.0.threshold >= Level::Warn && self.0.format == LogFormat::Text
    }

    /// The place of the line that is drawn again and again.
    pub(super) fn line(&self) -> MutexGuard<'_, Option<ProgressBar>> {
        self.0.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log")
            .field("threshold", &self.0.threshold)
            .field("format", &self.0.format)
            .finish_non_exhaustive()
    }
}

/// The error and its causes in one line. A cause that the message before it already tells is left out.
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

/// What an error came of in the end.
pub fn root(error: &(dyn Error + 'static)) -> String {
    let all = std::iter::successors(Some(error), |&error| error.source());
    all.last().map(ToString::to_string).unwrap_or_default()
}

fn shorten(mut message: String) -> String {
    if message.len() > MESSAGE_MAX {
        let cut = (0..=MESSAGE_MAX).rev().find(|&at| message.is_char_boundary(at));
        message.truncate(cut.unwrap_or(0));
        message.push('…');
    }
    message
}

/// Whether colours are wanted on stderr: on a terminal that is not dumb, unless `NO_COLOR` or `CLICOLOR`
/// says otherwise; and wherever `CLICOLOR_FORCE` does.
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

/// The keys of a line; those of the fields follow.
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
    // Text, numbers and null: there is nothing in it that JSON cannot say.
    let mut line = serde_json::to_string(&keys).unwrap_or_default();
    line.push('\n');
    line
}

fn is_pipe(fd: BorrowedFd<'_>) -> bool {
    fstat(fd).is_ok_and(|stat| stat.st_mode & libc::S_IFMT == libc::S_IFIFO)
}

/// Whether a write would be taken at once.
pub(super) fn is_writable(fd: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::new(fd, PollFlags::POLLOUT)];
    let ready = poll(&mut fds, PollTimeout::ZERO);
    ready.is_ok() && fds[0].revents().is_some_and(|seen| seen.contains(PollFlags::POLLOUT))
}

/// One write, if it would not block. What becomes of it is nothing that could be helped.
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
        let cut = shorten("ä".repeat(4000) + "x");
        assert!(cut.len() < 2060 && cut.ends_with("ä…"));
        assert_eq!(shorten("short".to_owned()), "short");
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
    fn a_reader_that_does_not_read_holds_nobody_up() {
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

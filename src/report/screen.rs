//! What is written to a terminal, and to stdout.

use std::env;
use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal as _, Seek as _, Write};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use anstream::{AutoStream, ColorChoice};
use anyhow::Context as _;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr};
use nix::unistd::write;
use serde::Serialize;
use terminal_size::{Height, Width, terminal_size_of};

use super::log::is_writable;
use super::progress::{can_move_the_cursor, is_ours_to_draw_on, width_of};
use crate::config::OutputFormat;

/// The other screen, so that what was there comes back; no cursor; no line goes on in the next.
const ENTER: &str = "\u{1b}[?1049h\u{1b}[?25l\u{1b}[?7l";
const LEAVE: &str = "\u{1b}[?7h\u{1b}[?25h\u{1b}[?1049l";
const HOME: &str = "\u{1b}[H";
const CLEAR_TO_END_OF_LINE: &str = "\u{1b}[K";
const CLEAR_BELOW: &str = "\u{1b}[J";

/// What a terminal takes in one piece: with more it might keep us waiting.
const PIECE: usize = 512;

/// The size of a terminal that does not know its own, in lines and columns.
const USUAL: (usize, usize) = (24, 80);

/// The whole terminal, drawn anew in place: what stays as it is does not flicker.
///
/// A terminal that a shell has given to another job is left alone until it is ours again. Dropped, it leaves
/// the terminal as it was.
#[derive(Debug)]
pub struct Screen {
    /// How keys were treated before we had it; `None` while we do not have it.
    modes: Option<Termios>,
}

impl Screen {
    /// The terminal on stdout, left as it is for now. `None` if there is none, or one that cannot move its
    /// cursor.
    pub fn of_stdout() -> Option<Self> {
        let is_fit = io::stdout().is_terminal() && can_move_the_cursor();
        is_fit.then_some(Self { modes: None })
    }

    /// Draws these lines, which are fit for a terminal, as far as there is room for them.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn draw(&mut self, lines: &[String]) -> io::Result<()> {
        let stdout = io::stdout();
        if !is_ours_to_draw_on(stdout.as_fd()) {
            return Ok(());
        }
        if self.modes.is_none() {
            self.enter()?;
        }
        let size = terminal_size_of(&stdout);
        let size =
            size.map_or(USUAL, |(Width(columns), Height(rows))| (rows.into(), columns.into()));
        show(&frame(lines, size))
    }

    /// Leaves the terminal as it was. Drawing comes back to it.
    pub fn leave(&mut self) {
        let Some(modes) = self.modes.take() else { return };
        let _ = show(LEAVE);
        // What was typed was not meant for the next program.
        let _ = tcsetattr(io::stdout(), SetArg::TCSAFLUSH, &modes);
    }

    fn enter(&mut self) -> io::Result<()> {
        let modes = tcgetattr(io::stdout())?;
        let mut quiet = modes.clone();
        quiet.local_flags.remove(LocalFlags::ECHO);
        tcsetattr(io::stdout(), SetArg::TCSADRAIN, &quiet)?;
        self.modes = Some(modes);
        show(ENTER)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.leave();
    }
}

/// All of the screen: each line cut to the width, and the last one saying how many had no room.
fn frame(lines: &[String], (rows, columns): (usize, usize)) -> String {
    let shown = if lines.len() > rows { rows.saturating_sub(1) } else { lines.len() };
    let hidden = (lines.len() > shown).then(|| format!("({} more lines)", lines.len() - shown));
    let lines = lines[..shown].iter().chain(&hidden);
    let lines = lines.map(|line| {
        let cut: String = line.chars().take(columns).collect();
        // Behind a full line the cursor still stands on its last column.
        let is_full = line.chars().count() >= columns;
        if is_full { cut } else { cut + CLEAR_TO_END_OF_LINE }
    });
    format!("{HOME}{}{CLEAR_BELOW}", lines.collect::<Vec<_>>().join("\r\n"))
}

/// Writes it as far as the terminal takes it. What is missing comes with the next drawing.
fn show(text: &str) -> io::Result<()> {
    let stdout = io::stdout();
    for mut piece in text.as_bytes().chunks(PIECE) {
        while !piece.is_empty() {
            if !is_writable(stdout.as_fd()) {
                return Ok(());
            }
            let written = write(&stdout, piece)?;
            piece = &piece[written..];
        }
    }
    Ok(())
}

/// The width of the terminal on stdout, in columns; `None` if there is none, or it does not know.
pub fn width() -> Option<usize> {
    width_of(&io::stdout())
}

/// Writes to stdout. A reader that has gone away, such as `head`, is no error.
///
/// # Errors
/// Whatever else keeps the text from being written: a full disk, for one.
pub fn print(text: &str) -> io::Result<()> {
    offer(text).map(drop)
}

/// Writes a report to stdout in this form; `table` makes what people read.
///
/// # Errors
/// As [`print()`]; or the report cannot be written in this form.
pub fn print_report<R: Serialize>(
    report: &R,
    form: OutputFormat,
    table: impl FnOnce() -> String,
) -> anyhow::Result<()> {
    let text = match form {
        OutputFormat::Table => table(),
        OutputFormat::Json => serde_json::to_string_pretty(report)? + "\n",
        OutputFormat::Yaml => serde_yaml::to_string(report)?,
    };
    print(&text).context("cannot write to stdout")
}

/// Writes to stdout, and says whether somebody is there to read it.
///
/// # Errors
/// As [`print()`].
pub fn offer(text: &str) -> io::Result<bool> {
    offer_bytes(text.as_bytes())
}

/// How wide the terminal on stdout is, in columns, and whether what is written there may have styles.
pub fn shape_of_stdout() -> (usize, bool) {
    let stdout = io::stdout();
    let columns = terminal_size_of(&stdout).map_or(USUAL.1, |(Width(columns), _)| columns.into());
    (columns, AutoStream::choice(&stdout) != ColorChoice::Never)
}

/// Writes to stdout; where that is a terminal with less lines, this process becomes the pager that shows it: the one of
/// `PAGER`, or `less`. An empty `PAGER`, and one that cannot be executed, is none.
///
/// # Errors
/// As [`print()`].
pub fn print_paged(text: &str) -> io::Result<()> {
    let stdout = io::stdout();
    let size = terminal_size_of(&stdout);
    let rows = size.map_or(USUAL.0, |(_, Height(rows))| rows.into());
    if stdout.is_terminal() && can_move_the_cursor() && text.lines().count() >= rows {
        become_pager(text);
    }
    print(text)
}

/// Does not come back if there is a pager.
fn become_pager(text: &str) {
    let pager = env::var("PAGER").unwrap_or_else(|_| "less".to_owned());
    let words = shlex::split(&pager).unwrap_or_default();
    let (Some((program, words)), Ok(file)) = (words.split_first(), in_memory(text)) else { return };
    let mut command = Command::new(program);
    command.args(words).stdin(file);
    if env::var_os("LESS").is_none() {
        // Styles as they are; what fits is left where it is.
        command.env("LESS", "FRX");
    }
    // Who has no such program reads it without.
    let _: io::Error = command.exec();
}

/// A file with this text, to be read from its beginning.
fn in_memory(text: &str) -> io::Result<File> {
    let mut file = File::from(memfd_create("help", MFdFlags::MFD_CLOEXEC)?);
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

/// Writes bytes to stdout, as they are. As with [`print()`], a reader that has gone away is no error.
///
/// # Errors
/// As [`print()`].
pub fn write_out(bytes: &[u8]) -> io::Result<()> {
    offer_bytes(bytes).map(drop)
}

fn offer_bytes(bytes: &[u8]) -> io::Result<bool> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        result => result.map(|()| true),
    }
}

/// Whether a line would be taken at once; or refused at once, as nobody is there to read it.
pub fn can_print() -> bool {
    is_writable(io::stdout().as_fd()) || !has_reader()
}

/// Whether somebody may still read what is written to stdout.
pub fn has_reader() -> bool {
    let stdout = io::stdout();
    let mut fds = [PollFd::new(stdout.as_fd(), PollFlags::empty())];
    let gone = PollFlags::POLLERR | PollFlags::POLLHUP | PollFlags::POLLNVAL;
    match poll(&mut fds, PollTimeout::ZERO) {
        Ok(_) => !fds[0].revents().is_some_and(|seen| seen.intersects(gone)),
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::frame;

    fn drawn(lines: &[&str], size: (usize, usize)) -> String {
        let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        frame(&lines, size)
    }

    #[test]
    fn what_has_room_is_shown_and_the_rest_is_counted() {
        assert_eq!(drawn(&["one", "two"], (2, 10)), "\u{1b}[Hone\u{1b}[K\r\ntwo\u{1b}[K\u{1b}[J");
        assert_eq!(
            drawn(&["one", "two", "three"], (2, 30)),
            "\u{1b}[Hone\u{1b}[K\r\n(2 more lines)\u{1b}[K\u{1b}[J"
        );
        assert_eq!(drawn(&["one", "two"], (1, 4)), "\u{1b}[H(2 m\u{1b}[J");
        assert_eq!(drawn(&[], (0, 0)), "\u{1b}[H\u{1b}[J");
    }

    #[test]
    fn a_full_line_is_not_cleared_behind_its_end() {
        assert_eq!(drawn(&["äbcd", "x"], (5, 3)), "\u{1b}[Häbc\r\nx\u{1b}[K\u{1b}[J");
    }
}

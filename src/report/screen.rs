//! This file draws on the terminal and writes to stdout.

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

/// Switches to the alternate screen, so that the old one returns later. Hides the cursor, and turns line wrapping off.
const ENTER: &str = "\u{1b}[?1049h\u{1b}[?25l\u{1b}[?7l";
const LEAVE: &str = "\u{1b}[?7h\u{1b}[?25h\u{1b}[?1049l";
const HOME: &str = "\u{1b}[H";
const CLEAR_TO_END_OF_LINE: &str = "\u{1b}[K";
const CLEAR_BELOW: &str = "\u{1b}[J";

/// The bytes that a terminal takes in one piece. A longer write could block.
const PIECE: usize = 512;

/// The size of a terminal that does not know its own size, in lines and columns.
const USUAL: (usize, usize) = (24, 80);

/// The whole terminal, redrawn in place without flicker.
///
/// If a shell has given the terminal to another job, `Screen` draws nothing until it has the terminal again. Dropping
/// it restores the terminal.
#[derive(Debug)]
pub struct Screen {
    /// The terminal's modes before `Screen` took it over; `None` while it has not.
    modes: Option<Termios>,
}

impl Screen {
    /// Returns the terminal on stdout, still unchanged. `None` if stdout is not a terminal, or if it cannot move its
    /// cursor.
    pub fn of_stdout() -> Option<Self> {
        let is_fit = io::stdout().is_terminal() && can_move_the_cursor();
        is_fit.then_some(Self { modes: None })
    }

    /// Draws these lines, as far as there is room. They must be fit for a terminal.
    ///
    /// # Errors
    /// If the terminal is gone.
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

    /// Restores the terminal. The next drawing takes it over again.
    pub fn leave(&mut self) {
        let Some(modes) = self.modes.take() else { return };
        let _ = show(LEAVE);
        // Pending input is discarded, because it was not meant for the next program.
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

/// Returns the text for the whole screen. Each line is cut to the width, and the last one counts the lines that had no
/// room.
fn frame(lines: &[String], (rows, columns): (usize, usize)) -> String {
    let shown = if lines.len() > rows { rows.saturating_sub(1) } else { lines.len() };
    let hidden = (lines.len() > shown).then(|| format!("({} more lines)", lines.len() - shown));
    let lines = lines[..shown].iter().chain(&hidden);
    let lines = lines.map(|line| {
        let cut: String = line.chars().take(columns).collect();
        // After a full line, the cursor still stands on its last column.
        let is_full = line.chars().count() >= columns;
        if is_full { cut } else { cut + CLEAR_TO_END_OF_LINE }
    });
    format!("{HOME}{}{CLEAR_BELOW}", lines.collect::<Vec<_>>().join("\r\n"))
}

/// Writes as much of the text as the terminal takes. The next drawing shows the rest.
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

/// Returns the width of the terminal on stdout, in columns. `None` if it is not a terminal, or does not know its width.
pub fn width() -> Option<usize> {
    width_of(&io::stdout())
}

/// Writes to stdout. A reader that has gone away, such as `head`, is not an error.
///
/// # Errors
/// If the text cannot be written for any other reason, such as a full disk.
pub fn print(text: &(impl AsRef<[u8]> + ?Sized)) -> io::Result<()> {
    offer(text).map(drop)
}

/// Writes a report to stdout in this form. `table` returns the form for people.
///
/// # Errors
/// As for [`print()`], or if the report cannot be written in this form.
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

/// Writes to stdout, and returns whether there is still a reader.
///
/// # Errors
/// As for [`print()`].
pub fn offer(text: &(impl AsRef<[u8]> + ?Sized)) -> io::Result<bool> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_ref()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        result => result.map(|()| true),
    }
}

/// Returns the width of the terminal on stdout in columns, and whether text on it may have styles.
pub fn shape_of_stdout() -> (usize, bool) {
    let stdout = io::stdout();
    let columns = terminal_size_of(&stdout).map_or(USUAL.1, |(Width(columns), _)| columns.into());
    (columns, AutoStream::choice(&stdout) != ColorChoice::Never)
}

/// Writes to stdout. If stdout is a terminal with fewer lines than the text, this process becomes the pager that shows
/// it. The pager is that of `PAGER`, or `less`. There is none if `PAGER` is empty or cannot be executed.
///
/// # Errors
/// As for [`print()`].
pub fn print_paged(text: &str) -> io::Result<()> {
    let stdout = io::stdout();
    let size = terminal_size_of(&stdout);
    let rows = size.map_or(USUAL.0, |(_, Height(rows))| rows.into());
    if stdout.is_terminal() && can_move_the_cursor() && text.lines().count() >= rows {
        become_pager(text);
    }
    print(text)
}

/// Replaces this process by the pager. Returns only if there is none.
fn become_pager(text: &str) {
    let pager = env::var("PAGER").unwrap_or_else(|_| "less".to_owned());
    let words = shlex::split(&pager).unwrap_or_default();
    let (Some((program, words)), Ok(file)) = (words.split_first(), in_memory(text)) else { return };
    let mut command = Command::new(program);
    command.args(words).stdin(file);
    if env::var_os("LESS").is_none() {
        // These options keep styles, and quit at once if the text fits on the screen.
        command.env("LESS", "FRX");
    }
    // If the pager cannot be executed, the caller prints the text.
    let _: io::Error = command.exec();
}

/// Returns an in-memory file with this text, positioned at its beginning.
fn in_memory(text: &str) -> io::Result<File> {
    let mut file = File::from(memfd_create("help", MFdFlags::MFD_CLOEXEC)?);
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

/// Returns whether a write would not block. A write without a reader fails at once, so it does not block.
pub fn can_print() -> bool {
    is_writable(io::stdout().as_fd()) || !has_reader()
}

/// Returns whether stdout may still have a reader.
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
    fn lines_with_room_are_shown_and_the_rest_is_counted() {
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

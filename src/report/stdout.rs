use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd as _;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::log::is_writable;

/// Writes to stdout. A reader that has gone away, such as `head`, is no error.
///
/// # Errors
/// Whatever else keeps the text from being written: a full disk, for one.
pub fn print(text: &str) -> io::Result<()> {
    offer(text).map(drop)
}

/// Writes to stdout, and says whether somebody is there to read it.
///
/// # Errors
/// As [`print()`].
pub fn offer(text: &str) -> io::Result<bool> {
    offer_bytes(text.as_bytes())
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

//! The death-pipe: a pipe that nobody writes to. Its only write end is the guardian's; when the
//! guardian dies, however it dies, the kernel closes it and sends KILL to the command's group.
//!
//! The kernel sends the signal on behalf of the read end, as long as anybody holds it: the wrapper
//! and the tree do. So it works while wrapper and guardian are both stopped, and when both are killed.
//! It refers to the group itself, not to its number, so that no later group of that number is hit.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::fcntl::OFlag;
use nix::unistd::pipe2;

use super::descriptors::out_of_the_way;
use super::signals::read_now;
use super::switches::is_off;

/// `F_SETSIG` of `fcntl(2)`, which the libc crate does not name.
const F_SETSIG: libc::c_int = 10;

/// A new death-pipe, read end first. It kills nobody before [`aim`].
pub(super) fn new() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = pipe2(OFlag::O_CLOEXEC)?;
    let (read, write) = (out_of_the_way(read)?, out_of_the_way(write)?);
    let flags = if is_off!(DeathPipe) { 0 } else { libc::O_ASYNC };
    // SAFETY: both commands take an integer and touch no memory of ours.
    let failed = unsafe {
        libc::fcntl(read.as_raw_fd(), F_SETSIG, libc::SIGKILL) < 0
            || libc::fcntl(read.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK) < 0
    };
    if failed { Err(io::Error::last_os_error()) } else { Ok((read, write)) }
}

/// Has the kernel kill this `group` when the write end closes. Touches nothing but the open pipe, so
/// that any process that holds it may call this, and it holds for all of them.
pub(super) fn aim(read: &OwnedFd, group: i32) -> bool {
    // SAFETY: F_SETOWN takes an integer and touches no memory of ours.
    unsafe { libc::fcntl(read.as_raw_fd(), libc::F_SETOWN, -group) == 0 }
}

/// Whether nobody has the write end any more.
pub(super) fn is_over(read: &OwnedFd) -> bool {
    matches!(read_now(read, &mut [0]), Ok(Some(0)))
}

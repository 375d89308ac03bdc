//! Signals for processes of other users, from a root that has lost the capability `CAP_KILL`.
//!
//! The kernel asks for that capability in `kill`, but not where it signals on behalf of a descriptor: there the user
//! who named the receiver has to be root, or the receiver's own. So a pipe whose read end names the receiver
//! (`F_SETOWN`) and the signal (`F_SETSIG`) carries it, with one byte.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, poll};
use nix::unistd::pipe2;

use super::descriptors::{F_SETSIG, out_of_the_way, read_now};

/// Carries one signal at a time.
pub(super) struct Courier {
    read: OwnedFd,
    write: OwnedFd,
}

impl Courier {
    /// # Errors
    /// When no descriptor is left, or a filter of system calls refuses what it takes.
    pub(super) fn new() -> io::Result<Self> {
        let (read, write) = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)?;
        let (read, write) = (out_of_the_way(read)?, out_of_the_way(write)?);
        let flags = libc::O_ASYNC | libc::O_NONBLOCK;
        // SAFETY: F_SETFL takes an integer and touches no memory of ours.
        if unsafe { libc::fcntl(read.as_raw_fd(), libc::F_SETFL, flags) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { read, write })
    }

    pub(super) fn descriptors(&self) -> [RawFd; 2] {
        [&self.read, &self.write].map(AsRawFd::as_raw_fd)
    }

    /// Signals a process, or with a negative number all processes of a group; says whether it was sent. Whether it
    /// was delivered the kernel does not say. Allocates nothing.
    pub(super) fn send(&self, receiver: i32, signal: i32) -> bool {
        let read = self.read.as_raw_fd();
        // SAFETY: both commands take an integer and touch no memory of ours.
        let is_named = unsafe {
            libc::fcntl(read, F_SETSIG, signal) == 0
                && libc::fcntl(read, libc::F_SETOWN, receiver) == 0
        };
        let is_sent = is_named && nix::unistd::write(&self.write, &[0]).is_ok();
        let _ = read_now(&self.read, &mut [0; 16]);
        // It is to signal nobody else, should anybody write by mistake.
        // SAFETY: as above.
        unsafe { libc::fcntl(read, libc::F_SETOWN, 0) };
        is_sent
    }
}

/// Whether this process is root and may not signal other users' processes.
pub(super) fn is_needed() -> bool {
    const VERSION_3: u32 = 0x2008_0522;
    /// Of `capabilities(7)`.
    const CAP_KILL: u32 = 5;
    let header: [u32; 2] = [VERSION_3, 0];
    // Effective, permitted, inheritable: the lower halves, then the upper ones.
    let mut sets = [0_u32; 6];
    // SAFETY: the kernel reads the header, of version and process, and writes twice three words.
    let got = unsafe { libc::syscall(libc::SYS_capget, header.as_ptr(), sets.as_mut_ptr()) };
    nix::unistd::geteuid().is_root() && got == 0 && sets[0] & (1 << CAP_KILL) == 0
}

/// Sends a process ahead that becomes another user's, as a command may, and tries to kill it by a courier. Where it
/// cannot become another user's, nor can a command, unless a program of its own has that right.
///
/// # Errors
/// When it cannot be killed so, as in a user namespace, or cannot be tried.
pub(super) fn try_out() -> io::Result<()> {
    /// Whose process it becomes; any but root will do.
    const NOBODY: libc::uid_t = 65534;
    /// Its end takes a moment; this is for one that does not come.
    const PATIENCE: u16 = 2000;
    let courier = Courier::new()?;
    let (told, tell) = pipe2(OFlag::O_CLOEXEC)?;
    let (stay, end) = pipe2(OFlag::O_CLOEXEC)?;
    // SAFETY: fork has no preconditions; the child keeps to system calls.
    let child = unsafe { libc::fork() };
    if child < 0 {
        return Err(io::Error::last_os_error());
    }
    if child == 0 {
        // SAFETY: none of these has memory preconditions. By the system call, as this process may have threads.
        unsafe {
            let failed = libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY) != 0;
            libc::close(end.as_raw_fd());
            let _ = nix::unistd::write(&tell, &[u8::from(failed)]);
            // Until the other end is closed, if nothing else ends it.
            let _ = nix::unistd::read(&stay, &mut [0]);
            libc::_exit(0)
        }
    }
    drop(tell);
    let mut failed = [1];
    let is_another = nix::unistd::read(&told, &mut failed) == Ok(1) && failed == [0];
    let is_killed = !is_another || {
        courier.send(child, libc::SIGKILL);
        // The other end of this pipe is closed by its death.
        let mut gone = [PollFd::new(told.as_fd(), PollFlags::empty())];
        poll(&mut gone, PATIENCE) == Ok(1)
    };
    drop(end);
    super::children::wait_for(child);
    if is_killed { Ok(()) } else { Err(Errno::EPERM.into()) }
}

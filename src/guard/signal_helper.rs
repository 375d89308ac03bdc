//! Signals for processes of other users, sent by a root that has lost the capability `CAP_KILL`.
//!
//! The kernel asks for that capability in `kill`, but not when it signals on behalf of a descriptor. There, the user
//! who named the receiver must be root, or be the receiver's own user. So a pipe carries the signal: its read end
//! names the receiver (`F_SETOWN`) and the signal (`F_SETSIG`), and one byte triggers it.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, poll};
use nix::unistd::pipe2;

use super::descriptors::{F_SETSIG, out_of_the_way, read_now};

/// A pipe that carries one signal at a time.
pub(super) struct SignalHelper {
    read: OwnedFd,
    write: OwnedFd,
}

impl SignalHelper {
    /// # Errors
    /// No descriptor is left, or a filter of system calls refuses a call.
    pub(super) fn new() -> io::Result<Self> {
        let (read, write) = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)?;
        let (read, write) = (out_of_the_way(read)?, out_of_the_way(write)?);
        let flags = libc::O_ASYNC | libc::O_NONBLOCK;
        // SAFETY: F_SETFL takes an integer and touches no memory of this process.
        if unsafe { libc::fcntl(read.as_raw_fd(), libc::F_SETFL, flags) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { read, write })
    }

    pub(super) fn descriptors(&self) -> [RawFd; 2] {
        [&self.read, &self.write].map(AsRawFd::as_raw_fd)
    }

    /// Signals a process, or all processes of a group if the number is negative. Returns whether the signal was
    /// sent. The kernel does not say whether it was delivered. Allocates nothing.
    pub(super) fn send(&self, receiver: i32, signal: i32) -> bool {
        let read = self.read.as_raw_fd();
        // SAFETY: both commands take an integer and touch no memory of this process.
        let is_named = unsafe {
            libc::fcntl(read, F_SETSIG, signal) == 0
                && libc::fcntl(read, libc::F_SETOWN, receiver) == 0
        };
        let is_sent = is_named && nix::unistd::write(&self.write, &[0]).is_ok();
        let _ = read_now(&self.read, &mut [0; 16]);
        // The receiver is reset, so that a stray write cannot signal anything.
        // SAFETY: as above.
        unsafe { libc::fcntl(read, libc::F_SETOWN, 0) };
        is_sent
    }
}

/// Returns whether this process is root and may not signal processes of other users.
pub(super) fn is_needed() -> bool {
    const VERSION_3: u32 = 0x2008_0522;
    /// The number is from `capabilities(7)`.
    const CAP_KILL: u32 = 5;
    let header: [u32; 2] = [VERSION_3, 0];
    // The sets are effective, permitted and inheritable: first their lower halves, then the upper ones.
    let mut sets = [0_u32; 6];
    // SAFETY: the kernel reads the header, which has version and process, and writes twice three words.
    let got = unsafe { libc::syscall(libc::SYS_capget, header.as_ptr(), sets.as_mut_ptr()) };
    nix::unistd::geteuid().is_root() && got == 0 && sets[0] & (1 << CAP_KILL) == 0
}

/// Tries to kill a process of another user by a signal helper. The process is a child that changes its user, as a
/// command may. If it cannot change its user, a command cannot either, except by a program with that right.
///
/// # Errors
/// The child cannot be killed in this way, as in a user namespace, or the trial fails.
pub(super) fn try_out() -> io::Result<()> {
    /// The user that the child becomes. Any user but root will do.
    const USER: libc::uid_t = 65534;
    /// The time limit in milliseconds for the child's end, which takes a moment.
    const PATIENCE: u16 = 2000;
    let signal_helper = SignalHelper::new()?;
    let (told, tell) = pipe2(OFlag::O_CLOEXEC)?;
    let (stay, end) = pipe2(OFlag::O_CLOEXEC)?;
    // SAFETY: fork has no preconditions; the child keeps to system calls.
    let child = unsafe { libc::fork() };
    if child < 0 {
        return Err(io::Error::last_os_error());
    }
    if child == 0 {
        // SAFETY: none of these has memory preconditions. The raw system call is used, as this process may have
        // threads.
        unsafe {
            let failed = libc::syscall(libc::SYS_setresuid, USER, USER, USER) != 0;
            libc::close(end.as_raw_fd());
            let _ = nix::unistd::write(&tell, &[u8::from(failed)]);
            // The child waits for end-of-file here, unless a signal ends it first.
            let _ = nix::unistd::read(&stay, &mut [0]);
            libc::_exit(0)
        }
    }
    drop(tell);
    let mut failed = [1];
    let is_another = nix::unistd::read(&told, &mut failed) == Ok(1) && failed == [0];
    let is_killed = !is_another || {
        signal_helper.send(child, libc::SIGKILL);
        // The child's death closes the other end of this pipe.
        let mut gone = [PollFd::new(told.as_fd(), PollFlags::empty())];
        poll(&mut gone, PATIENCE) == Ok(1)
    };
    drop(end);
    super::children::wait_for(child);
    if is_killed { Ok(()) } else { Err(Errno::EPERM.into()) }
}

//! What the kernel kills by itself: a guardian at the last deadline, and the command's group when its guardian is gone.
//!
//! The dead-man timer: at the last deadline the kernel kills the guardian, and with it, by PDEATHSIG
//! and the death-pipe, the tree. It needs no process to run: it acts while wrapper, guardian and tree
//! are stopped, or frozen by cgroup v2.
//!
//! The death-pipes: two pipes that nobody writes to. Their only write ends are the guardian's; when the
//! guardian dies, however it dies, the kernel closes them and sends KILL to the command's group.
//!
//! The kernel sends the signal on behalf of the read end, as long as anybody has it open: the guardian. So it works
//! while wrapper and guardian are both stopped, and when both are killed. It refers to the group itself, not to its
//! number, so that no later group of that number is hit.
//!
//! Nobody else has a read end. The command is no exception: whoever has one can aim it elsewhere (`F_SETOWN`). Nor is
//! the wrapper: a read end that somebody else closes, as it dies in the same instant, goes when that process says so.
//!
//! There are two because the guardian closes both ends of each. The kernel closes the descriptors of a dead process one
//! after another, and a pipe whose read end goes before its write end kills nobody. Of these two one has its
//! read end numbered lower than its write end, the other higher; so whichever way the kernel goes, one of them
//! still has its reader.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use elect_api::Boottime;
use nix::fcntl::OFlag;
use nix::sys::time::TimeSpec;
use nix::unistd::pipe2;

use super::descriptors::{F_SETSIG, out_of_the_way, read_now};
use super::is_off;

/// A timer of this process on `CLOCK_BOOTTIME` that sends it KILL.
///
/// Made by plain system calls: the C library's own may allocate, and the guardian must not.
pub(super) struct DeadMan(i32);

impl DeadMan {
    /// A timer that is not armed. It belongs to the calling process: forks do not inherit it.
    ///
    /// # Errors
    /// When the kernel refuses another pending signal (`RLIMIT_SIGPENDING`).
    pub(super) fn new() -> io::Result<Self> {
        let mut id: i32 = 0;
        // SAFETY: an all-zero sigevent is valid; the kernel reads it and writes the id, both alive.
        let made = unsafe {
            let mut event: libc::sigevent = mem::zeroed();
            event.sigev_notify = libc::SIGEV_SIGNAL;
            event.sigev_signo = libc::SIGKILL;
            libc::syscall(
                libc::SYS_timer_create,
                libc::CLOCK_BOOTTIME,
                &raw const event,
                &raw mut id,
            )
        };
        if made == 0 { Ok(Self(id)) } else { Err(io::Error::last_os_error()) }
    }

    /// Gives it back.
    ///
    /// # Errors
    /// Never for a timer of this process.
    pub(super) fn delete(self) -> io::Result<()> {
        // SAFETY: the timer is ours, and nobody uses it again.
        let deleted = unsafe { libc::syscall(libc::SYS_timer_delete, self.0) };
        if deleted == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Has it go off at `at`, at once if that has passed; `None` disarms it.
    ///
    /// # Errors
    /// Never for a timer of this process.
    pub(super) fn set(&self, at: Option<Boottime>) -> io::Result<()> {
        // SAFETY: an all-zero itimerspec is valid, and disarms.
        let mut spec: libc::itimerspec = unsafe { mem::zeroed() };
        if let Some(at) = at {
            spec.it_value = *TimeSpec::from(at.since_boot()).as_ref();
        }
        // SAFETY: the timer is ours, the kernel only reads the live spec.
        let set = unsafe {
            libc::syscall(
                libc::SYS_timer_settime,
                self.0,
                libc::TIMER_ABSTIME,
                &raw const spec,
                ptr::null_mut::<libc::itimerspec>(),
            )
        };
        if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// The read ends.
pub(super) struct Readers([OwnedFd; 2]);

/// The write ends: the guardian's alone.
pub(super) struct Writers([OwnedFd; 2]);

/// New ones. They kill nobody before [`Readers::aim`].
///
/// # Errors
/// When no descriptor is left, or the kernel refuses to signal for a pipe.
pub(super) fn new() -> io::Result<(Readers, Writers)> {
    let (lower, writer) = pipe2(OFlag::O_CLOEXEC)?;
    let (lower, writer) = in_order(out_of_the_way(lower)?, out_of_the_way(writer)?)?;
    let (higher, other) = pipe2(OFlag::O_CLOEXEC)?;
    let (other, higher) = in_order(out_of_the_way(other)?, out_of_the_way(higher)?)?;
    let readers = [lower, higher];
    let flags = if is_off!(DeathPipe) { 0 } else { libc::O_ASYNC };
    for read in &readers {
        // SAFETY: both commands take an integer and touch no memory of ours.
        let failed = unsafe {
            libc::fcntl(read.as_raw_fd(), F_SETSIG, libc::SIGKILL) < 0
                || libc::fcntl(read.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK) < 0
        };
        if failed {
            return Err(io::Error::last_os_error());
        }
    }
    Ok((Readers(readers), Writers([writer, other])))
}

/// Tries whether the kernel lets a process be signalled on behalf of a pipe. Nobody is.
///
/// # Errors
/// When it does not.
pub(super) fn try_out() -> io::Result<()> {
    let (readers, _writers) = new()?;
    // Whoever dies in the middle of this must not take its group along.
    // SAFETY: F_SETFL takes an integer and touches no memory of ours.
    let are_silent = readers
        .0
        .iter()
        .all(|read| unsafe { libc::fcntl(read.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) == 0 });
    if !are_silent {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: getpgrp has no preconditions.
    let own = unsafe { libc::getpgrp() };
    let is_aimed = readers.aim(own);
    let error = io::Error::last_os_error();
    if is_aimed && readers.aim(0) { Ok(()) } else { Err(error) }
}

/// The same open files, the first under a lower number than the second.
fn in_order(first: OwnedFd, second: OwnedFd) -> io::Result<(OwnedFd, OwnedFd)> {
    if first.as_raw_fd() < second.as_raw_fd() {
        return Ok((first, second));
    }
    if let Ok(second) = from(&second, first.as_raw_fd() + 1) {
        return Ok((first, second));
    }
    // The numbers above are not to be had.
    let first = from(&first, 3)?;
    let second = from(&second, first.as_raw_fd() + 1)?;
    Ok((first, second))
}

/// The same open file under the lowest free number from `least` on.
fn from(fd: &OwnedFd, least: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: F_DUPFD_CLOEXEC has no memory preconditions.
    let number = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, least) };
    if number < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given us this number, and nobody else knows of it.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

impl Readers {
    /// Has the kernel kill this `group` when the write ends close. Touches nothing but the open pipes, so
    /// that any process that holds them may call this, and it holds for all of them.
    pub(super) fn aim(&self, group: i32) -> bool {
        let readers = if is_off!(TwoPipes) { &self.0[1..] } else { &self.0[..] };
        // SAFETY: F_SETOWN takes an integer and touches no memory of ours.
        readers
            .iter()
            .all(|read| unsafe { libc::fcntl(read.as_raw_fd(), libc::F_SETOWN, -group) == 0 })
    }

    /// Whether nobody has a write end any more.
    pub(super) fn is_over(&self) -> bool {
        self.0.iter().any(|read| matches!(read_now(read, &mut [0]), Ok(Some(0))))
    }

    pub(super) fn descriptors(&self) -> [RawFd; 2] {
        [self.0[0].as_raw_fd(), self.0[1].as_raw_fd()]
    }
}

impl Writers {
    pub(super) fn descriptors(&self) -> [RawFd; 2] {
        [self.0[0].as_raw_fd(), self.0[1].as_raw_fd()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_pipes_one_has_its_reader_first_and_the_other_last() {
        let (readers, writers) = new().expect("two pipes");
        let ([lower, higher], [writer, other]) = (readers.descriptors(), writers.descriptors());
        assert!(lower < writer && higher > other);
        assert!(!readers.is_over());
        drop(writers);
        assert!(readers.is_over());
    }
}

//! Two ways in which the kernel kills by itself: the guardian at the last deadline, and the command's group when its
//! guardian is gone.
//!
//! The dead-man timer: at the last deadline the kernel kills the guardian. PDEATHSIG and the death-pipes then kill the
//! tree. No process needs to run for that. It works while wrapper, guardian and tree are stopped, or frozen by cgroup
//! v2.
//!
//! The death-pipes are two pipes that carry no data. Their only write ends belong to the guardian. When the guardian
//! dies for any reason, the kernel closes them and sends KILL to the command's group.
//!
//! The kernel sends the signal on behalf of a read end that is still open, and only the guardian has it open. So this
//! works while wrapper and guardian are both stopped, and when both are killed. The read end refers to the group itself
//! and not to its number, so it never hits a later group with that number.
//!
//! No other process has a read end. The command must not have one, as it could aim it elsewhere (`F_SETOWN`). The
//! wrapper must not have one either. If the wrapper died in the same instant, its death would decide when that read end
//! closes.
//!
//! There are two pipes because the guardian closes both ends of each. A pipe whose read end closes first kills no
//! process, and the kernel closes the descriptors of a dead process one after another. Linux 6.18 was seen to release
//! the highest number first, and no interface promises an order. So one pipe has its read end numbered lower than its
//! write end, the other one higher. In whichever order the kernel goes, one of them still has its reader.

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

/// A timer of this process on `CLOCK_BOOTTIME` that sends KILL to the process.
///
/// It is made by plain system calls: the functions of the C library may allocate, and the guardian must not.
pub(super) struct DeadMan(i32);

impl DeadMan {
    /// Makes a timer that is not armed. It belongs to the calling process, and forks do not inherit it.
    ///
    /// # Errors
    /// The kernel refuses another pending signal (`RLIMIT_SIGPENDING`).
    pub(super) fn new() -> io::Result<Self> {
        let mut id: i32 = 0;
        // SAFETY: an all-zero sigevent is valid; the kernel reads it and writes the id, and both are alive.
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

    /// Deletes the timer.
    ///
    /// # Errors
    /// Never fails for a timer of this process.
    pub(super) fn delete(self) -> io::Result<()> {
        // SAFETY: the timer belongs to this process, and is not used again.
        let deleted = unsafe { libc::syscall(libc::SYS_timer_delete, self.0) };
        if deleted == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Sets the timer to `at`. It goes off at once if that has passed. `None` disarms it.
    ///
    /// # Errors
    /// Never fails for a timer of this process.
    pub(super) fn set(&self, at: Option<Boottime>) -> io::Result<()> {
        // SAFETY: an all-zero itimerspec is valid, and disarms the timer.
        let mut spec: libc::itimerspec = unsafe { mem::zeroed() };
        if let Some(at) = at {
            spec.it_value = *TimeSpec::from(at.since_boot()).as_ref();
        }
        // SAFETY: the timer belongs to this process, and the kernel only reads the live spec.
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

/// The read ends of the death-pipes.
pub(super) struct Readers([OwnedFd; 2]);

/// The write ends of the death-pipes, which only the guardian has.
pub(super) struct Writers([OwnedFd; 2]);

/// Makes death-pipes. They kill no process before [`Readers::aim`].
///
/// # Errors
/// No descriptor is left, or the kernel refuses to signal for a pipe.
pub(super) fn new() -> io::Result<(Readers, Writers)> {
    let (lower, writer) = pipe2(OFlag::O_CLOEXEC)?;
    let (lower, writer) = in_order(out_of_the_way(lower)?, out_of_the_way(writer)?)?;
    let (higher, other) = pipe2(OFlag::O_CLOEXEC)?;
    let (other, higher) = in_order(out_of_the_way(other)?, out_of_the_way(higher)?)?;
    let readers = [lower, higher];
    let flags = if is_off!(DeathPipe) { 0 } else { libc::O_ASYNC };
    for read in &readers {
        // SAFETY: both commands take an integer and touch no memory of this process.
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

/// Tries whether the kernel can signal a process on behalf of a pipe. No process gets a signal.
///
/// # Errors
/// The kernel refuses it.
pub(super) fn try_out() -> io::Result<()> {
    let (readers, _writers) = new()?;
    // The pipes are silenced first: if this process dies in the middle of the trial, its group must not be killed.
    // SAFETY: F_SETFL takes an integer and touches no memory of this process.
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

/// Returns the same open files, the first one under a lower number than the second.
fn in_order(first: OwnedFd, second: OwnedFd) -> io::Result<(OwnedFd, OwnedFd)> {
    if first.as_raw_fd() < second.as_raw_fd() {
        return Ok((first, second));
    }
    if let Ok(second) = from(&second, first.as_raw_fd() + 1) {
        return Ok((first, second));
    }
    // No number above is free.
    let first = from(&first, 3)?;
    let second = from(&second, first.as_raw_fd() + 1)?;
    Ok((first, second))
}

/// Returns the same open file under the lowest free number from `least` on.
fn from(fd: &OwnedFd, least: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: F_DUPFD_CLOEXEC has no memory preconditions.
    let number = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, least) };
    if number < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just returned this number, and no other object knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

impl Readers {
    /// Makes the kernel kill this `group` when the write ends close. This touches only the open pipes. So any process
    /// that holds them may call it, and it takes effect for all of them.
    pub(super) fn aim(&self, group: i32) -> bool {
        let readers = if is_off!(TwoPipes) { &self.0[1..] } else { &self.0[..] };
        // SAFETY: F_SETOWN takes an integer and touches no memory of this process.
        readers
            .iter()
            .all(|read| unsafe { libc::fcntl(read.as_raw_fd(), libc::F_SETOWN, -group) == 0 })
    }

    /// Returns whether no write end is open any more.
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

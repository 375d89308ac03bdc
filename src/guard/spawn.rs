//! From the guardian to the command: fork, make it killable, exec.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};

use super::channel::MOST_HOLDS;
use super::descriptors::inherit;
use super::dispositions::Dispositions;
use super::image::{Image, Pointers};
use super::{Terminal, death_pipe};

/// All that the command's process needs between fork and exec.
pub(super) struct Launch {
    pub(super) image: Image,
    pub(super) pointers: Pointers,
    /// The signal mask that elect was started with.
    pub(super) mask: SigSet,
    /// What PIPE and CHLD did when elect was started.
    pub(super) dispositions: Dispositions,
    pub(super) terminal: Option<Terminal>,
    pub(super) death_read: OwnedFd,
    /// Closed by the exec, or written to when that fails.
    pub(super) failure_write: Option<OwnedFd>,
}

/// Forks the command, which inherits `holds`. Its process id is also the id of its group, which
/// exists when this returns.
///
/// # Errors
/// The `errno` of the fork.
pub(super) fn spawn(
    launch: &mut Launch,
    holds: &[Option<OwnedFd>; MOST_HOLDS],
    death_write: &OwnedFd,
) -> Result<i32, i32> {
    // SAFETY: getpid and fork have no preconditions; the guardian has one thread, so the child may
    // call anything, and it keeps to system calls all the same.
    let (guardian, pid) = unsafe { (libc::getpid(), libc::fork()) };
    match pid {
        -1 => Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EAGAIN)),
        0 => {
            let errno = become_command(launch, holds, death_write, guardian);
            let place = launch.failure_write.as_ref().map_or(-1, AsRawFd::as_raw_fd);
            // SAFETY: the buffer lives for the call; _exit has no preconditions.
            unsafe {
                libc::write(place, errno.to_ne_bytes().as_ptr().cast(), size_of::<i32>());
                libc::_exit(127)
            }
        }
        pid => {
            // Here and in the child: whoever comes first, the group exists before it is needed.
            // SAFETY: setpgid has no preconditions.
            unsafe { libc::setpgid(pid, pid) };
            // Ours must not keep the exec from being seen.
            launch.failure_write = None;
            Ok(pid)
        }
    }
}

/// Runs in the child; returns the `errno` of what failed.
fn become_command(
    launch: &mut Launch,
    holds: &[Option<OwnedFd>; MOST_HOLDS],
    death_write: &OwnedFd,
    guardian: i32,
) -> i32 {
    // SAFETY: none of these has memory preconditions. Our copy of the write end must not keep the
    // death-pipe alive; nothing uses that number afterwards, as this process executes or exits.
    let own = unsafe {
        libc::close(death_write.as_raw_fd());
        libc::setpgid(0, 0);
        libc::getpid()
    };
    if !death_pipe::aim(&launch.death_read, own) {
        return nix::errno::Errno::last_raw();
    }
    // SAFETY: as above. A guardian that died before the prctl has left us another parent.
    unsafe {
        if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
            return nix::errno::Errno::last_raw();
        }
        if libc::getppid() != guardian {
            libc::_exit(127);
        }
    }
    if let Some(terminal) = &launch.terminal {
        terminal.give_at_start(own);
    }
    inherit(&launch.death_read);
    holds.iter().flatten().for_each(inherit);
    launch.image.set_listener(own);
    launch.dispositions.restore();
    if sigprocmask(SigmaskHow::SIG_SETMASK, Some(&launch.mask), None).is_err() {
        return libc::EINVAL;
    }
    launch.image.exec(&mut launch.pointers)
}

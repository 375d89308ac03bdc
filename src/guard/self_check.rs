//! Tries each system call that guarding rests on, before anything starts. A filter (seccomp) of a container or a unit
//! may refuse any of them, and a guardian could do nothing about it later. Each trial is undone, except for the
//! adoption of orphans.

use std::io;

use nix::errno::Errno;
use nix::poll::{PollTimeout, poll};

use super::bound::adopt_orphans;
use super::dead_man::DeadMan;
use super::{clock, dead_man, limits, priority};

/// Tries the system calls. Those for leases that end by time are tried only if `is_timed`.
///
/// # Errors
/// Returns which call is refused, and why.
pub(super) fn pass(is_timed: bool) -> io::Result<()> {
    // This one stays in force: the wrapper adopts the tree if the guardian dies.
    adopt_orphans()
        .map_err(|error| cannot("adopt orphans (prctl PR_SET_CHILD_SUBREAPER)", &error))?;
    signal().map_err(|error| cannot("signal a group (kill, getpgid)", &error))?;
    wait().map_err(|error| cannot("wait for a process (wait4, waitid)", &error))?;
    poll(&mut [], PollTimeout::ZERO)
        .map_err(|errno| cannot("wait for descriptors (poll)", &errno.into()))?;
    clock::timer()
        .and_then(|timer| clock::arm(&timer, None))
        .map_err(|error| cannot("set a timer (timerfd_create, timerfd_settime)", &error))?;
    dead_man::try_out()
        .map_err(|error| cannot("have a pipe signal (fcntl F_SETOWN, F_SETSIG)", &error))?;
    limits::leave_room(priority::is_real_time())?;
    if is_timed {
        // The guardian makes a timer of its own. A failure there would be noticed too late.
        let timer = DeadMan::new().and_then(|timer| timer.set(None).and_then(|()| timer.delete()));
        timer.map_err(|error| cannot(TIMER, &error))?;
    }
    Ok(())
}

const TIMER: &str =
    "set a timer that kills (timer_create; where signals run out, raise the limit `ulimit -i`)";

pub(super) fn cannot(what: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot {what}: {error}"))
}

fn signal() -> io::Result<()> {
    // SAFETY: none of these has memory preconditions, and no signal is sent.
    let is_allowed = unsafe {
        let own = libc::getpid();
        libc::getpgid(own) >= 0 && libc::kill(own, 0) == 0
    };
    if is_allowed { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn wait() -> io::Result<()> {
    let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: `info` is a valid place for the kernel to write to, and waitpid gets no place for a status. The waitpid
    // waits for a child in a group that does not exist, so that it reaps no process.
    let refused = unsafe {
        let mut info = std::mem::zeroed::<libc::siginfo_t>();
        let outcome = libc::waitid(libc::P_ALL, 0, &raw mut info, flags);
        let outcome = if outcome == 0 { 0 } else { Errno::last_raw() };
        let waited = libc::waitpid(i32::MIN + 1, std::ptr::null_mut(), libc::WNOHANG);
        let waited = if waited >= 0 { 0 } else { Errno::last_raw() };
        [outcome, waited].into_iter().find(|&errno| errno != 0 && errno != libc::ECHILD)
    };
    refused.map_or(Ok(()), |errno| Err(io::Error::from_raw_os_error(errno)))
}

//! The dead-man timer: at the last deadline the kernel kills the guardian, and with it, by PDEATHSIG
//! and the death-pipe, the tree. It needs no process to run: it acts while wrapper, guardian and tree
//! are stopped, or frozen by cgroup v2.

use std::io;
use std::mem;
use std::ptr;

use elect_api::Boottime;
use nix::sys::time::TimeSpec;

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

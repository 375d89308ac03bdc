//! Notices whether a key of the terminal (Ctrl-C, Ctrl-\) went to the command.
//!
//! The kernel sends INT and QUIT to the foreground process group, which is the command's, and the command may exit with
//! 0 after either. So a process of elect joins that group. It blocks all signals and sleeps, so that a key's signal
//! stays pending for it. The kernel has made the signal pending before the command can be seen to end.

use std::os::fd::{AsRawFd, OwnedFd};

use elect_system::path::read_kernel;
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use nix::unistd::pipe2;

use super::{children, descriptors};

/// A child of this process in the command's process group. It lives as long as this value.
pub struct KeyWitness {
    pid: i32,
    /// The write end that keeps the child alive. The kernel closes it when this process dies, which ends the child.
    _stay: OwnedFd,
}

impl KeyWitness {
    /// Forks a witness into `group`. Returns `None` if the group has no process any more, or if the system refuses
    /// another process. Then no key is noticed.
    pub fn join(group: i32) -> Option<Self> {
        let (end, stay) = pipe2(OFlag::O_CLOEXEC).ok()?;
        // SAFETY: fork has no preconditions; the child keeps to system calls.
        match unsafe { libc::fork() } {
            0 => witness(group, &end, stay),
            pid if pid > 0 => Some(Self { pid, _stay: stay }),
            _ => None,
        }
    }

    /// Returns the signal that a key has sent to the group, or INT if both came. Returns `None` also if the command has
    /// killed its whole group, or if `/proc` does not tell. Allocates.
    pub fn heard(&self) -> Option<i32> {
        // Once the child is reaped, its number may belong to a stranger.
        if children::is_dead(self.pid) {
            return None;
        }
        let status = read_kernel(format!("/proc/{}/status", self.pid)).ok()?;
        let pending = status.lines().find_map(|line| line.strip_prefix("ShdPnd:"))?;
        let pending = u64::from_str_radix(pending.trim(), 16).ok()?;
        [libc::SIGINT, libc::SIGQUIT].into_iter().find(|key| pending & (1 << (key - 1)) != 0)
    }
}

impl Drop for KeyWitness {
    /// Kills the child. elect reaps it like its other children.
    fn drop(&mut self) {
        if !children::is_dead(self.pid) {
            // SAFETY: kill has no preconditions; as it is not reaped, the number is its own.
            unsafe { libc::kill(self.pid, libc::SIGKILL) };
        }
    }
}

/// The body of the forked child. It holds no lease, and no descriptor whose end-of-file other processes wait for.
fn witness(group: i32, end: &OwnedFd, stay: OwnedFd) -> ! {
    drop(stay);
    // SAFETY: prctl takes a NUL-terminated name; setpgid and close touch no memory. No object uses the closed
    // descriptors from here on, as this process only reads.
    unsafe {
        libc::prctl(libc::PR_SET_NAME, c"elect-keys".as_ptr());
        let is_deaf = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::all()), None).is_ok();
        if is_deaf && libc::setpgid(0, group) == 0 {
            (0..3).for_each(|standard| _ = libc::close(standard));
            descriptors::close_all_but(&mut [end.as_raw_fd()]);
            while nix::unistd::read(end, &mut [0]) == Err(Errno::EINTR) {}
        }
        libc::_exit(0)
    }
}

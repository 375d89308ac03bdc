//! What a process needs to become the command, and how it does.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use nix::unistd::pipe2;

use super::descriptors::{inherit, out_of_the_way};
use super::image::{Image, Pointers};
use super::priority::Before;
use super::signals::Dispositions;
use super::{Terminal, dead_man};

/// All that the command's process needs between fork and exec.
pub(super) struct Launch {
    pub(super) image: Image,
    pub(super) pointers: Pointers,
    /// The signal mask that elect was started with.
    pub(super) mask: SigSet,
    /// What PIPE and CHLD did when elect was started.
    pub(super) dispositions: Dispositions,
    pub(super) terminal: Option<Terminal>,
    /// Whether the terminal's foreground is due to the command at its start, and ours to give.
    pub(super) in_front: bool,
    pub(super) death_readers: dead_man::Readers,
    /// Closed by the exec, or written to when that fails.
    pub(super) failure_write: Option<OwnedFd>,
}

/// What one process needs to become the command, once it is forked.
pub(super) struct Birth<'a> {
    pub(super) launch: &'a mut Launch,
    /// What the command inherits of all that holds the lease.
    pub(super) marks: &'a [Option<OwnedFd>],
    /// The guardian's ends of the death-pipes, until they are closed here.
    pub(super) death_writers: Option<[RawFd; 2]>,
    pub(super) lease: &'a OwnedFd,
    pub(super) null: &'a OwnedFd,
    /// What the command gets back of the guardian's priority.
    pub(super) before: Before,
    /// What the command's parent is called by it.
    pub(super) guardian: i32,
}

/// A pipe, read end first, by which the exec of a command is seen.
///
/// # Errors
/// When no descriptor is left.
pub(super) fn failure_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)?;
    Ok((out_of_the_way(read)?, out_of_the_way(write)?))
}

impl Birth<'_> {
    /// Our copies of the write ends must not keep the death-pipes alive.
    pub(super) fn let_go_of_the_death_pipes(&mut self) {
        for write in self.death_writers.take().into_iter().flatten() {
            // SAFETY: nothing uses that number afterwards, as this process executes or exits.
            unsafe { libc::close(write) };
        }
    }

    /// Makes this process, freshly forked, the command; or reports what failed, if only the `errno` that it was
    /// `prepared` with, and ends.
    pub(super) fn become_command(&mut self, prepared: Result<(), i32>) -> ! {
        let errno = prepared.err().unwrap_or_else(|| self.execute());
        let place = self.launch.failure_write.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        // SAFETY: the buffer lives for the call; _exit has no preconditions.
        unsafe {
            libc::write(place, errno.to_ne_bytes().as_ptr().cast(), size_of::<i32>());
            libc::_exit(127)
        }
    }

    /// Returns the `errno` of what failed.
    fn execute(&mut self) -> i32 {
        self.let_go_of_the_death_pipes();
        let launch = &mut *self.launch;
        // SAFETY: neither has preconditions.
        let own = unsafe {
            if libc::setpgid(0, 0) != 0 {
                return Errno::last_raw();
            }
            libc::getpid()
        };
        if !launch.death_readers.aim(own) || !self.before.restore() {
            return Errno::last_raw();
        }
        // SAFETY: prctl takes integers here.
        if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } != 0 {
            return Errno::last_raw();
        }
        // A guardian that died before that has left us another parent, which in a namespace of our own
        // has no number either; but then nobody has the other end of the pipe.
        // SAFETY: neither has preconditions.
        unsafe {
            if libc::getppid() != self.guardian || launch.death_readers.is_over() {
                libc::_exit(127);
            }
        }
        if let Some(terminal) = launch.terminal.as_ref().filter(|_| launch.in_front) {
            terminal.give(own);
        }
        self.marks.iter().flatten().for_each(inherit);
        launch.image.set_listener(own);
        launch.dispositions.restore();
        if sigprocmask(SigmaskHow::SIG_SETMASK, Some(&launch.mask), None).is_err() {
            return libc::EINVAL;
        }
        launch.image.exec(&mut launch.pointers)
    }
}

/// What a command is to elect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// What leads, alone: it gets the terminal, and all that elect inherited.
    Leads,
    /// What leads beside others in the same elect: it gets what they write to, and nothing that they would read.
    LeadsAmongOthers,
    /// What helps.
    Helps,
}

impl Role {
    /// Whether it runs as a leader's command: then it is told the token and the lease.
    pub(super) const fn leads(self) -> bool {
        matches!(self, Self::Leads | Self::LeadsAmongOthers)
    }
}

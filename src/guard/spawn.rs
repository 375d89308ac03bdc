//! The steps by which a forked process becomes the command, and the data for them.

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

/// The data that the command's process needs between fork and exec.
pub(super) struct Launch {
    pub(super) image: Image,
    pub(super) pointers: Pointers,
    /// The signal mask that elect was started with.
    pub(super) mask: SigSet,
    /// How PIPE, CHLD, XFSZ and TERM were handled when elect was started.
    pub(super) dispositions: Dispositions,
    pub(super) terminal: Option<Terminal>,
    /// Whether the command must get the terminal's foreground at its start, and elect has it to give.
    pub(super) in_front: bool,
    pub(super) death_readers: dead_man::Readers,
    /// The write end of the failure pipe. The exec closes it, and a failed exec writes to it.
    pub(super) failure_write: Option<OwnedFd>,
}

/// The data that one process needs to become the command after its fork.
pub(super) struct SpawnRequest<'a> {
    pub(super) launch: &'a mut Launch,
    /// The descriptors that the command inherits, of those that hold the lease.
    pub(super) marks: &'a [Option<OwnedFd>],
    /// The guardian's ends of the death-pipes, until this process closes its copies.
    pub(super) death_writers: Option<[RawFd; 2]>,
    pub(super) lease: &'a OwnedFd,
    pub(super) null: &'a OwnedFd,
    /// The scheduling that the command gets, from before the guardian raised its own.
    pub(super) before: Before,
    /// The number of the command's parent, as the command sees it.
    pub(super) guardian: i32,
}

/// Makes the pipe that shows the exec of a command, read end first.
///
/// # Errors
/// No descriptor is left.
pub(super) fn failure_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)?;
    Ok((out_of_the_way(read)?, out_of_the_way(write)?))
}

impl SpawnRequest<'_> {
    /// Closes this process's copies of the write ends, which would keep the death-pipes from acting.
    pub(super) fn let_go_of_the_death_pipes(&mut self) {
        for write in self.death_writers.take().into_iter().flatten() {
            // SAFETY: nothing uses that number afterwards, as this process executes or exits.
            unsafe { libc::close(write) };
        }
    }

    /// Turns this freshly forked process into the command. If that fails, or if `prepared` is an error, reports
    /// the `errno` and ends.
    pub(super) fn become_command(&mut self, prepared: Result<(), i32>) -> ! {
        let errno = prepared.err().unwrap_or_else(|| self.execute());
        let place = self.launch.failure_write.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        // SAFETY: the buffer lives for the call; _exit has no preconditions.
        unsafe {
            libc::write(place, errno.to_ne_bytes().as_ptr().cast(), size_of::<i32>());
            libc::_exit(127)
        }
    }

    /// Executes the command. Returns the `errno` if a step fails.
    fn execute(&mut self) -> i32 {
        self.let_go_of_the_death_pipes();
        let launch = &mut *self.launch;
        // SAFETY: neither call has preconditions.
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
        // If the guardian died before the prctl, this process has another parent. In a namespace of its own, no
        // parent has a visible number. But a dead guardian leaves no write end of the death-pipes open.
        // SAFETY: neither call has preconditions.
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

/// The role of a command for elect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The only command that leads. It gets the terminal, and everything that elect inherited.
    Leads,
    /// A command that leads beside others in the same elect. It gets the streams that they write to, and none
    /// that they would read.
    LeadsAmongOthers,
    /// A helper of elect.
    Helps,
}

impl Role {
    /// Returns whether it runs as a leader's command, and so gets the token and the lease.
    pub(super) const fn leads(self) -> bool {
        matches!(self, Self::Leads | Self::LeadsAmongOthers)
    }
}

//! A process that somebody debugs.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::Result;
use nix::sys::ptrace;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;

use crate::program::eventually;

/// A process whose main thread is held in a ptrace stop, as by a debugger. Takes root, or to be its
/// parent.
///
/// Such a stop is neither a group stop nor a freezer: no `SIGCONT` ends it, `ps` shows it as `t`.
/// Other threads of the process go on. Dropping it lets the process go. If the process is killed in the
/// meantime its own parent learns of that at once, as it does without a debugger.
#[derive(Debug)]
pub struct Traced {
    pid: i32,
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Traced {
    /// Stops a process, and returns when it stands still.
    ///
    /// While this runs nobody else may wait for that process, if it is a child of the test.
    ///
    /// # Panics
    /// When the process is gone, somebody traces it already, or the right to trace it is missing.
    #[track_caller]
    pub fn hold(pid: i32) -> Self {
        Self::start(pid, |pid| {
            ptrace::seize(pid, ptrace::Options::empty())?;
            stop(pid)
        })
    }

    /// Lets a process run, but not end: one that is killed stands still from then on, before any of what it has is
    /// closed, and its children stay its own. So is a command that takes long to give its memory back, and one under
    /// a debugger that waits for a pipe of its own.
    ///
    /// # Panics
    /// As [`Traced::hold`].
    #[track_caller]
    pub fn keep(pid: i32) -> Self {
        Self::start(pid, |pid| ptrace::seize(pid, ptrace::Options::PTRACE_O_TRACEEXIT))
    }

    /// Stops a process, and does not let it end either.
    ///
    /// # Panics
    /// As [`Traced::hold`].
    #[track_caller]
    pub fn hold_and_keep(pid: i32) -> Self {
        Self::start(pid, |pid| {
            ptrace::seize(pid, ptrace::Options::PTRACE_O_TRACEEXIT)?;
            stop(pid)
        })
    }

    #[track_caller]
    fn start(pid: i32, begin: fn(Pid) -> Result<()>) -> Self {
        let (end, ended) = mpsc::channel();
        let (told, held) = mpsc::channel();
        // The tracer is a thread, not a process.
        let thread = thread::spawn(move || {
            let _ = told.send(begin(Pid::from_raw(pid)));
            stay(Pid::from_raw(pid), &ended);
        });
        let traced = Self { pid, end: Some(end), thread: Some(thread) };
        match held.recv() {
            Ok(Ok(())) => traced,
            other => panic!("cannot hold process {pid} ({other:?}); run the tests as root"),
        }
    }

    /// The process.
    pub const fn pid(&self) -> i32 {
        self.pid
    }
}

fn stop(pid: Pid) -> Result<()> {
    ptrace::interrupt(pid)?;
    eventually(&format!("process {pid} to stop"), || {
        // Taken from the kernel, lest a parent in this process take it for an end.
        let flags = WaitPidFlag::WSTOPPED | WaitPidFlag::WNOHANG | WaitPidFlag::__WALL;
        match waitid(Id::Pid(pid), flags) {
            Ok(WaitStatus::StillAlive) if is_over(pid) => Some(Err(nix::Error::ESRCH)),
            Ok(WaitStatus::StillAlive) => None,
            other => Some(other.map(drop)),
        }
    })
}

/// Whether it has ended; that is left to see for its parent. A tracer is shown stops as well, asked for or
/// not.
fn is_over(pid: Pid) -> bool {
    let flags =
        WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT | WaitPidFlag::WNOHANG | WaitPidFlag::__WALL;
    match waitid(Id::Pid(pid), flags) {
        Ok(status) => matches!(status, WaitStatus::Exited(..) | WaitStatus::Signaled(..)),
        Err(_) => true,
    }
}

/// Until told to end, or the process has. The end of this thread detaches it in any case, and a dead one
/// is its parent's only then.
fn stay(pid: Pid, ended: &Receiver<()>) {
    while ended.recv_timeout(Duration::from_millis(1)) == Err(RecvTimeoutError::Timeout) {
        if is_over(pid) {
            return;
        }
    }
    let _ = ptrace::detach(pid, None);
}

impl Drop for Traced {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

//! A process that is held as by a debugger.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::Result;
use nix::sys::ptrace;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;

use crate::program::eventually;

/// A process whose main thread is in a ptrace stop, as under a debugger. Needs root, or to be the parent of the
/// process.
///
/// Such a stop is neither a group stop nor a freezer. No `SIGCONT` ends it, and `ps` shows it as `t`. Other threads
/// of the process go on.
///
/// A drop lets the process go. If the process is killed while it is held, its parent learns of that at once, as
/// without a debugger.
#[derive(Debug)]
pub struct Traced {
    pid: i32,
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Traced {
    /// Stops a process, and returns once it has stopped.
    ///
    /// If the process is a child of the test, no other code may wait for it during this call.
    ///
    /// # Panics
    /// Panics if the process is gone, if another tracer has it, or without the right to trace it.
    #[track_caller]
    pub fn hold(pid: i32) -> Self {
        Self::start(pid, |pid| {
            ptrace::seize(pid, ptrace::Options::empty())?;
            stop(pid)
        })
    }

    /// Lets a process run, but not end. Once killed it stands still, before the kernel closes any of its
    /// descriptors, and keeps its children. A command that takes long to free its memory behaves so, and so does one
    /// whose debugger waits for a pipe of its own.
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
        // The tracer is a thread, not a process of its own.
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

    /// The id of the process.
    pub const fn pid(&self) -> i32 {
        self.pid
    }
}

fn stop(pid: Pid) -> Result<()> {
    ptrace::interrupt(pid)?;
    eventually(&format!("process {pid} to stop"), || {
        // This takes the stop from the kernel, lest a parent in this process take it for an end.
        let flags = WaitPidFlag::WSTOPPED | WaitPidFlag::WNOHANG | WaitPidFlag::__WALL;
        match waitid(Id::Pid(pid), flags) {
            Ok(WaitStatus::StillAlive) if is_over(pid) => Some(Err(nix::Error::ESRCH)),
            Ok(WaitStatus::StillAlive) => None,
            other => Some(other.map(drop)),
        }
    })
}

/// Returns whether the process has ended, and leaves that status to its parent. A tracer also sees stops, whether it
/// asked for them or not.
fn is_over(pid: Pid) -> bool {
    let flags =
        WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT | WaitPidFlag::WNOHANG | WaitPidFlag::__WALL;
    match waitid(Id::Pid(pid), flags) {
        Ok(status) => matches!(status, WaitStatus::Exited(..) | WaitStatus::Signaled(..)),
        Err(_) => true,
    }
}

/// Holds the process until the test drops it or it has ended. The end of this thread detaches the process in any
/// case. Only then can the parent see that it is dead.
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

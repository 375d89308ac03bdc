//! A process that is stopped as it makes a system call.

use std::path::{Path, PathBuf};

use elect_testkit::program::{Elect, Ended, Running, children, eventually};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A program that is stopped, or has ended before.
pub(super) struct Stopped {
    strace: Option<Running>,
    is_over: bool,
}

/// Returns a prefix that stops a program after one of its threads has made one of these system calls for the `nth`
/// time. The trace goes to the file `log`.
pub(super) fn stopping(calls: &str, nth: usize, log: &str) -> [String; 8] {
    let trace = format!("trace={calls}");
    let inject = format!("inject={calls}:signal=STOP:when={nth}");
    ["strace", "-f", "-o", log, "-e", &trace, "-e", &inject].map(str::to_owned)
}

/// Returns true if the program has been stopped, as this log says.
pub(super) fn was_stopped(log: &Path) -> bool {
    std::fs::read_to_string(log).is_ok_and(|text| text.contains("--- stopped by SIGSTOP ---"))
}

impl Stopped {
    /// Starts a program that is stopped after one of its threads, or of its descendants', has made one of these system
    /// calls for the `nth` time. The trace goes to this folder.
    pub(super) fn at(elect: Elect, calls: &str, nth: usize, folder: &Path) -> Self {
        let log: PathBuf = folder.join(format!("strace-{nth}"));
        let _ = std::fs::remove_file(&log);
        let words = stopping(calls, nth, &log.display().to_string());
        let mut strace = elect.under(words).spawn();
        let is_over = eventually("it to stop or to end", || {
            let ended = !strace.is_running();
            if was_stopped(&log) { Some(false) } else { ended.then_some(true) }
        });
        Self { strace: Some(strace), is_over }
    }

    /// Returns true if the program ended before it had made so many.
    pub(super) const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Kills it.
    pub(super) fn kill(mut self) {
        self.send(Signal::SIGKILL);
        self.take().wait().exits(137);
    }

    /// Has it go on, as often as it is stopped, until it ends.
    pub(super) fn go_on(mut self) -> Ended {
        eventually("it to end", || {
            // Each of its threads is stopped once.
            self.send(Signal::SIGCONT);
            (!self.strace.as_mut()?.is_running()).then_some(())
        });
        self.take().wait()
    }

    fn take(&mut self) -> Running {
        self.strace.take().expect("present until its end")
    }

    /// Sends a signal to the program and all its descendants.
    fn send(&mut self, signal: Signal) {
        let mut found = self.strace.as_mut().map_or_else(Vec::new, |strace| children(strace.pid()));
        while let Some(pid) = found.pop() {
            found.extend(children(pid));
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        self.send(Signal::SIGKILL);
    }
}

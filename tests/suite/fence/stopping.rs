//! A process that is stopped as it makes a system call.

use std::path::{Path, PathBuf};

use elect_testkit::program::{Elect, Ended, Running, children, eventually};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// One that is stopped, or has come to its end before.
pub(super) struct Stopped {
    strace: Running,
    pid: Option<i32>,
}

impl Stopped {
    /// Starts a program that is stopped when one of its threads has made one of these system calls for the
    /// `nth` time. What is written down of it goes to this folder.
    pub(super) fn at(elect: Elect, calls: &str, nth: usize, folder: &Path) -> Self {
        let log: PathBuf = folder.join(format!("strace-{nth}"));
        let _ = std::fs::remove_file(&log);
        let trace = format!("trace={calls}");
        let inject = format!("inject={calls}:signal=STOP:when={nth}");
        let log_path = log.display().to_string();
        let mut strace =
            elect.under(["strace", "-f", "-o", &log_path, "-e", &trace, "-e", &inject]).spawn();
        let pid = eventually("it to stop or to end", || {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            if text.contains("--- stopped by SIGSTOP ---") {
                return Some(children(strace.pid()).first().copied());
            }
            (!strace.is_running()).then_some(None)
        });
        Self { strace, pid }
    }

    /// Whether it ended without having made so many.
    pub(super) const fn is_over(&self) -> bool {
        self.pid.is_none()
    }

    /// Kills it.
    pub(super) fn kill(self) {
        if let Some(pid) = self.pid {
            kill(Pid::from_raw(pid), Signal::SIGKILL).expect("it is there");
        }
        self.strace.wait().exits(137);
    }

    /// Has it go on, as often as it is stopped, until it ends.
    pub(super) fn go_on(mut self) -> Ended {
        if let Some(pid) = self.pid {
            eventually("it to end", || {
                // Each of its threads is stopped once.
                let _ = kill(Pid::from_raw(pid), Signal::SIGCONT);
                (!self.strace.is_running()).then_some(())
            });
        }
        self.strace.wait()
    }
}

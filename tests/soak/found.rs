//! A process that another program started. Its number may belong to another process one day.

use std::fs;

use elect_testkit::program::children;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A process, by its number and its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) pid: i32,
    /// In ticks since boot.
    started: u64,
}

impl Found {
    /// `None` if it is gone.
    pub(crate) fn of(pid: i32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, fields) = stat.rsplit_once(") ")?;
        Some(Self { pid, started: fields.split(' ').nth(19)?.parse().ok()? })
    }

    /// Sends it a signal, if it is still there.
    pub(crate) fn signal(self, signal: Signal) {
        if Self::of(self.pid) == Some(self) {
            let _ = kill(Pid::from_raw(self.pid), signal);
        }
    }
}

/// All descendants of a process.
pub(crate) fn descendants(pid: i32) -> Vec<Found> {
    let children = children(pid);
    let mut found: Vec<Found> = children.iter().filter_map(|&child| Found::of(child)).collect();
    found.extend(children.into_iter().flat_map(descendants));
    found
}

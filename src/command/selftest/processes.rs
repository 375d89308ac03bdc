//! Other processes, as `/proc` shows them.

use std::fs;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The name that a guardian has.
const GUARDIAN: &str = "elect-guardian";

/// The guardian of this wrapper, if `/proc` shows one.
pub(super) fn guardian_of(wrapper: i32) -> Option<i32> {
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let mut pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.find(|&pid| {
        Stat::of(pid).is_some_and(|stat| stat.parent == wrapper && stat.name == GUARDIAN)
    })
}

/// Whether a process is stopped, as far as `/proc` tells.
pub(super) fn is_stopped(pid: i32) -> bool {
    Stat::of(pid).is_some_and(|stat| stat.state == 'T')
}

/// Signals a process that may be gone by now.
pub(super) fn signal(pid: i32, signal: Signal) {
    let _ = kill(Pid::from_raw(pid), signal);
}

struct Stat {
    name: String,
    state: char,
    parent: i32,
}

impl Stat {
    fn of(pid: i32) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, rest) = text.split_once('(')?;
        let (name, rest) = rest.rsplit_once(") ")?;
        let mut words = rest.split(' ');
        let state = words.next()?.chars().next()?;
        Some(Self { name: name.to_owned(), state, parent: words.next()?.parse().ok()? })
    }
}

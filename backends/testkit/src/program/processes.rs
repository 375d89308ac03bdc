//! What tests see of the processes of this machine, and copies of programs.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Returns the children of all threads of a process.
pub fn children(pid: i32) -> Vec<i32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists = threads
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>()
        })
        .collect()
}

/// Returns a process's own name for itself, or `None` if it is gone.
pub fn name(pid: i32) -> Option<String> {
    fs::read_to_string(format!("/proc/{pid}/comm")).ok().map(|name| name.trim_end().to_owned())
}

/// Returns whether a process exists and is no zombie.
pub fn is_alive(pid: i32) -> bool {
    state(pid).is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// Returns the state of a process as `ps` shows it: `R`, `S`, `T`, `Z`, ...
pub fn state(pid: i32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Returns the peak memory of a process in KiB, or `None` if it is gone.
pub fn peak_memory(pid: i32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

/// Copies a program, so that it can be executed at once.
///
/// A child process writes the copy. A descriptor of this process that is open for writing would reach each child that
/// another thread forks meanwhile, and the kernel executes no file that a process may still write (`ETXTBSY`).
///
/// # Panics
/// Panics if it cannot be copied.
#[track_caller]
pub fn copy(program: &Path, copy: &Path) {
    let copied = Command::new("cp").arg("--").args([program, copy]).status().expect("cp starts");
    assert!(copied.success(), "no copy of {} at {}", program.display(), copy.display());
}

/// Does the same as [`copy()`], by a hard link where one can be made, as programs of tests are large.
///
/// # Panics
/// As [`copy()`].
#[track_caller]
pub fn link_or_copy(program: &Path, other: &Path) {
    fs::hard_link(program, other).unwrap_or_else(|_| copy(program, other));
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn a_copy_can_be_executed_while_other_threads_fork() {
        let folder = tempfile::tempdir().expect("a folder");
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        Command::new("true").status().expect("it starts");
                    }
                });
            }
            let executed = (0..100).map(|number| {
                let program = folder.path().join(number.to_string());
                copy(Path::new("/bin/true"), &program);
                Command::new(program).status()
            });
            let executed: Vec<_> = executed.collect();
            is_over.store(true, Ordering::Relaxed);
            for status in executed {
                status.expect("it is executed");
            }
        });
    }
}

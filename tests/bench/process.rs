//! Facts about processes, as the kernel tells them.

use std::fs;
use std::process::Child;
use std::time::Duration;

use elect_testkit::program::children;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Sends a child a signal.
pub(crate) fn signal(child: &Child, signal: Signal) {
    kill(pid(child), signal).expect("it was not waited for");
}

/// Returns the processor time of a child and its children.
pub(crate) fn processor_time(child: &Child) -> Duration {
    family(child).into_iter().map(processor_time_of_one).sum()
}

/// The proportional share of memory of a child, with its children, in megabytes.
pub(crate) fn memory(child: &Child) -> f64 {
    family(child).into_iter().map(|pid| megabytes(memory_of_one(pid))).sum()
}

/// Returns the memory that is still available, in megabytes.
pub(crate) fn free_memory() -> f64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    megabytes(kib(&text, "MemAvailable:"))
}

/// The wrapper and its guardian, or whatever a peer consists of.
fn family(child: &Child) -> Vec<i32> {
    let wrapper = pid(child).as_raw();
    std::iter::once(wrapper).chain(children(wrapper)).collect()
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(child.id().cast_signed())
}

/// The proportional share, in KiB.
fn memory_of_one(pid: i32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    kib(&text, "Pss:")
}

fn kib(text: &str, name: &str) -> u64 {
    let rest = text.lines().find_map(|line| line.strip_prefix(name));
    rest.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

#[expect(clippy::cast_precision_loss, reason = "no machine has so much memory")]
pub(crate) fn megabytes(kib: u64) -> f64 {
    kib as f64 / 1024.0
}

/// With its threads.
fn processor_time_of_one(pid: i32) -> Duration {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Duration::ZERO };
    let ran = |task: fs::DirEntry| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
    };
    tasks.flatten().filter_map(ran).sum()
}

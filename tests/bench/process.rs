//! What the kernel tells of processes.

use std::fs;
use std::time::Duration;

/// The proportional share of memory of a process, in KiB.
pub(crate) fn memory(pid: i32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let share = text.lines().find_map(|line| line.strip_prefix("Pss:"));
    share.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

/// How long a process and its threads have had a processor.
pub(crate) fn processor_time(pid: i32) -> Duration {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Duration::ZERO };
    let ran = |task: fs::DirEntry| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
    };
    tasks.flatten().filter_map(ran).sum()
}

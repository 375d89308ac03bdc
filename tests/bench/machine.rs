//! What figures were measured on.

use std::fs;

use serde_json::{Value, json};

/// The processors, memory and kernel of this machine.
pub(crate) fn told() -> Value {
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    json!({
        "processor": field("/proc/cpuinfo", "model name"),
        "processors": processors,
        "memory": field("/proc/meminfo", "MemTotal"),
        "kernel": kernel.trim_end(),
    })
}

/// What stands behind a name and a colon.
fn field(path: &str, name: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_prefix(':'));
    value.unwrap_or_default().trim().to_owned()
}

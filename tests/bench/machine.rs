//! Describes the machine on which the figures were measured.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::databases::{MARIADB, POSTGRESQL};

/// The processors, memory, kernel and file system of this machine, the commit, and the programs beside elect.
pub(crate) fn told() -> Value {
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    let temporary = std::env::temp_dir().display().to_string();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    json!({
        "processor": field("/proc/cpuinfo", "model name"),
        "processors": processors,
        "memory": field("/proc/meminfo", "MemTotal"),
        "kernel": kernel.trim_end(),
        "file system": said("stat", &["--file-system", "--format=%T", &temporary]),
        "commit": said("git", &["rev-parse", "--short", "HEAD"]),
        "flock": said("flock", &["--version"]),
        "etcd": said("etcd", &["--version"]),
        "psql": said(&(POSTGRESQL.client)().display().to_string(), &["--version"]),
        "mariadb": said(&(MARIADB.client)().display().to_string(), &["--version"]),
        "etcdctl": said("etcdctl", &["version"]),
    })
}

/// The first line that a program prints; nothing where there is none.
fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).env("ETCDCTL_API", "3").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    text.unwrap_or_default().lines().next().unwrap_or_default().to_owned()
}

/// Returns the value that follows a name and a colon.
fn field(path: &str, name: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_prefix(':'));
    value.unwrap_or_default().trim().to_owned()
}

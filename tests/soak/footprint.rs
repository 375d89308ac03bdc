//! The memory and descriptors that a process holds.

use std::fmt;
use std::fs;

/// The resources that a process holds at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Footprint {
    pub(crate) resident_kib: u64,
    pub(crate) descriptors: usize,
}

impl Footprint {
    /// `None` if it is gone.
    pub(crate) fn of(pid: i32) -> Option<Self> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        Some(Self {
            resident_kib: resident.trim().strip_suffix(" kB")?.parse().ok()?,
            descriptors: fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count(),
        })
    }
}

impl fmt::Display for Footprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} KiB, {} descriptors", self.resident_kib, self.descriptors)
    }
}

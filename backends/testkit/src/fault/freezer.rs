//! Cgroups whose processes a test freezes, in both versions of cgroups.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::program::eventually;

/// A cgroup that a test creates, and whose processes it can freeze. Needs root.
///
/// A drop kills all processes in it, frozen or not, and removes it.
#[derive(Debug)]
pub struct Cgroup {
    folder: PathBuf,
    version: Version,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl Version {
    /// Returns the root of the hierarchy, if the list of mounts has it.
    fn root(self, mounts: &str) -> Option<PathBuf> {
        mounts.lines().find_map(|line| {
            let fields: Vec<&str> = line.split(' ').collect();
            let [_, place, kind, options, ..] = fields[..] else { return None };
            let is_it = match self {
                Self::One => kind == "cgroup" && options.split(',').any(|word| word == "freezer"),
                Self::Two => kind == "cgroup2",
            };
            is_it.then(|| place.replace("\\040", " ").into())
        })
    }

    const fn mount(self) -> &'static str {
        match self {
            Self::One => {
                "cgroup v1 with its freezer is not mounted; run as root: \
                 mkdir -p /sys/fs/cgroup/freezer && \
                 mount -t cgroup -o freezer none /sys/fs/cgroup/freezer"
            }
            Self::Two => {
                "cgroup v2 is not mounted; run as root: mount -t cgroup2 none /sys/fs/cgroup"
            }
        }
    }
}

impl Cgroup {
    /// Creates a cgroup of version 1. Its freezer stops processes even where a debugger could not.
    ///
    /// # Panics
    /// Panics if the freezer is not mounted (the message names the command to mount it), or without
    /// root.
    #[track_caller]
    pub fn v1() -> Self {
        Self::make(Version::One)
    }

    /// Creates a cgroup of version 2.
    ///
    /// # Panics
    /// Panics if the hierarchy is not mounted (the message names the command to mount it), or
    /// without root.
    #[track_caller]
    pub fn v2() -> Self {
        Self::make(Version::Two)
    }

    #[track_caller]
    fn make(version: Version) -> Self {
        let mounts = fs::read_to_string("/proc/self/mounts").expect("a list of mounts");
        let root = version.root(&mounts).unwrap_or_else(|| panic!("{}", version.mount()));
        let name = format!("elect-test-{}-{:016x}", std::process::id(), fastrand::u64(..));
        let folder = root.join(name);
        if let Err(error) = fs::create_dir(&folder) {
            panic!("cannot make {}: {error}; run the tests as root", folder.display());
        }
        Self { folder, version }
    }

    /// Returns words that start a program in this cgroup, for
    /// [`Elect::under`](crate::program::Elect::under).
    pub fn enter(&self) -> [String; 4] {
        let script = format!("echo $$ > '{}/cgroup.procs' && exec \"$@\"", self.folder.display());
        ["sh".into(), "-c".into(), script, "sh".into()]
    }

    /// Returns the ids of the processes in it.
    pub fn processes(&self) -> Vec<i32> {
        let list = fs::read_to_string(self.folder.join("cgroup.procs")).unwrap_or_default();
        list.lines().filter_map(|pid| pid.parse().ok()).collect()
    }

    /// Freezes all its processes, or thaws them. Returns when that is done.
    ///
    /// # Panics
    /// Panics if the kernel does not do it within [`PATIENCE`](crate::program::PATIENCE).
    #[track_caller]
    pub fn freeze(&self, frozen: bool) {
        let (file, word) = self.switch(frozen);
        fs::write(&file, word).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        eventually(&format!("{} with {word}", file.display()), || {
            (self.is_frozen() == frozen).then_some(())
        });
    }

    fn switch(&self, frozen: bool) -> (PathBuf, &'static str) {
        match self.version {
            Version::One => {
                (self.folder.join("freezer.state"), if frozen { "FROZEN" } else { "THAWED" })
            }
            Version::Two => (self.folder.join("cgroup.freeze"), if frozen { "1" } else { "0" }),
        }
    }

    /// Returns whether every process in it is frozen. It is `false` while one has yet to stop.
    pub fn is_frozen(&self) -> bool {
        let read = |file: &str| fs::read_to_string(self.folder.join(file)).unwrap_or_default();
        match self.version {
            Version::One => read("freezer.state").trim_end() == "FROZEN",
            Version::Two => read("cgroup.events").lines().any(|line| line == "frozen 1"),
        }
    }

    /// Its folder, for uses that this type has no method for.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn kill(&self) {
        // Version 1 has no such file, and neither has version 2 before Linux 5.14.
        if fs::write(self.folder.join("cgroup.kill"), "1").is_err() {
            for pid in self.processes() {
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
        }
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // The kill comes first, so that no process runs again once it is thawed.
        for _ in 0..1_000 {
            self.kill();
            let (file, word) = self.switch(false);
            let _ = fs::write(file, word);
            if fs::remove_dir(&self.folder).is_ok() {
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freezers_are_found_wherever_they_are() {
        let mounts = "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n\
                      none /my\\040freezer cgroup rw,relatime,freezer 0 0\n\
                      cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        assert_eq!(Version::One.root(mounts), Some("/my freezer".into()));
        assert_eq!(Version::Two.root(mounts), Some("/sys/fs/cgroup/unified".into()));
        let other = "none /freezer tmpfs rw,freezer 0 0\ncgroup /c cgroup rw,cpu 0 0\n";
        assert_eq!((Version::One.root(other), Version::Two.root(other)), (None, None));
    }
}

//! The oracle: a record of what every process of every command tree did, written by the processes themselves.
//!
//! Each process of a [`Stamper`]'s tree takes its own slot in a file that all of them map. Each millisecond it writes
//! the time (`CLOCK_BOOTTIME`) there, beside its fencing token. The verdict comes from these stamps alone: while a
//! process of one token stamps, no process of another token may.
//!
//! Stamps are a millisecond apart, and a stopped process makes none. So there is a second witness. The kernel marks the
//! slot of a process that dies, because the process owns a robust futex there. Each process checks at its start whether
//! one with another token is not dead yet.
//!
//! No store can wait for the end of a process that has closed its descriptors. For such a process it is enough that the
//! kernel has killed it. On a busy machine it may take a while to disappear, but it executes nothing in that time.

mod bomb;
mod crowd;
mod killed;
mod map;
mod plan;
mod process;
mod stamper;
mod verdict;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::{NamedTempFile, TempPath};

pub use self::bomb::fork_bomb;
pub use self::crowd::{Crowd, Habit};
use self::map::Map;
pub use self::stamper::Stamper;
pub use self::verdict::{Fault, Process, Run, Verdict};
pub use crate::clock::now;
use crate::program::{eventually, state};

/// One file of stamps. A drop kills every stamper that still lives.
pub struct Oracle {
    map: Map,
    path: TempPath,
}

impl Oracle {
    /// Creates a file without stamps.
    #[expect(clippy::new_without_default, reason = "it makes a file")]
    pub fn new() -> Self {
        // Stamps on a disk would wait for its write-back now and then.
        let shared_memory = Path::new("/dev/shm");
        let folder =
            if shared_memory.is_dir() { shared_memory.into() } else { std::env::temp_dir() };
        let file = NamedTempFile::with_prefix_in("elect-oracle-", folder).expect("a file");
        let map = Map::create(file.as_file()).expect("a map of stamps");
        process::link();
        Self { map, path: file.into_temp_path() }
    }

    /// Returns a command that stamps here.
    pub fn stamper(&self, tag: &str) -> Stamper {
        Stamper::new(&self.path, tag)
    }

    /// Lets processes of every user stamp.
    ///
    /// # Panics
    /// Panics if another user owns the file.
    pub fn open_to_all(&self) {
        use std::os::unix::fs::PermissionsExt;
        let all = std::fs::Permissions::from_mode(0o666);
        std::fs::set_permissions(&self.path, all).expect("our own file");
    }

    /// Returns an unused path beside the stamps, for [`Stamper::until`].
    pub fn flag(&self, name: &str) -> Flag {
        let mut path = self.path.to_path_buf().into_os_string();
        path.push(".");
        path.push(name);
        Flag(path.into())
    }

    /// Returns the verdict on the stamps so far.
    pub fn verdict(&self) -> Verdict {
        Verdict::of(&self.map.slots())
    }

    /// Returns the runs so far, in the order of time.
    ///
    /// # Panics
    /// Panics if two runs overlapped, or if tokens did not rise. The message has all that is known.
    #[track_caller]
    pub fn assert_sound(&self) -> Vec<Run> {
        let Verdict { runs, faults } = self.verdict();
        let mut said = String::new();
        for fault in &faults {
            let _ = writeln!(said, "  {fault}");
        }
        for run in &runs {
            let _ = writeln!(said, "    {run}");
        }
        assert!(faults.is_empty(), "{} faults among {} runs:\n{said}", faults.len(), runs.len());
        runs
    }

    /// Returns the number of runs so far and of the faults among them, for tests that expect faults.
    pub fn count(&self) -> (usize, usize) {
        let Verdict { runs, faults } = self.verdict();
        (runs.len(), faults.len())
    }

    /// Returns the newest run with this tag, which may still grow.
    pub fn newest(&self, tag: &str) -> Option<Run> {
        self.verdict().runs.into_iter().rfind(|run| run.tag == tag)
    }

    /// Waits until every process of a run with this tag has stamped.
    #[track_caller]
    pub fn wait_for_run(&self, tag: &str) -> Run {
        eventually(&format!("all processes of {tag}"), || self.newest(tag).filter(Run::is_complete))
    }

    /// Waits until no process with this tag lives.
    #[track_caller]
    pub fn wait_for_end(&self, tag: &str) -> Run {
        eventually(&format!("the end of {tag}"), || self.newest(tag).filter(|run| !run.is_alive()))
    }

    /// Waits until every living process with this tag has stamped for another `span`.
    #[track_caller]
    pub fn wait_for_stamps(&self, tag: &str, span: Duration) -> Run {
        let from = now() + span;
        eventually(&format!("more stamps of {tag}"), || {
            let run = self.newest(tag)?;
            run.processes.iter().all(|p| !p.is_alive || p.last >= from).then_some(run)
        })
    }

    /// Waits until all these processes are stopped.
    #[track_caller]
    pub fn wait_for_stop(processes: &[Process]) {
        eventually("processes to stop", || {
            processes.iter().all(|process| state(process.pid) == Some('T')).then_some(())
        });
    }

    /// Returns whether this process is a stamper of this oracle. One in a pid namespace has another number there.
    fn is_ours(&self, pid: i32) -> bool {
        let path = self.path.to_string_lossy();
        std::fs::read(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|line| String::from_utf8_lossy(&line).contains(&*path))
    }

    /// Returns the ids of all living stampers.
    pub fn living(&self) -> Vec<i32> {
        let slots = self.map.slots();
        slots.iter().filter(|slot| slot.is_alive).map(|slot| slot.pid).collect()
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        for pid in self.living().into_iter().filter(|&pid| self.is_ours(pid)) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }
}

/// A file that stampers wait for. A drop removes it.
pub struct Flag(PathBuf);

impl Flag {
    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Creates the file. All stampers that wait for it end.
    pub fn raise(&self) {
        std::fs::write(&self.0, "").expect("a flag");
    }
}

impl Drop for Flag {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests;

//! When which process ran, as the processes themselves say it.
//!
//! Each has a file of its own, `TAG.TOKEN.PID`, with three numbers: its first and its newest stamp, in
//! nanoseconds of `CLOCK_BOOTTIME`, and the token of a tree that was not dead when it started, or 0. It is
//! locked as long as the process lives.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use elect_api::Boottime;

use crate::guard;

const LENGTH: usize = 24;

/// A folder of stamps.
#[derive(Clone, Debug)]
pub(super) struct Stamps(PathBuf);

/// What one process has left.
#[derive(Clone, Debug)]
struct Trace {
    token: u64,
    first: Boottime,
    last: Boottime,
    is_alive: bool,
    beside: bool,
}

/// What all processes of one tree have left.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    /// How many they are.
    pub(super) processes: usize,
    /// The first stamp of any of them.
    pub(super) first: Boottime,
    /// The newest stamp of any of them.
    pub(super) last: Boottime,
    /// Whether one of them lives.
    pub(super) is_alive: bool,
    /// Its fencing token.
    pub(super) token: u64,
    /// Whether a process of another tree was alive when one of them started.
    pub(super) is_beside: bool,
}

/// The file of this process.
pub(super) struct Stamper {
    file: File,
}

impl Stamps {
    pub(super) const fn new(folder: PathBuf) -> Self {
        Self(folder)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.0
    }

    /// What tells the main process of a tree to end.
    pub(super) fn end_of(&self, tag: &str) -> PathBuf {
        self.0.join(format!("{tag}-end"))
    }

    /// The tree of this tag, as far as it has come.
    pub(super) fn tree(&self, tag: &str) -> Option<Tree> {
        let traces: Vec<Trace> =
            self.files().filter(|(found, ..)| found == tag).filter_map(read).collect();
        Some(Tree {
            processes: traces.len(),
            first: traces.iter().map(|trace| trace.first).min()?,
            last: traces.iter().map(|trace| trace.last).max()?,
            is_alive: traces.iter().any(|trace| trace.is_alive),
            token: traces.iter().map(|trace| trace.token).max()?,
            is_beside: traces.iter().any(|trace| trace.beside),
        })
    }

    /// Each file with its tag and token.
    fn files(&self) -> impl Iterator<Item = (String, u64, PathBuf)> {
        let found = fs::read_dir(&self.0).into_iter().flatten().flatten();
        found.filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let mut parts = name.split('.');
            let (tag, token) = (parts.next()?.to_owned(), parts.next()?.parse().ok()?);
            parts.next().is_some_and(|pid| pid.parse::<u32>().is_ok()).then_some(())?;
            Some((tag, token, entry.path()))
        })
    }

    /// Makes the first stamp of this process.
    pub(super) fn start(&self, tag: &str, token: u64) -> io::Result<Stamper> {
        let path = self.0.join(format!("{tag}.{token}.{}", std::process::id()));
        let unfinished = path.with_extension("new");
        let file = OpenOptions::new().write(true).create_new(true).open(&unfinished)?;
        file.lock()?;
        let now = nanos();
        file.write_all_at(&[now, now, 0].map(u64::to_ne_bytes).concat(), 0)?;
        // From here on others see it: of two that start at once at least one sees the other.
        fs::rename(&unfinished, &path)?;
        let is_beside = self.files().any(|(_, other, path)| other != token && is_locked(&path));
        let stamper = Stamper { file };
        if is_beside {
            stamper.file.write_all_at(&1_u64.to_ne_bytes(), 16)?;
        }
        Ok(stamper)
    }
}

impl Stamper {
    /// Makes a stamp.
    pub(super) fn stamp(&self) -> io::Result<()> {
        self.file.write_all_at(&nanos().to_ne_bytes(), 8)
    }
}

fn read((_, token, path): (String, u64, PathBuf)) -> Option<Trace> {
    // In this order: the newest stamp of a process that is seen dead is its very last.
    let is_alive = is_locked(&path);
    let file = File::open(&path).ok()?;
    let mut bytes = [0; LENGTH];
    file.read_exact_at(&mut bytes, 0).ok()?;
    let number = |index: usize| {
        let bytes = bytes[index * 8..][..8].try_into().unwrap_or_default();
        u64::from_ne_bytes(bytes)
    };
    let instant = |index| Boottime::from_boot(Duration::from_nanos(number(index)));
    let (first, last) = (instant(0), instant(1));
    Some(Trace { token, first, last, is_alive, beside: number(2) != 0 })
}

fn is_locked(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

fn nanos() -> u64 {
    u64::try_from(guard::now().since_boot().as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::Stamps;

    #[test]
    fn a_tree_is_what_its_processes_have_left() {
        let folder = tempfile::tempdir().unwrap();
        let stamps = Stamps::new(folder.path().to_owned());
        assert!(stamps.tree("A").is_none());
        let stamper = stamps.start("A", 7).unwrap();
        stamper.stamp().unwrap();
        let tree = stamps.tree("A").unwrap();
        assert_eq!((tree.processes, tree.token, tree.is_beside), (1, 7, false));
        assert!(tree.is_alive && tree.first <= tree.last);
        drop(stamper);
        assert!(!stamps.tree("A").unwrap().is_alive);
    }

    #[test]
    fn who_starts_beside_the_living_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let stamps = Stamps::new(folder.path().to_owned());
        let a = stamps.start("A", 7).unwrap();
        let b = stamps.start("B", 8).unwrap();
        assert!(stamps.tree("B").unwrap().is_beside && !stamps.tree("A").unwrap().is_beside);
        drop((a, b));
        stamps.start("C", 9).unwrap();
        assert!(!stamps.tree("C").unwrap().is_beside);
    }
}

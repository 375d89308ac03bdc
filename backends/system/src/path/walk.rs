use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, open, openat, readlinkat};
use nix::libc;
use nix::sys::stat::{FileStat, Mode, fstat, fstatat};
use nix::sys::statfs::{PROC_SUPER_MAGIC, fstatfs};
use nix::sys::statvfs::{FsFlags, fstatvfs};

/// The kernel's own limit of links on one path.
const MAX_LINKS: u32 = 40;

/// The inode number of the folder `/proc` itself, whose links are ordinary ones.
const PROC_ROOT: libc::ino_t = 1;

/// Flags that open a folder only for finding names in it.
const SEARCH: OFlag = OFlag::O_PATH.union(OFlag::O_DIRECTORY).union(OFlag::O_CLOEXEC);

/// A walk along a path, step by step. Each step can be judged, and no step can be redirected between its check and its
/// use.
#[derive(Debug)]
pub struct Walk {
    here: OwnedFd,
    seen: PathBuf,
    todo: VecDeque<OsString>,
    links: u32,
    steps: Vec<Step>,
    last: Last,
}

/// The handling of a symbolic link that has the last name of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// Go where it leads.
    Followed,
    /// Stop at the link.
    AsItIs,
}

/// A folder or a symbolic link on the way.
#[derive(Clone, Debug)]
pub struct Step {
    /// The path of this step.
    pub path: PathBuf,
    /// The metadata of this step, with its owner.
    pub stat: FileStat,
    /// Whether users other than the owner can change the entries in it. A read-only mount counts as closed: Kubernetes
    /// mounts a `ConfigMap` read-only, but with all mode bits set.
    pub is_open: bool,
    /// Whether this is a folder of a process, below `/proc`. Its owner is the user of that process, and no user put it
    /// there.
    pub is_of_a_process: bool,
}

/// The reason why a walk stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// At the end. The last name is in the folder, and is not a link that the walk follows.
    There(OsString),
    /// At the end. The last name is one of the kernel's links to an open descriptor of a process.
    Open(OsString),
    /// The folder has no such name. The walk can go on once it has.
    Missing(OsString),
    /// The next step failed with this error.
    Closed(Errno),
}

impl Step {
    /// Whether it is a symbolic link.
    pub const fn is_link(&self) -> bool {
        super::is_link(&self.stat)
    }

    /// Whether only an entry's own owner, and the folder's, can replace an entry in it.
    pub const fn is_sticky(&self) -> bool {
        self.stat.st_mode & libc::S_ISVTX != 0
    }
}

impl Walk {
    /// Starts a walk at the beginning of the path: the root folder, or the current folder.
    ///
    /// # Errors
    /// If that folder cannot be entered.
    pub fn along(path: &Path, last: Last) -> Result<Self, Errno> {
        let start = Path::new(if path.is_absolute() { "/" } else { "." });
        let here = open(start, SEARCH, Mode::empty())?;
        let steps = vec![step(&here, start)?];
        let seen = if path.is_absolute() { start.to_owned() } else { PathBuf::new() };
        Ok(Self { here, seen, todo: names(path), links: 0, steps, last })
    }

    /// Goes on until the walk stops.
    pub fn go(&mut self) -> Stop {
        loop {
            let Some(name) = self.todo.front().cloned() else { return Stop::There(".".into()) };
            let stat = match fstatat(&self.here, name.as_os_str(), AtFlags::AT_SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::ENOENT) => return Stop::Missing(name),
                Err(errno) => return Stop::Closed(errno),
            };
            let is_link = stat.st_mode & libc::S_IFMT == libc::S_IFLNK;
            let is_last = self.todo.len() == 1;
            if is_last && (!is_link || self.last == Last::AsItIs) {
                return Stop::There(name);
            }
            let outcome = if !is_link {
                self.enter(&name, OFlag::O_NOFOLLOW)
            } else if !is_of_a_process_at(&self.here) {
                self.follow(&name)
            } else {
                self.passes(stat);
                if is_last {
                    return Stop::Open(name);
                }
                self.enter(&name, OFlag::empty())
            };
            if let Err(errno) = outcome {
                return Stop::Closed(errno);
            }
        }
    }

    /// The folder that the walk has reached.
    pub const fn folder(&self) -> &OwnedFd {
        &self.here
    }

    /// The path of that folder.
    pub fn folder_path(&self) -> &Path {
        &self.seen
    }

    /// The path of the next entry.
    pub fn path(&self) -> PathBuf {
        self.todo.front().map_or_else(|| self.seen.clone(), |name| self.seen.join(name))
    }

    /// Whether the next name is the last.
    pub fn is_at_the_end(&self) -> bool {
        self.todo.len() <= 1
    }

    /// The folders and links so far, in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Ends the walk and returns its folder.
    pub fn into_folder(self) -> OwnedFd {
        self.here
    }

    fn enter(&mut self, name: &OsStr, flags: OFlag) -> Result<(), Errno> {
        let path = self.path();
        self.here = openat(&self.here, name, SEARCH | flags, Mode::empty())?;
        self.steps.push(step(&self.here, &path)?);
        self.seen = path;
        self.todo.pop_front();
        Ok(())
    }

    /// Records a link, whose name is the next one on the way.
    fn passes(&mut self, stat: FileStat) {
        let (path, is_open, is_of_a_process) = (self.path(), false, false);
        self.steps.push(Step { path, stat, is_open, is_of_a_process });
    }

    /// Goes where the judged link leads, even if another link has taken its name since.
    fn follow(&mut self, name: &OsStr) -> Result<(), Errno> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(Errno::ELOOP);
        }
        let itself = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let link = openat(&self.here, name, itself, Mode::empty())?;
        self.passes(fstat(&link)?);
        // If the entry is no longer a link, this read fails.
        let target = PathBuf::from(readlinkat(&link, "")?);
        if target.is_absolute() {
            let top = Self::along(Path::new("/"), self.last)?;
            (self.here, self.seen) = (top.here, top.seen);
            self.steps.extend(top.steps);
        }
        self.todo.pop_front();
        let mut todo = names(&target);
        todo.append(&mut self.todo);
        self.todo = todo;
        Ok(())
    }
}

/// Whether this is a folder below `/proc`. Links in such a folder are the kernel's links to open descriptors, and their
/// text is not a path.
fn is_of_a_process_at(folder: &OwnedFd) -> bool {
    let is_proc = fstatfs(folder).is_ok_and(|it| it.filesystem_type() == PROC_SUPER_MAGIC);
    is_proc && fstat(folder).is_ok_and(|stat| stat.st_ino != PROC_ROOT)
}

fn step(folder: &OwnedFd, path: &Path) -> Result<Step, Errno> {
    let stat = fstat(folder)?;
    let is_open = is_writable_by_others(&stat) && !is_read_only(folder);
    let is_of_a_process = is_of_a_process_at(folder);
    Ok(Step { path: path.to_owned(), stat, is_open, is_of_a_process })
}

/// Whether the mode lets others than the owner write.
pub const fn is_writable_by_others(stat: &FileStat) -> bool {
    stat.st_mode & (libc::S_IWGRP | libc::S_IWOTH) != 0
}

/// Whether the file system is mounted read-only, so that no user can write the file, whatever its mode says.
pub fn is_read_only(file: impl AsFd) -> bool {
    fstatvfs(file).is_ok_and(|found| found.flags().contains(FsFlags::ST_RDONLY))
}

fn names(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some("..".into()),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;

    /// The test tells the two links apart by their lengths: the length of a link is the length of the path in it.
    #[test]
    fn the_link_that_is_judged_is_the_one_that_is_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        for name in ["ours", "somebody-elses"] {
            fs::create_dir(path(name)).expect("a folder");
        }
        symlink("ours", path("link")).expect("a link");
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    for name in ["somebody-elses", "ours"] {
                        symlink(name, path("next")).expect("a link");
                        fs::rename(path("next"), path("link")).expect("renamed");
                    }
                }
            });
            let walks = (0..2000).map(|_| {
                let mut walk = Walk::along(&path("link/file"), Last::Followed).expect("a way");
                assert_eq!(walk.go(), Stop::Missing("file".into()));
                let judged = walk.steps().iter().rev().find(|step| step.is_link());
                let judged =
                    usize::try_from(judged.expect("a link").stat.st_size).expect("a length");
                (judged, walk.folder_path().file_name().expect("a name").len())
            });
            let strays = walks.filter(|(judged, followed)| judged != followed).count();
            is_over.store(true, Ordering::Relaxed);
            assert_eq!(strays, 0);
        });
    }
}

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

/// As many as the kernel follows.
const MAX_LINKS: u32 = 40;

/// The number of the folder `/proc` itself, whose links are like any.
const PROC_ROOT: libc::ino_t = 1;

/// To find names in a folder, no more.
const SEARCH: OFlag = OFlag::O_PATH.union(OFlag::O_DIRECTORY).union(OFlag::O_CLOEXEC);

/// A way along a path, step by step, so that each step can be judged and none can be turned elsewhere between the
/// look and the use.
#[derive(Debug)]
pub struct Walk {
    here: OwnedFd,
    seen: PathBuf,
    todo: VecDeque<OsString>,
    links: u32,
    steps: Vec<Step>,
    last: Last,
}

/// What to do with a symbolic link that has the last name of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// Go where it leads.
    Followed,
    /// Stop there.
    AsItIs,
}

/// A folder or a symbolic link on the way.
#[derive(Clone, Debug)]
pub struct Step {
    /// Where it is.
    pub path: PathBuf,
    /// What it is, and whose.
    pub stat: FileStat,
    /// Whether others than its owner can change what is in it. Kubernetes mounts a `ConfigMap` with all rights,
    /// and read-only.
    pub is_open: bool,
    /// Whether it is a folder of a process, below `/proc`: its owner is whoever that process is, and it was put there by
    /// nobody.
    pub is_of_a_process: bool,
}

/// Where a walk stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// At the end: the last name is in the folder, and is no link to follow.
    There(OsString),
    /// At the end: the last name is a link of the kernel's to what a process has open.
    Open(OsString),
    /// There is no such name in the folder. Once there is, the walk can go on.
    Missing(OsString),
    /// There is no way further.
    Closed(Errno),
}

impl Step {
    /// Whether it is a symbolic link.
    pub const fn is_link(&self) -> bool {
        super::is_link(&self.stat)
    }

    /// Whether only its owner can replace what is in it.
    pub const fn is_sticky(&self) -> bool {
        self.stat.st_mode & libc::S_ISVTX != 0
    }
}

impl Walk {
    /// Stands where the path begins: at the top, or in the current folder.
    ///
    /// # Errors
    /// We may not go there.
    pub fn along(path: &Path, last: Last) -> Result<Self, Errno> {
        let start = Path::new(if path.is_absolute() { "/" } else { "." });
        let here = open(start, SEARCH, Mode::empty())?;
        let steps = vec![step(&here, start)?];
        let seen = if path.is_absolute() { start.to_owned() } else { PathBuf::new() };
        Ok(Self { here, seen, todo: names(path), links: 0, steps, last })
    }

    /// Goes on until it stops.
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

    /// The folder in which it stands.
    pub const fn folder(&self) -> &OwnedFd {
        &self.here
    }

    /// The path of that.
    pub fn folder_path(&self) -> &Path {
        &self.seen
    }

    /// The path of what comes next.
    pub fn path(&self) -> PathBuf {
        self.todo.front().map_or_else(|| self.seen.clone(), |name| self.seen.join(name))
    }

    /// Whether the next name is the last.
    pub fn is_at_the_end(&self) -> bool {
        self.todo.len() <= 1
    }

    /// The folders and links up to here, in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The same walk, for its folder only.
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

    /// A link with what comes next as its name is on the way.
    fn passes(&mut self, stat: FileStat) {
        let (path, is_open, is_of_a_process) = (self.path(), false, false);
        self.steps.push(Step { path, stat, is_open, is_of_a_process });
    }

    /// Goes where the link leads that is judged, and not where another one would that has taken its name since.
    fn follow(&mut self, name: &OsStr) -> Result<(), Errno> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(Errno::ELOOP);
        }
        let itself = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let link = openat(&self.here, name, itself, Mode::empty())?;
        self.passes(fstat(&link)?);
        // Of what is no link any more there is nothing to read.
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

/// Whether a folder is one below `/proc`. Links in it are the kernel's, to what a process has open: their text is no path.
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

/// Whether nobody can write it here, whatever its mode says.
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

    /// The length of a link is that of the path in it, which tells which one was judged.
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

//! A cgroup (version 2) for the command, below the one that elect is in. Wrapper and guardian stay where they
//! are. The command is in the new cgroup from its birth.
//!
//! Wrapper and guardian both hold the cgroup's folder locked. An unlocked one is left from a wrapper and a
//! guardian that were killed. The next elect removes it if no process lives in it.

use std::cell::Cell;
use std::ffi::CString;
use std::fmt::{self, Display};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use elect_system::path::read_kernel;
use nix::unistd::{UnlinkatFlags, unlinkat};

use super::clone;
use crate::guard::children::wait_for;
use crate::guard::descriptors::out_of_the_way;

/// The prefix of the names of elect's cgroups.
const PREFIX: &str = "elect-run-";
/// How often a new cgroup is made in place of one that another candidate took for a leftover.
const ATTEMPTS: u32 = 5;

/// A cgroup for one command. When the wrapper drops this value, the cgroup is removed if it is empty.
pub(super) struct Cgroup {
    path: PathBuf,
    parent: OwnedFd,
    name: CString,
    folder: OwnedFd,
    kill: OwnedFd,
    events: OwnedFd,
    processes: OwnedFd,
    /// Whether this process has killed everything in the cgroup.
    was_killed: Cell<bool>,
}

impl Cgroup {
    /// Makes a cgroup, and tries it with a process that enters it and ends.
    ///
    /// # Errors
    /// No cgroup is possible here.
    pub(super) fn new() -> Result<Self, Unavailable> {
        let above = own()?;
        clean(&above);
        let mut attempts = 1..=ATTEMPTS;
        loop {
            match Self::make(&above) {
                Ok(cgroup) => return cgroup.try_out(),
                Err(Unavailable { error, .. })
                    if error.kind() == io::ErrorKind::NotFound && attempts.next().is_some() => {}
                Err(trouble) => return Err(trouble),
            }
        }
    }

    #[allow(clippy::disallowed_methods, reason = "all files below a cgroup are the kernel's")]
    fn make(above: &Path) -> Result<Self, Unavailable> {
        let name = format!("{PREFIX}{}-{:08x}", std::process::id(), fastrand::u32(..));
        let path = above.join(&name);
        let at = |path: &Path| {
            let path = path.to_owned();
            move |error| Unavailable { path, error }
        };
        fs::create_dir(&path).map_err(at(&path))?;
        let made = || {
            let open = |path: &Path, write: bool| {
                let file = fs::File::options().read(!write).write(write).open(path);
                file.and_then(|file| out_of_the_way(file.into())).map_err(at(path))
            };
            let folder = open(&path, false)?;
            if !is_locked(&folder) {
                return Err(at(&path)(io::ErrorKind::NotFound.into()));
            }
            Ok(Self {
                parent: open(above, false)?,
                kill: open(&path.join("cgroup.kill"), true)?,
                events: open(&path.join("cgroup.events"), false)?,
                processes: open(&path.join("cgroup.procs"), true)?,
                was_killed: Cell::new(false),
                name: CString::new(name).unwrap_or_default(),
                folder,
                path: path.clone(),
            })
        };
        made().inspect_err(|_| _ = fs::remove_dir(&path))
    }

    fn try_out(self) -> Result<Self, Unavailable> {
        let trouble = |errno| Unavailable {
            path: self.path.clone(),
            error: io::Error::from_raw_os_error(errno),
        };
        match clone::child_in(&self.folder).map_err(trouble)? {
            // SAFETY: _exit has no preconditions.
            0 => unsafe { libc::_exit(0) },
            pid => wait_for(pid),
        }
        Ok(self)
    }

    /// Forks a child that is in the cgroup once it has called [`Cgroup::enter`].
    ///
    /// # Errors
    /// Returns the `errno`.
    pub(super) fn fork(&self) -> Result<i32, i32> {
        if self.was_killed.get() { clone::child() } else { clone::child_in(&self.folder) }
    }

    /// Moves the child into the cgroup, if it is not there yet. A kernel (Linux 6.14) kills at once a process
    /// that is cloned into a cgroup that was killed before. So a later child must move there by itself.
    ///
    /// # Errors
    /// Returns the `errno`. The child is not in the cgroup in that case.
    pub(super) fn enter(&self) -> Result<(), i32> {
        if !self.was_killed.get() {
            return Ok(());
        }
        nix::unistd::write(&self.processes, b"0").map(|_| ()).map_err(|errno| errno as i32)
    }

    /// Kills all processes in the cgroup and below.
    pub(super) fn kill(&self) {
        self.was_killed.set(true);
        let _ = nix::unistd::write(&self.kill, b"1");
    }

    /// Returns whether no process lives in the cgroup or below.
    pub(super) fn is_empty(&self) -> bool {
        let mut text = [0; 256];
        let length = nix::sys::uio::pread(&self.events, &mut text, 0).unwrap_or(0);
        text[..length].split(|&byte| byte == b'\n').any(|line| line == b"populated 0")
    }

    /// Returns a descriptor on which `poll` reports POLLPRI when the answer of [`Cgroup::is_empty`] has
    /// changed.
    pub(super) const fn events(&self) -> &OwnedFd {
        &self.events
    }

    /// Removes the cgroup if it is empty. Allocates nothing.
    pub(super) fn remove(&self) {
        let _ = unlinkat(&self.parent, self.name.as_c_str(), UnlinkatFlags::RemoveDir);
    }

    pub(super) fn descriptors(&self) -> [RawFd; 5] {
        let Self { parent, folder, kill, events, processes, .. } = self;
        [parent, folder, kill, events, processes].map(AsRawFd::as_raw_fd)
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        remove_all(&self.path);
    }
}

/// Removes a cgroup and those that the command has made below, as far as they are empty.
fn remove_all(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_all(&entry.path());
        }
    }
    let _ = fs::remove_dir(folder);
}

/// Removes the cgroups of dead candidates.
#[allow(clippy::disallowed_methods, reason = "all files below a cgroup are the kernel's")]
fn clean(above: &Path) {
    for entry in fs::read_dir(above).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().as_bytes().starts_with(PREFIX.as_bytes());
        let open = || {
            let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
            fs::File::options().read(true).custom_flags(flags).open(entry.path()).ok()
        };
        if is_ours && open().is_some_and(|folder| is_locked(&folder.into())) {
            remove_all(&entry.path());
        }
    }
}

/// Locks the folder, and returns whether that worked. It fails if another process has the lock.
fn is_locked(folder: &OwnedFd) -> bool {
    // SAFETY: flock has no memory preconditions.
    unsafe { libc::flock(folder.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) == 0 }
}

/// Returns the folder of the cgroup that elect is in.
fn own() -> Result<PathBuf, Unavailable> {
    let read =
        |path: &str| read_kernel(path).map_err(|error| Unavailable { path: path.into(), error });
    let (own, mounts) = (read("/proc/self/cgroup")?, read("/proc/self/mountinfo")?);
    place(&own, &mounts).ok_or_else(|| Unavailable {
        path: "/sys/fs/cgroup".into(),
        error: io::Error::other("version 2 of cgroups is not mounted, or not where elect is in it"),
    })
}

/// Returns the path at which `/proc/self/mountinfo` shows the cgroup of `/proc/self/cgroup`.
fn place(own: &str, mounts: &str) -> Option<PathBuf> {
    let own = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (root, mount) = (place.next()?, place.next()?);
        let below = Path::new(own).strip_prefix(root).ok()?;
        let is_inside =
            below.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        (kind.starts_with("cgroup2 ") && is_inside)
            .then(|| Path::new(&mount.replace("\\040", " ")).join(below))
    })
}

/// The reason why no cgroup is possible.
#[derive(Debug)]
pub(super) struct Unavailable {
    path: PathBuf,
    error: io::Error,
}

impl Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, error } = self;
        write!(f, "{}: {error}; ", path.display())?;
        f.write_str(match error.kind() {
            io::ErrorKind::PermissionDenied => {
                "have systemd delegate one (Delegate=yes), or run elect below user@.service \
                 (systemd-run --user --scope)"
            }
            io::ErrorKind::ReadOnlyFilesystem => "have the container mount it for writing",
            _ if path.starts_with("/proc") => "mount /proc",
            _ => "it takes version 2 of cgroups, and Linux 5.14 or later",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_cgroup_is_found_wherever_it_is_mounted() {
        let mounts = "25 30 0:23 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                      29 23 0:26 /a /my\\040cgroups rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";
        let at = |own| place(own, mounts);
        assert_eq!(at("9:cpu:/x\n0::/a/b c\n"), Some("/my cgroups/b c".into()));
        assert_eq!(at("0::/a\n"), Some("/my cgroups/".into()));
        assert_eq!([at("0::/b\n"), at("0::/a/../b\n"), at("9:cpu:/a\n")], [None, None, None]);
        assert_eq!(
            place("0::/a\n", "25 30 0:23 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw\n"),
            None
        );
    }
}

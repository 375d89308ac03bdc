use std::collections::VecDeque;
use std::ffi::OsString;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use elect_api::{Error, ErrorKind};
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag, open, openat, readlinkat};
use nix::sys::stat::{FchmodatFlags, FileStat, Mode, fchmodat, fstat, fstatat, mkdirat};
use nix::unistd::{fsync, geteuid};
use nix::{NixPath, libc};

use crate::fault::{failed, wrong};
use crate::trust::{check_ancestor, check_link};

/// Opens the directory at this absolute path, step by step, so that each step can be judged and none
/// can be turned elsewhere between the look and the use. `None` if there is none and it is not to be
/// created; with `create`, what is missing is made for us alone.
///
/// Symbolic links on the way are followed where root or we made them: systemd makes one for a
/// `StateDirectory=` under `DynamicUser=`.
pub(crate) fn descend(
    path: &Path,
    me: libc::uid_t,
    create: bool,
) -> Result<Option<OwnedFd>, Error> {
    let mut walk = Walk::from_top(me)?;
    walk.todo = names(path);
    while let Some(name) = walk.todo.pop_front() {
        if !walk.step(&name, create)? {
            return Ok(None);
        }
    }
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let directory = openat(&walk.here, ".", flags, Mode::empty());
    directory.map(Some).map_err(|errno| walk.kept_out(path, errno))
}

struct Walk {
    me: libc::uid_t,
    here: OwnedFd,
    seen: PathBuf,
    todo: VecDeque<OsString>,
    links: u32,
}

const SEARCH: OFlag =
    OFlag::O_PATH.union(OFlag::O_DIRECTORY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);

/// As many as the kernel follows.
const MAX_LINKS: u32 = 40;

impl Walk {
    fn from_top(me: libc::uid_t) -> Result<Self, Error> {
        let seen = PathBuf::from("/");
        let here =
            open(&seen, SEARCH, Mode::empty()).map_err(|errno| failed("open", &seen, errno))?;
        Ok(Self { me, here, seen, todo: VecDeque::new(), links: 0 })
    }

    /// Goes to `name`, or puts what a link of this name says before what is still to do. False if
    /// there is no such name.
    fn step(&mut self, name: &OsString, create: bool) -> Result<bool, Error> {
        let stat = fstat(&self.here).map_err(|errno| failed("examine", &self.seen, errno))?;
        check_ancestor(self.me, &stat, &self.seen)?;
        let path = self.seen.join(name);
        let there = match openat(&self.here, name.as_os_str(), SEARCH, Mode::empty()) {
            Err(Errno::ENOENT) if create => {
                let made = make_directory(&self.here, name.as_os_str(), Mode::S_IRWXU);
                made.map_err(|errno| failed("create the directory", &path, errno))?;
                sync_directory(&self.here, &path)?;
                openat(&self.here, name.as_os_str(), SEARCH, Mode::empty())
            }
            Err(Errno::ENOENT) => return Ok(false),
            Err(Errno::ENOTDIR | Errno::ELOOP) => return self.follow(name, &path).map(|()| true),
            other => other,
        };
        self.here = there.map_err(|errno| self.kept_out(&path, errno))?;
        self.seen = path;
        Ok(true)
    }

    /// Why there is no way from here. Whose own directory it is need not become its owner.
    fn kept_out(&self, path: &Path, errno: Errno) -> Error {
        let is_closed = |stat: &FileStat| stat.st_uid == self.me && stat.st_mode & 0o700 != 0o700;
        match fstat(&self.here) {
            Ok(stat) if errno == Errno::EACCES && is_closed(&stat) => {
                let what = format!(
                    "is yours, and its mode ({:04o}) keeps you out: chmod u+rwx it, or name another directory with \
                     -b file:///DIR",
                    stat.st_mode & 0o7777
                );
                wrong(ErrorKind::Denied, &self.seen, &what).because(errno)
            }
            _ => failed("open the directory", path, errno),
        }
    }

    fn follow(&mut self, name: &OsString, path: &Path) -> Result<(), Error> {
        let stat = fstatat(&self.here, name.as_os_str(), AtFlags::AT_SYMLINK_NOFOLLOW)
            .map_err(|errno| failed("examine", path, errno))?;
        if stat.st_mode & libc::S_IFMT != libc::S_IFLNK {
            return Err(wrong(
                ErrorKind::Unfit,
                path,
                "is not a directory: remove it, or name another one",
            ));
        }
        check_link(self.me, &stat, path)?;
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(failed("follow the links at", path, Errno::ELOOP));
        }
        let target = readlinkat(&self.here, name.as_os_str())
            .map_err(|errno| failed("follow", path, errno))?;
        let target = PathBuf::from(target);
        let mut todo = names(&target);
        todo.append(&mut self.todo);
        if target.is_absolute() {
            let links = self.links;
            *self = Self { links, ..Self::from_top(self.me)? };
        }
        self.todo = todo;
        Ok(())
    }
}

/// Makes a directory of this mode, whatever the umask takes of it. One that is there already will do.
pub(crate) fn make_directory<P: ?Sized + NixPath>(
    parent: &OwnedFd,
    name: &P,
    mode: Mode,
) -> nix::Result<()> {
    match mkdirat(parent, name, mode) {
        Err(Errno::EEXIST) => return Ok(()),
        outcome => outcome?,
    }
    // It may be closed to ourselves: only its path can be opened. By that nobody leads us to another one.
    let directory = openat(parent, name, SEARCH, Mode::empty())?;
    let stat = fstat(&directory)?;
    if stat.st_uid == geteuid().as_raw() && stat.st_mode & mode.bits() != mode.bits() {
        let path = format!("/proc/self/fd/{}", directory.as_raw_fd());
        fchmodat(AT_FDCWD, path.as_str(), mode, FchmodatFlags::FollowSymlink)?;
    }
    Ok(())
}

/// Makes the entries of `directory` outlast a power cut, one of which is at `path`.
pub(crate) fn sync_directory(directory: impl AsFd, path: &Path) -> Result<(), Error> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    match openat(directory, ".", flags, Mode::empty()).and_then(fsync) {
        // A parent that we may write but not read, and file systems that need no sync of directories.
        Ok(()) | Err(Errno::EACCES | Errno::EINVAL) => Ok(()),
        Err(errno) => Err(failed("make durable", path, errno)),
    }
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

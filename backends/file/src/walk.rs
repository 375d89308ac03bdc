use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

use elect_api::{Error, ErrorKind};
use elect_system::path::{Last, Step, Stop, Walk};
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag, openat};
use nix::sys::stat::{FchmodatFlags, FileStat, Mode, fchmodat, fstat, fstatat, mkdirat};
use nix::unistd::{fsync, geteuid};
use nix::{NixPath, libc};

use crate::error::{failed, wrong};
use crate::trust::check_way;

const SEARCH: OFlag =
    OFlag::O_PATH.union(OFlag::O_DIRECTORY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);

/// Opens the directory at this absolute path, and returns the steps on the way. `None` if there is none and
/// `create` is false. With `create`, missing directories are made for this user alone.
///
/// Symbolic links on the way are followed if they belong to root or to this user. systemd makes one for a
/// `StateDirectory=` under `DynamicUser=`.
pub(crate) fn descend(
    path: &Path,
    me: libc::uid_t,
    create: bool,
) -> Result<Option<(OwnedFd, Vec<Step>)>, Error> {
    let mut walk =
        Walk::along(path, Last::Followed).map_err(|errno| failed("open", path, errno))?;
    loop {
        let stop = walk.go();
        check_way(me, walk.steps())?;
        let here = walk.path();
        let (name, flags) = match stop {
            Stop::There(name) => (name, OFlag::O_NOFOLLOW),
            Stop::Open(name) => (name, OFlag::empty()),
            Stop::Missing(name) if create => {
                make_directory(walk.folder(), name.as_os_str(), Mode::S_IRWXU)
                    .map_err(|errno| failed("create the directory", &here, errno))?;
                sync_directory(walk.folder(), &here)?;
                continue;
            }
            Stop::Missing(_) => return Ok(None),
            Stop::Closed(errno) => {
                let folder = fstat(walk.folder()).ok();
                return Err(kept_out(me, folder, walk.folder_path(), &here, errno));
            }
        };
        let flags = flags | OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let directory = openat(walk.folder(), name.as_os_str(), flags, Mode::empty());
        let directory = directory.map_err(|errno| {
            let found = fstatat(walk.folder(), name.as_os_str(), AtFlags::AT_SYMLINK_NOFOLLOW);
            kept_out(me, found.ok(), &here, path, errno)
        })?;
        return Ok(Some((directory, walk.steps().to_vec())));
    }
}

/// The error if there is no way to `path` from the directory at `here`. It gives special advice for a directory
/// that belongs to this user, but whose mode is closed.
fn kept_out(
    me: libc::uid_t,
    stat: Option<FileStat>,
    here: &Path,
    path: &Path,
    errno: Errno,
) -> Error {
    let is_closed = |stat: &FileStat| stat.st_uid == me && stat.st_mode & 0o700 != 0o700;
    match stat {
        Some(stat) if errno == Errno::EACCES && is_closed(&stat) => {
            let what = format!(
                "is yours, and its mode ({:04o}) keeps you out: chmod u+rwx it, or name another directory with \
                 -b file:///DIR",
                stat.st_mode & 0o7777
            );
            wrong(ErrorKind::Denied, here, &what).because(errno)
        }
        _ if errno == Errno::ENOTDIR => {
            wrong(ErrorKind::Unfit, path, "is not a directory: name one with -b file:///DIR")
        }
        _ => failed("open the directory", path, errno),
    }
}

/// Makes a directory of this mode, regardless of the umask. An existing directory is accepted.
pub(crate) fn make_directory<P: ?Sized + NixPath>(
    parent: &OwnedFd,
    name: &P,
    mode: Mode,
) -> nix::Result<()> {
    match mkdirat(parent, name, mode) {
        Err(Errno::EEXIST) => return Ok(()),
        // The parent was not removed meanwhile. The file system makes no directories, such as /proc.
        Err(Errno::ENOENT) if fstat(parent).is_ok_and(|parent| parent.st_nlink > 0) => {
            return Err(Errno::EOPNOTSUPP);
        }
        outcome => outcome?,
    }
    // The new directory may be closed even to its owner, so only an `O_PATH` descriptor can be opened. The way
    // through that descriptor cannot be redirected.
    let directory = openat(parent, name, SEARCH, Mode::empty())?;
    let stat = fstat(&directory)?;
    if stat.st_uid == geteuid().as_raw() && stat.st_mode & mode.bits() != mode.bits() {
        let path = format!("/proc/self/fd/{}", directory.as_raw_fd());
        fchmodat(AT_FDCWD, path.as_str(), mode, FchmodatFlags::FollowSymlink)?;
    }
    Ok(())
}

/// Makes the entries of `directory` survive a power cut. One of them is at `path`, which names it in the error.
pub(crate) fn sync_directory(directory: impl AsFd, path: &Path) -> Result<(), Error> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    match openat(directory, ".", flags, Mode::empty()).and_then(fsync) {
        // The parent may be writable but not readable, and some file systems need no sync of directories.
        Ok(()) | Err(Errno::EACCES | Errno::EINVAL) => Ok(()),
        Err(errno) => Err(failed("make durable", path, errno)),
    }
}

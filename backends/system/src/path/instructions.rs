use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::libc::uid_t;
use nix::sys::stat::{FileStat, Mode, fstat, fstatat, stat};

use super::reading::is_among_our_descriptors;
use super::{
    Cause, Doubt, Last, SAFELY, Stop, Walk, appointed, is_read_only, is_regular,
    is_writable_by_others, ourselves, strict,
};

/// A file that tells elect what to do, such as which program to run. Only this user and root can have written it.
#[derive(Debug)]
pub struct Instructions {
    /// The file, open for reading.
    pub file: File,
    /// The metadata of the opened file.
    pub stat: FileStat,
}

/// The reason why elect does not obey a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Disobeyed {
    /// A stranger may have put the file there, or replaced another file by it.
    Doubt(Doubt),
    /// Others can write to the file itself.
    Writable,
    /// It is not a regular file.
    Odd,
    /// A folder on the way to it cannot be entered.
    Closed(Errno),
    /// The file itself cannot be opened.
    Unreadable(Errno),
}

/// Whether a descriptor that this process has open may stand in for a regular file: `/dev/fd/3` may be a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inherited {
    /// It may, if this user or root owns it.
    Taken,
    /// It may not.
    Refused,
}

impl fmt::Display for Disobeyed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Doubt(doubt) => doubt.fmt(f),
            Self::Writable => write!(f, "it can be written by others: chmod go-w it"),
            Self::Odd => write!(f, "it is no regular file: name one"),
            Self::Closed(errno) | Self::Unreadable(errno) => f.write_str(errno.desc()),
        }
    }
}

impl std::error::Error for Disobeyed {}

impl From<Doubt> for Disobeyed {
    fn from(doubt: Doubt) -> Self {
        Self::Doubt(doubt)
    }
}

/// Opens the file at this path, which tells elect what to do; `None` if there is none.
///
/// # Errors
/// Why elect does not obey the file. A missing file is no error.
pub fn instructions(path: &Path, inherited: Inherited) -> Result<Option<Instructions>, Disobeyed> {
    // Usually there is no such file, and this call says so at once. Any other answer is checked step by step.
    if let Err(Errno::ENOENT | Errno::ENOTDIR) = stat(path) {
        return Ok(None);
    }
    // The current folder is a part of the way, so it is checked too.
    let whole = std::path::absolute(path).map_err(|_| Disobeyed::Closed(Errno::ENOENT))?;
    let users = ourselves();
    let mut walk = Walk::along(&whole, Last::Followed).map_err(Disobeyed::Closed)?;
    let name = match walk.go() {
        Stop::Open(name) if inherited == Inherited::Taken && is_among_our_descriptors(&walk) => {
            return opened(walk.folder(), &name, path, &users).map(Some);
        }
        Stop::There(name) | Stop::Open(name) => name,
        Stop::Missing(_) | Stop::Closed(Errno::ENOENT | Errno::ENOTDIR) => return Ok(None),
        Stop::Closed(errno) => return Err(Disobeyed::Closed(errno)),
    };
    strict(walk.steps(), &users, None)?;
    let Some(found) = regular(walk.folder(), &name)? else { return Ok(None) };
    owned(&found.stat, path, &users)?;
    appointed(walk.steps(), &users)?.vouch_for(&found.stat, path)?;
    if is_writable_by_others(&found.stat) && !is_read_only(&found.file) {
        return Err(Disobeyed::Writable);
    }
    Ok(Some(found))
}

fn owned(stat: &FileStat, path: &Path, users: &[uid_t]) -> Result<(), Doubt> {
    if users.contains(&stat.st_uid) {
        return Ok(());
    }
    Err(Doubt { path: path.to_owned(), cause: Cause::Owner(stat.st_uid) })
}

/// Opens the regular file with this name in the folder; `None` if it is gone by now.
fn regular(folder: &OwnedFd, name: &OsStr) -> Result<Option<Instructions>, Disobeyed> {
    // Opening a device may have effects, and opening a FIFO may wait for ever.
    let before = fstatat(folder, name, AtFlags::AT_SYMLINK_NOFOLLOW);
    if before.is_ok_and(|stat| !is_regular(&stat)) {
        return Err(Disobeyed::Odd);
    }
    let file = match openat(folder, name, OFlag::O_RDONLY | SAFELY, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::ENOENT) => return Ok(None),
        Err(errno) => return Err(Disobeyed::Unreadable(errno)),
    };
    match fstat(&file) {
        Ok(stat) if is_regular(&stat) => Ok(Some(Instructions { file: file.into(), stat })),
        _ => Err(Disobeyed::Odd),
    }
}

/// Opens a descriptor that this process has open under this name. Reading waits for a pipe. Its owner must be
/// this user or root.
fn opened(
    folder: &OwnedFd,
    name: &OsStr,
    path: &Path,
    users: &[uid_t],
) -> Result<Instructions, Disobeyed> {
    let flags = OFlag::O_RDONLY | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
    let file = openat(folder.as_fd(), name, flags, Mode::empty()).map_err(Disobeyed::Unreadable)?;
    let stat = fstat(&file).map_err(Disobeyed::Unreadable)?;
    owned(&stat, path, users)?;
    if is_regular(&stat) && is_writable_by_others(&stat) {
        return Err(Disobeyed::Writable);
    }
    Ok(Instructions { file: file.into(), stat })
}

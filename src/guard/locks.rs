//! Locks on parts of a file. A lock belongs to an open file description. So all processes that share the description
//! hold it, until the last of them has closed it or is dead.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsFd;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};

/// Takes the write lock on these bytes. Returns `false` if another description has a lock there. The empty range at 0
/// is the whole file.
///
/// # Errors
/// The file takes no locks, or is not open for writing.
pub(crate) fn lock(file: &File, bytes: Range<i64>) -> io::Result<bool> {
    take(file, libc::F_WRLCK, bytes)
}

/// Takes the read lock on these bytes. Returns `false` if another description has the write lock there. No other
/// description can get the write lock meanwhile.
///
/// # Errors
/// The file takes no locks, or is not open for reading.
pub(crate) fn lock_to_read(file: &File, bytes: Range<i64>) -> io::Result<bool> {
    take(file, libc::F_RDLCK, bytes)
}

fn take(file: &File, kind: i32, bytes: Range<i64>) -> io::Result<bool> {
    match fcntl(file, FcntlArg::F_OFD_SETLK(&flock(kind, bytes))) {
        Err(Errno::EAGAIN | Errno::EACCES) => Ok(false),
        locked => Ok(locked.map(|_| true)?),
    }
}

/// Releases a lock on these bytes.
///
/// # Errors
/// The file takes no locks.
#[cfg(feature = "selftest")]
pub(crate) fn unlock(file: &File, bytes: Range<i64>) -> io::Result<()> {
    Ok(fcntl(file, FcntlArg::F_OFD_SETLK(&flock(libc::F_UNLCK, bytes))).map(drop)?)
}

/// Returns whether another description has the write lock on any of these bytes. Returns `false` for a file that takes
/// no locks, such as a folder or a device.
///
/// # Errors
/// The kernel does not tell.
pub(crate) fn is_locked(file: &impl AsFd, bytes: Range<i64>) -> io::Result<bool> {
    let mut lock = flock(libc::F_RDLCK, bytes);
    match fcntl(file, FcntlArg::F_OFD_GETLK(&mut lock)) {
        Ok(_) => Ok(i32::from(lock.l_type) != libc::F_UNLCK),
        Err(Errno::EINVAL | Errno::EBADF) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn flock(kind: i32, bytes: Range<i64>) -> libc::flock {
    // SAFETY: an all-zero flock is valid, and names the whole file.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind.try_into().unwrap_or_default();
    lock.l_whence = libc::SEEK_SET.try_into().unwrap_or_default();
    lock.l_start = bytes.start;
    lock.l_len = bytes.end - bytes.start;
    lock
}

//! Locks on parts of a file. They belong to the open file description: to all who share it, until the last of
//! them has closed it or is dead.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsFd;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};

/// Takes the lock on these bytes for writing, or says that somebody else has one there. An empty range at 0 is
/// the whole file.
///
/// # Errors
/// When the file takes no locks, or is not open for writing.
pub(crate) fn lock(file: &File, bytes: Range<i64>) -> io::Result<bool> {
    take(file, libc::F_WRLCK, bytes)
}

/// Takes the lock on these bytes for reading, or says that somebody else has one for writing there: nobody gets one for
/// writing meanwhile.
///
/// # Errors
/// When the file takes no locks, or is not open for reading.
pub(crate) fn lock_to_read(file: &File, bytes: Range<i64>) -> io::Result<bool> {
    take(file, libc::F_RDLCK, bytes)
}

fn take(file: &File, kind: i32, bytes: Range<i64>) -> io::Result<bool> {
    match fcntl(file, FcntlArg::F_OFD_SETLK(&flock(kind, bytes))) {
        Err(Errno::EAGAIN | Errno::EACCES) => Ok(false),
        locked => Ok(locked.map(|_| true)?),
    }
}

/// Gives up a lock on these bytes.
///
/// # Errors
/// When the file takes no locks.
#[cfg(feature = "selftest")]
pub(crate) fn unlock(file: &File, bytes: Range<i64>) -> io::Result<()> {
    Ok(fcntl(file, FcntlArg::F_OFD_SETLK(&flock(libc::F_UNLCK, bytes))).map(drop)?)
}

/// Whether somebody else has a lock for writing on any of these bytes; so nobody has where there are no locks,
/// as on a folder or a device.
///
/// # Errors
/// When it cannot be told.
pub(crate) fn is_locked(file: &impl AsFd, bytes: Range<i64>) -> io::Result<bool> {
    let mut lock = flock(libc::F_RDLCK, bytes);
    match fcntl(file, FcntlArg::F_OFD_GETLK(&mut lock)) {
        Ok(_) => Ok(i32::from(lock.l_type) != libc::F_UNLCK),
        Err(Errno::EINVAL | Errno::EBADF) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn flock(kind: i32, bytes: Range<i64>) -> libc::flock {
    // SAFETY: an all-zero flock is valid: it names the whole file.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind.try_into().unwrap_or_default();
    lock.l_whence = libc::SEEK_SET.try_into().unwrap_or_default();
    lock.l_start = bytes.start;
    lock.l_len = bytes.end - bytes.start;
    lock
}

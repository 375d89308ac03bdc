//! Locks of open file descriptions. They end when the last copy of the descriptor is closed, for whatever reason.
//! They also conflict within one process.

use std::os::fd::AsFd;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

/// Takes the write lock of the whole file if it is free. Returns whether it did.
pub(crate) fn try_write(file: impl AsFd) -> Result<bool, Errno> {
    match retrying(|| fcntl(&file, FcntlArg::F_OFD_SETLK(&whole_file(libc::F_WRLCK)))) {
        Ok(_) => Ok(true),
        Err(Errno::EAGAIN | Errno::EACCES) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Sleeps until this process has the write lock of the whole file.
pub(crate) fn wait_write(file: impl AsFd) -> Result<(), Errno> {
    retrying(|| fcntl(&file, FcntlArg::F_OFD_SETLKW(&whole_file(libc::F_WRLCK)))).map(drop)
}

/// Marks the file: takes a read lock of the whole file, which lasts as long as any copy of this description. It
/// needs no right to write. Returns whether it did; it does not while another description has the write lock.
pub(crate) fn try_mark(file: impl AsFd) -> Result<bool, Errno> {
    match retrying(|| fcntl(&file, FcntlArg::F_OFD_SETLK(&whole_file(libc::F_RDLCK)))) {
        Ok(_) => Ok(true),
        Err(Errno::EAGAIN | Errno::EACCES) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Whether another description of this file has a mark. The write lock that a waiter holds for a moment is not a
/// mark.
pub(crate) fn is_marked(file: impl AsFd) -> Result<bool, Errno> {
    let mut probe = whole_file(libc::F_WRLCK);
    retrying(|| fcntl(&file, FcntlArg::F_OFD_GETLK(&mut probe)))?;
    Ok(probe.l_type == short(libc::F_RDLCK))
}

/// The way in which a file is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// By its write lock.
    Locked,
    /// By a mark.
    Marked,
}

/// Sleeps until no other description holds the file in this way. The caller then has a lock, and must close the
/// file to release it.
///
/// A file that is waited for as locked may be open for reading only. A file that is waited for as marked must be
/// writable, and several waiters come one after another. With read locks, two waiters would look like marks to
/// each other.
pub(crate) fn wait_free(file: impl AsFd, held: Held) -> Result<(), Errno> {
    match held {
        Held::Locked => {
            retrying(|| fcntl(&file, FcntlArg::F_OFD_SETLKW(&whole_file(libc::F_RDLCK)))).map(drop)
        }
        Held::Marked => wait_write(file),
    }
}

/// Whether another description of this file has the write lock. Takes no lock. The read lock that a waiter holds
/// for a moment does not count.
pub(crate) fn is_held(file: impl AsFd) -> Result<bool, Errno> {
    let mut probe = whole_file(libc::F_RDLCK);
    retrying(|| fcntl(&file, FcntlArg::F_OFD_GETLK(&mut probe)))?;
    Ok(probe.l_type != short(libc::F_UNLCK))
}

fn whole_file(kind: libc::c_int) -> libc::flock {
    libc::flock {
        l_type: short(kind),
        l_whence: short(libc::SEEK_SET),
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    }
}

fn short(constant: libc::c_int) -> libc::c_short {
    libc::c_short::try_from(constant).expect("fcntl's constants fit the fields they are for")
}

fn retrying(mut call: impl FnMut() -> nix::Result<libc::c_int>) -> nix::Result<libc::c_int> {
    loop {
        match call() {
            Err(Errno::EINTR) => {}
            other => return other,
        }
    }
}

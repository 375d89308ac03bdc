//! Locks of open file descriptions: they end when the last copy of the descriptor is closed, however
//! that comes about, and they conflict within one process too.

use std::os::fd::AsFd;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

/// Takes the write lock of the whole file if nobody has it; says whether it did.
pub(crate) fn try_write(file: impl AsFd) -> Result<bool, Errno> {
    match retrying(|| fcntl(&file, FcntlArg::F_OFD_SETLK(&whole_file(libc::F_WRLCK)))) {
        Ok(_) => Ok(true),
        Err(Errno::EAGAIN | Errno::EACCES) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Sleeps until the write lock of the whole file is ours.
pub(crate) fn wait_write(file: impl AsFd) -> Result<(), Errno> {
    retrying(|| fcntl(&file, FcntlArg::F_OFD_SETLKW(&whole_file(libc::F_WRLCK)))).map(drop)
}

/// Takes a read lock of the whole file, for as long as anybody has a copy of this description: a mark. It needs no
/// right to write. Says whether it did: nobody may be about to write.
pub(crate) fn try_mark(file: impl AsFd) -> Result<bool, Errno> {
    match retrying(|| fcntl(&file, FcntlArg::F_OFD_SETLK(&whole_file(libc::F_RDLCK)))) {
        Ok(_) => Ok(true),
        Err(Errno::EAGAIN | Errno::EACCES) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Whether another description of this file has a mark. The moment's write lock of a waiter is none.
pub(crate) fn is_marked(file: impl AsFd) -> Result<bool, Errno> {
    let mut probe = whole_file(libc::F_WRLCK);
    retrying(|| fcntl(&file, FcntlArg::F_OFD_GETLK(&mut probe)))?;
    Ok(probe.l_type == short(libc::F_RDLCK))
}

/// How a file is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// By its write lock.
    Locked,
    /// By a mark.
    Marked,
}

/// Sleeps until nobody holds the file like this. A lock is ours then: close the file to be rid of it.
///
/// Who waits for a lock may have the file open for reading only. Who waits for a mark may not, and several of them
/// come one after another: the read locks of two would be marks to each other.
pub(crate) fn wait_free(file: impl AsFd, held: Held) -> Result<(), Errno> {
    match held {
        Held::Locked => {
            retrying(|| fcntl(&file, FcntlArg::F_OFD_SETLKW(&whole_file(libc::F_RDLCK)))).map(drop)
        }
        Held::Marked => wait_write(file),
    }
}

/// Whether another description of this file has the write lock. Takes no lock, and does not take the
/// moment's read lock of a waiter for a sign of life.
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

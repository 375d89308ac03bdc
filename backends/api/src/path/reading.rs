use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::libc::uid_t;
use nix::sys::stat::{Mode, fstat, fstatat};

use super::{Last, Stop, Walk, appointed, ourselves, refused};

/// Reads the file at this path, which no stranger put there.
///
/// # Errors
/// What kept us from it; a [`super::Doubt`] within, if that is why.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path, &[], OFlag::empty())?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens what is at this path for a look, and never waits for a pipe. No stranger put it there, or one of `owners`.
///
/// # Errors
/// As [`read`].
pub fn look(path: &Path, owners: &[uid_t]) -> io::Result<File> {
    open(path, owners, OFlag::O_NONBLOCK)
}

fn open(path: &Path, owners: &[uid_t], flags: OFlag) -> io::Result<File> {
    let users = [&ourselves(), owners].concat();
    let mut walk = Walk::along(path, Last::Followed)?;
    let stop = walk.go();
    let flags = flags | OFlag::O_RDONLY | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
    let (name, flags) = match stop {
        Stop::There(name) => (name, flags | OFlag::O_NOFOLLOW),
        Stop::Open(name) => (name, flags),
        Stop::Missing(_) => return Err(Errno::ENOENT.into()),
        Stop::Closed(errno) => return Err(errno.into()),
    };
    let known = appointed(walk.steps(), &users).map_err(refused)?;
    let vouch = |stat| known.vouch_for(&stat, path).map_err(refused);
    // A device may do things when it is opened, and a pipe wait.
    vouch(fstatat(walk.folder(), name.as_os_str(), AtFlags::AT_SYMLINK_NOFOLLOW)?)?;
    let file = openat(walk.folder(), name.as_os_str(), flags, Mode::empty())?;
    vouch(fstat(&file)?)?;
    Ok(file.into())
}

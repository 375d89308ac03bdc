use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::libc::{S_IFIFO, S_IFMT, uid_t};
use nix::sys::stat::{FileStat, Mode, fstat, fstatat, stat};

use super::{Last, Stop, Walk, appointed, links, ourselves, refused};

/// The length limit of a file that is read, in bytes. A bundle of certificates may hold hundreds.
const LONGEST: u64 = 4 << 20;

/// The folder of this process's open descriptors.
const OURS: &str = "/proc/self/fd";

/// Reads the file at this path, after checking that no stranger put it there.
///
/// # Errors
/// If the file cannot be read, or is too long. The error contains a [`super::Doubt`] if a stranger may have put the
/// file there.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path, &[], Kind::Text)?.take(LONGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST {
        return Err(io::Error::other(format!("it is longer than {LONGEST} bytes")));
    }
    Ok(bytes)
}

/// Reads a file of the kernel below `/proc` or `/sys`. Only the kernel makes files there.
///
/// # Errors
/// If the file cannot be read.
#[allow(clippy::disallowed_methods, reason = "only the kernel makes paths there")]
pub fn read_kernel(path: impl AsRef<Path>) -> io::Result<String> {
    std::fs::read_to_string(path)
}

/// Opens the file at this path for reading, and never waits for a pipe. It was put there by this user, by root, or
/// by one of `owners`.
pub fn open_trusted(path: &Path, owners: &[uid_t]) -> io::Result<File> {
    open(path, owners, Kind::Any)
}

/// The kinds of file that may be at the end of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A file or a device, or a descriptor that this process has open already.
    Text,
    /// Anything: the caller checks the kind itself.
    Any,
}

fn open(path: &Path, owners: &[uid_t], kind: Kind) -> io::Result<File> {
    let users = [&ourselves(), owners].concat();
    let mut walk = Walk::along(path, Last::Followed)?;
    let stop = walk.go();
    // The owner of a folder that this process trusts must not lead it to other files by a link in that folder.
    links(walk.steps(), &users).map_err(refused)?;
    let is_ours = matches!(stop, Stop::Open(_)) && is_among_our_descriptors(&walk);
    // Opening waits only for a pipe that was handed to this process.
    let waits = if is_ours && kind == Kind::Text { OFlag::empty() } else { OFlag::O_NONBLOCK };
    let flags = waits | OFlag::O_RDONLY | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
    let (name, flags) = match stop {
        Stop::There(name) => (name, flags | OFlag::O_NOFOLLOW),
        Stop::Open(name) => (name, flags),
        Stop::Missing(_) => return Err(Errno::ENOENT.into()),
        Stop::Closed(errno) => return Err(errno.into()),
    };
    let known = appointed(walk.steps(), &users).map_err(refused)?;
    let vouch = |stat| known.vouch_for(&stat, path).map_err(refused);
    // The check comes first, because opening a device may have effects.
    vouch(fstatat(walk.folder(), name.as_os_str(), AtFlags::AT_SYMLINK_NOFOLLOW)?)?;
    let file = openat(walk.folder(), name.as_os_str(), flags, Mode::empty())?;
    if is_ours {
        return Ok(file.into());
    }
    let opened = fstat(&file)?;
    if kind == Kind::Text && opened.st_mode & S_IFMT == S_IFIFO {
        return Err(io::Error::other("it is a pipe, and may stay empty for ever"));
    }
    vouch(opened)?;
    Ok(file.into())
}

/// Whether the walk ended among the open descriptors of this process. The caller that started the process chose
/// those.
pub(super) fn is_among_our_descriptors(walk: &Walk) -> bool {
    let number = |stat: nix::Result<FileStat>| stat.map(|stat| (stat.st_dev, stat.st_ino)).ok();
    let ours = number(stat(OURS));
    ours.is_some() && number(fstat(walk.folder())) == ours
}

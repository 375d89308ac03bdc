use std::collections::VecDeque;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, open, openat, readlinkat};
use nix::libc;
use nix::sys::stat::{Mode, fstat, fstatat};

use super::open::{check_owner, is_read_only, is_writable_by_others};
use crate::config::ConfigError;

/// Where a path leads.
pub(super) enum Found {
    /// To this name in this directory; the name is there, and no symbolic link.
    File(OwnedFd, OsString),
    /// Nowhere: a directory on the way, or what a link names, does not exist.
    Nothing,
    /// To where we may not go.
    Closed(Errno),
}

const SEARCH: OFlag =
    OFlag::O_PATH.union(OFlag::O_DIRECTORY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);

/// As many as the kernel follows.
const MAX_LINKS: u32 = 40;

/// Follows this absolute path step by step, so that each step can be judged and none can be turned
/// elsewhere between the look and the use.
///
/// # Errors
/// It leads to something, and a directory or a symbolic link on the way is another user's, or others
/// can put something else in place of what is in it. Where there is nothing, nobody is misled.
pub(super) fn descend(path: &Path, me: libc::uid_t) -> Result<Found, ConfigError> {
    let top = || open("/", SEARCH, Mode::empty());
    let (mut here, mut seen) = match top() {
        Ok(top) => (top, PathBuf::from("/")),
        Err(errno) => return Ok(Found::Closed(errno)),
    };
    let mut todo = names(path);
    let mut links = 0;
    let mut trust = Ok(());
    loop {
        trust = trust.and_then(|()| check_directory(&here, me, &seen));
        let Some(name) = todo.pop_front() else { return Ok(Found::Nothing) };
        let there = seen.join(&name);
        let stat = match fstatat(&here, name.as_os_str(), AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::ENOENT | Errno::ENOTDIR) => return Ok(Found::Nothing),
            Err(errno) => return Ok(Found::Closed(errno)),
        };
        if stat.st_mode & libc::S_IFMT == libc::S_IFLNK {
            trust = trust.and_then(|()| check_owner(me, &stat, &there));
            links += 1;
            let target = readlinkat(&here, name.as_os_str()).map(PathBuf::from);
            let target = match target {
                Ok(target) if links <= MAX_LINKS => target,
                Ok(_) => return Ok(Found::Closed(Errno::ELOOP)),
                Err(errno) => return Ok(Found::Closed(errno)),
            };
            let mut rest = names(&target);
            rest.append(&mut todo);
            todo = rest;
            if target.is_absolute() {
                (here, seen) = match top() {
                    Ok(top) => (top, PathBuf::from("/")),
                    Err(errno) => return Ok(Found::Closed(errno)),
                };
            }
        } else if todo.is_empty() {
            return trust.map(|()| Found::File(here, name));
        } else {
            here = match openat(&here, name.as_os_str(), SEARCH, Mode::empty()) {
                Ok(directory) => directory,
                Err(Errno::ENOENT | Errno::ENOTDIR) => return Ok(Found::Nothing),
                Err(errno) => return Ok(Found::Closed(errno)),
            };
            seen = there;
        }
    }
}

/// In a sticky directory nobody can replace what belongs to another, and what comes next in it is
/// ours or root's, or refused.
fn check_directory(here: &OwnedFd, me: libc::uid_t, seen: &Path) -> Result<(), ConfigError> {
    let stat = fstat(here).map_err(|errno| {
        ConfigError::untrusted(seen, format!("cannot be examined: {}", errno.desc()))
    })?;
    check_owner(me, &stat, seen)?;
    let is_sticky = stat.st_mode & libc::S_ISVTX != 0;
    if is_writable_by_others(&stat) && !is_sticky && !is_read_only(here) {
        return Err(ConfigError::untrusted(
            seen,
            "can be written by other users, who could put another configuration in it: chmod go-w it, or name \
             a file elsewhere with --config"
                .to_owned(),
        ));
    }
    Ok(())
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

use std::path::Path;

use elect_api::{Error, ErrorKind};
use elect_system::path::{Cause, Doubt, Step, is_regular, links, strict};
use nix::libc;
use nix::sys::stat::FileStat;

use crate::error::wrong;

/// The identity of a file, whatever its name. It is unique while the file is open somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileId(libc::dev_t, libc::ino_t);

impl FileId {
    pub(crate) const fn new(device: libc::dev_t, number: libc::ino_t) -> Self {
        Self(device, number)
    }

    pub(crate) fn of(stat: &FileStat) -> Self {
        Self(stat.st_dev, stat.st_ino)
    }
}

/// The users that may write to the state of the elections, and the modes of new files.
///
/// `elect` may run as root. A user that can change the files that it reads and writes could turn it against others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    /// The effective user of this process.
    me: libc::uid_t,
    /// The group that shares the root, if it was set up for sharing.
    shared: Option<libc::gid_t>,
}

impl Policy {
    /// The policy below the root directory with this `stat`, reached by these steps. Checks the root and the steps
    /// too.
    pub(crate) fn of_root(
        me: libc::uid_t,
        stat: &FileStat,
        path: &Path,
        steps: &[Step],
    ) -> Result<Self, Error> {
        let sharing = stat.st_mode & libc::S_ISGID != 0 && stat.st_mode & libc::S_IWGRP != 0;
        let policy = Self { me, shared: sharing.then_some(stat.st_gid) };
        // A user other than root may join any share that it names. Root joins only what root has set up.
        if me == 0 && stat.st_uid != 0 {
            return Err(owned_by(stat.st_uid, path));
        }
        policy.check(stat, path)?;
        if policy.is_shared() {
            // The owner and the group of the share could do nothing worse on the way than inside it.
            strict(steps, &[0, me, stat.st_uid], policy.shared)
                .map_err(|doubt| misleading(&doubt))?;
        }
        Ok(policy)
    }

    /// The mode of new directories.
    pub(crate) const fn directory_mode(self) -> libc::mode_t {
        if self.shared.is_some() { 0o2770 } else { 0o700 }
    }

    /// The mode of new files.
    pub(crate) const fn file_mode(self) -> libc::mode_t {
        if self.shared.is_some() { 0o660 } else { 0o600 }
    }

    /// Whether several users share the root.
    pub(crate) const fn is_shared(self) -> bool {
        self.shared.is_some()
    }

    /// Whether an own file or directory still lacks bits of `mode`, because the umask took them away.
    pub(crate) const fn lacks(self, stat: &FileStat, mode: libc::mode_t) -> bool {
        stat.st_uid == self.me && stat.st_mode & mode != mode
    }

    /// Refuses a file that users other than this one, root and the sharing group can write.
    pub(crate) fn check(self, stat: &FileStat, path: &Path) -> Result<(), Error> {
        if self.shared.is_none() && stat.st_uid != self.me && stat.st_uid != 0 {
            return Err(owned_by(stat.st_uid, path));
        }
        let group_may = self.shared == Some(stat.st_gid);
        if stat.st_mode & libc::S_IWOTH != 0 || (stat.st_mode & libc::S_IWGRP != 0 && !group_may) {
            let what = if stat.st_mode & libc::S_ISVTX == 0 {
                "can be written by others, who could turn elect against you: chmod go-w it (a directory to share \
                 is made with `install -d -m 2770 -g GROUP DIR`)"
            } else {
                "can be written by others, who could turn elect against you: name a directory of yours below it"
            };
            return Err(wrong(ErrorKind::Denied, path, what));
        }
        Ok(())
    }

    /// Refuses a file through which another user could redirect a write, or block it.
    pub(crate) fn check_file(self, stat: &FileStat, path: &Path) -> Result<(), Error> {
        if !is_regular(stat) {
            return Err(wrong(
                ErrorKind::Unfit,
                path,
                "is not a regular file, so elect did not make it: move it away",
            ));
        }
        if stat.st_nlink == 0 {
            return Err(wrong(
                ErrorKind::Unreachable,
                path,
                "was removed at this moment: trying again helps",
            ));
        }
        if stat.st_nlink > 1 {
            return Err(wrong(
                ErrorKind::Denied,
                path,
                "has a second name (a hard link), and writing to it would write there: remove it",
            ));
        }
        self.check(stat, path)
    }
}

/// Refuses a step on the way to the root by which another user could redirect elect. For root this is any directory
/// that others can change. For other users it is a link that belongs to neither them nor root.
pub(crate) fn check_way(me: libc::uid_t, steps: &[Step]) -> Result<(), Error> {
    let outcome = if me == 0 { strict(steps, &[0], None) } else { links(steps, &[0, me]) };
    outcome.map_err(|doubt| misleading(&doubt))
}

fn misleading(doubt: &Doubt) -> Error {
    match doubt.cause {
        Cause::Owner(owner) => owned_by(owner, &doubt.path),
        Cause::Open | Cause::Linked => wrong(
            ErrorKind::Denied,
            &doubt.path,
            "can be written by others, who could put another directory in place of the one that elect uses: \
             chmod go-w it, or name another directory with -b file:///DIR",
        ),
    }
}

fn owned_by(owner: libc::uid_t, path: &Path) -> Error {
    wrong(
        ErrorKind::Denied,
        path,
        &format!(
            "belongs to user {owner}, who could turn elect against you: name a directory of your own with \
             -b file:///DIR"
        ),
    )
}

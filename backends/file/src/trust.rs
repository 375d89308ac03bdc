use std::path::Path;

use elect_api::path::{Cause, Doubt, Step, is_regular, links, strict};
use elect_api::{Error, ErrorKind};
use nix::libc;
use nix::sys::stat::FileStat;

use crate::error::wrong;

/// A file, whatever its name: the same as long as it is open somewhere.
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

/// Whom we let write to the state of our elections, and how we make it.
///
/// `elect` may run as root: whoever can change what it reads and writes could turn it against others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    /// The effective user that we are.
    me: libc::uid_t,
    /// The group that shares the root, if it was set up for sharing.
    shared: Option<libc::gid_t>,
}

impl Policy {
    /// The policy of everything below the root directory with this `stat`, which is checked too, and to which these
    /// steps led.
    pub(crate) fn of_root(
        me: libc::uid_t,
        stat: &FileStat,
        path: &Path,
        steps: &[Step],
    ) -> Result<Self, Error> {
        let sharing = stat.st_mode & libc::S_ISGID != 0 && stat.st_mode & libc::S_IWGRP != 0;
        let policy = Self { me, shared: sharing.then_some(stat.st_gid) };
        // Who is not root may join whatever share he names; root joins what root set up.
        if me == 0 && stat.st_uid != 0 {
            return Err(owned_by(stat.st_uid, path));
        }
        policy.check(stat, path)?;
        if policy.is_shared() {
            // Who owns the share, or is of its group, could do nothing worse on the way than in it.
            strict(steps, &[0, me, stat.st_uid], policy.shared)
                .map_err(|doubt| misleading(&doubt))?;
        }
        Ok(policy)
    }

    /// The mode of directories that we make.
    pub(crate) const fn directory_mode(self) -> libc::mode_t {
        if self.shared.is_some() { 0o2770 } else { 0o700 }
    }

    /// The mode of files that we make.
    pub(crate) const fn file_mode(self) -> libc::mode_t {
        if self.shared.is_some() { 0o660 } else { 0o600 }
    }

    /// Whether several users work here.
    pub(crate) const fn is_shared(self) -> bool {
        self.shared.is_some()
    }

    /// Whether a file or directory of ours has yet to get `mode`: the umask took bits away.
    pub(crate) const fn lacks(self, stat: &FileStat, mode: libc::mode_t) -> bool {
        stat.st_uid == self.me && stat.st_mode & mode != mode
    }

    /// Refuses what others than we, root and the sharing group can write.
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

    /// Refuses files through which others could make us write, or be blocked, elsewhere.
    pub(crate) fn check_file(self, stat: &FileStat, path: &Path) -> Result<(), Error> {
        if !is_regular(stat) {
            return Err(wrong(
                ErrorKind::Unfit,
                path,
                "is not a regular file, so it is none of elect's: move it away",
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

/// Refuses what is on the way to the root by which another user could lead us elsewhere: for root any directory that
/// is not root's alone, for others a link that is neither theirs nor root's.
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

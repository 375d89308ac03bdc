use std::io;
use std::path::Path;

use elect_api::{Error, ErrorKind};
use nix::errno::Errno;

/// The error of a system call that failed to `deed` (a verb: "open", "lock") the file at `path`.
pub(crate) fn failed(deed: &str, path: &Path, errno: Errno) -> Error {
    Error::new(kind(errno), format!("cannot {deed} {}: {}", path.display(), advice(errno)))
        .because(errno)
}

/// An error without a system call: the file at `path` is not as it must be.
pub(crate) fn wrong(kind: ErrorKind, path: &Path, what: &str) -> Error {
    Error::new(kind, format!("{} {what}", path.display()))
}

/// The error number in an error of the standard library; zero if it has none.
pub(crate) fn errno_of(error: &io::Error) -> Errno {
    Errno::from_raw(error.raw_os_error().unwrap_or(0))
}

fn kind(errno: Errno) -> ErrorKind {
    match errno {
        Errno::EACCES | Errno::EPERM | Errno::EROFS => ErrorKind::Denied,
        Errno::ENOTDIR
        | Errno::EISDIR
        | Errno::ELOOP
        | Errno::ENXIO
        | Errno::ENAMETOOLONG
        | Errno::EINVAL
        | Errno::ENOSYS
        | Errno::EOPNOTSUPP => ErrorKind::Unfit,
        // Full disks, used-up descriptors, interrupted calls, and directories that were removed at
        // this moment.
        _ => ErrorKind::Unreachable,
    }
}

fn advice(errno: Errno) -> &'static str {
    match errno {
        Errno::EACCES | Errno::EPERM => {
            "run as its owner, or name a directory of your own with -b file:///DIR"
        }
        Errno::EROFS => "name a directory that can be written with -b file:///DIR",
        Errno::ENOSPC | Errno::EDQUOT => "free some space, or inodes, there",
        Errno::EFBIG => "raise the limit of the length of files (ulimit -f)",
        Errno::EMFILE | Errno::ENFILE => "raise the limit of open files (ulimit -n)",
        Errno::ENOTDIR | Errno::ELOOP | Errno::ENXIO | Errno::EISDIR => {
            "something else is in its place; move that away, or name another directory with -b file:///DIR"
        }
        Errno::ENOSYS | Errno::EINVAL | Errno::EOPNOTSUPP => {
            "this file system lacks what elect needs; name a directory on a local disk with -b file:///DIR"
        }
        _ => "trying again may help",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passing_errors_are_retried_and_others_are_final() {
        for passing in
            [Errno::EMFILE, Errno::ENFILE, Errno::ENOSPC, Errno::EINTR, Errno::EIO, Errno::ENOENT]
        {
            assert_eq!(kind(passing), ErrorKind::Unreachable, "{passing}");
        }
        for denied in [Errno::EACCES, Errno::EPERM, Errno::EROFS] {
            assert_eq!(kind(denied), ErrorKind::Denied, "{denied}");
        }
        for unfit in [Errno::ENOTDIR, Errno::ELOOP] {
            assert_eq!(kind(unfit), ErrorKind::Unfit, "{unfit}");
        }
    }

    #[test]
    fn advice_names_the_limit_to_raise() {
        assert!(advice(Errno::EFBIG).contains("ulimit -f"));
        assert!(advice(Errno::EMFILE).contains("ulimit -n"));
    }
}

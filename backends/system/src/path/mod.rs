//! Paths on this machine: the one way to open files by path.
//!
//! elect may run as root, and a path may lead through folders in which other users write. A call that opens such a path
//! as a whole follows the links that those users placed. So a [`Walk`] takes one step at a time, and holds each folder
//! open: the folder that was checked is the folder that is used. A rule then judges the steps:
//!
//! - [`strict`]: only trusted users can change anything on the way. For files that tell elect what to do:
//!   [`instructions`](fn@instructions).
//! - [`appointed`]: in a folder that only trusted users can write, each file was put there by them, whatever its owner.
//!   In other folders only files of trusted users count. For files that are read: [`read`], [`open_trusted`].
//! - [`links`]: no symbolic link of a stranger is followed. This is enough where every written file is new: see
//!   [`Site`], and [`Output`] for the files that users name for elect's output.
//!
//! A *stranger* is a user other than root, the user as which elect runs, and those whom the rule trusts as well.
//!
//! The `clippy.toml` beside this file bans the functions of the standard library that open a path. Each exception says
//! why its path cannot lead elsewhere.

mod draft;
mod instructions;
mod output;
mod reading;
mod rules;
mod site;
mod walk;

pub use draft::Draft;
pub use instructions::{Disobeyed, Inherited, Instructions, instructions};
pub use output::Output;
pub use reading::{open_trusted, read, read_kernel};
pub use rules::{Appointed, Cause, Doubt, appointed, links, strict};
pub use site::{Site, write};
pub use walk::{Last, Step, Stop, Walk, is_read_only, is_writable_by_others};

use std::io;

use nix::libc;
use nix::sys::stat::FileStat;
use nix::unistd::Uid;

/// Flags that never follow a link, never block on a pipe or a terminal, and keep the descriptor from children.
const SAFELY: nix::fcntl::OFlag = nix::fcntl::OFlag::O_NOFOLLOW
    .union(nix::fcntl::OFlag::O_NONBLOCK)
    .union(nix::fcntl::OFlag::O_NOCTTY)
    .union(nix::fcntl::OFlag::O_CLOEXEC);

/// Whether this is a regular file.
pub const fn is_regular(stat: &FileStat) -> bool {
    stat.st_mode & libc::S_IFMT == libc::S_IFREG
}

const fn is_link(stat: &FileStat) -> bool {
    stat.st_mode & libc::S_IFMT == libc::S_IFLNK
}

/// The users that are always trusted: root, and the effective user.
fn ourselves() -> [libc::uid_t; 2] {
    [0, Uid::effective().as_raw()]
}

/// The doubt as an error of the standard library: permission denied, although the kernel would have permitted it.
fn refused(doubt: Doubt) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, doubt)
}

//! Paths of this machine: the one way to open any. No contract, only manners.
//!
//! elect may run as root, and a path may lead through folders in which others write. Who opens such a path whole
//! goes where they lead. So a [`Walk`] takes one step at a time, and holds each folder open: what was looked at is
//! what is used. A rule then judges the steps:
//!
//! - [`strict`]: only trusted users can change what is on the way. For files that tell elect what to do:
//!   [`instructions`](fn@instructions).
//! - [`appointed`]: in a folder that only those write whom we trust, whoever owns a thing was put there by them.
//!   Elsewhere only what is theirs counts. For what is read: [`read`], [`look`].
//! - [`links`]: no link of a stranger is followed. That is enough where all that is written is new: see [`Site`], and
//!   [`Output`] for what elect writes where people say.
//!
//! `clippy.toml` beside this file bans the ways of the standard library to open a path. Each exception says why its path
//! cannot lead elsewhere.

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
pub use reading::{look, read, read_kernel};
pub use rules::{Appointed, Cause, Doubt, appointed, links, strict};
pub use site::{Site, write};
pub use walk::{Last, Step, Stop, Walk, is_read_only, is_writable_by_others};

use std::io;

use nix::libc;
use nix::sys::stat::FileStat;
use nix::unistd::Uid;

/// Never through a link, never stuck on a pipe or a terminal, never inherited unasked.
const SAFELY: nix::fcntl::OFlag = nix::fcntl::OFlag::O_NOFOLLOW
    .union(nix::fcntl::OFlag::O_NONBLOCK)
    .union(nix::fcntl::OFlag::O_NOCTTY)
    .union(nix::fcntl::OFlag::O_CLOEXEC);

/// Whether it is a regular file.
pub const fn is_regular(stat: &FileStat) -> bool {
    stat.st_mode & libc::S_IFMT == libc::S_IFREG
}

const fn is_link(stat: &FileStat) -> bool {
    stat.st_mode & libc::S_IFMT == libc::S_IFLNK
}

/// Root, and who we are.
fn ourselves() -> [libc::uid_t; 2] {
    [0, Uid::effective().as_raw()]
}

/// What the standard library makes of a doubt: rights that we could have, and do not use.
fn refused(doubt: Doubt) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, doubt)
}

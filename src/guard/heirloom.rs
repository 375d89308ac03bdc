//! What elect leaves to itself when it starts over: a socket that listens, so that nobody who connects
//! meanwhile is refused and nobody else gets its address; and a note.

use std::env;
use std::ffi::OsString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use nix::sys::socket::{getsockopt, sockopt};

use super::descriptors;

/// The variable in which the heirloom is described: process id, descriptor, note. No command is to have it.
pub const HEIRLOOM: &str = "ELECT_HEIRLOOM";

/// A listening socket and a note, from before elect started over.
#[derive(Debug)]
pub struct Heirloom {
    /// The socket.
    pub socket: OwnedFd,
    /// Whatever its heir is to know.
    pub note: String,
}

impl Heirloom {
    /// Takes what the same process left before, out of the descriptors that it was started with. A
    /// variable that others set, or that is another process's, leads to nothing.
    pub(super) fn take(inherited: &mut Vec<RawFd>) -> Option<Self> {
        let described = env::var(HEIRLOOM).ok()?;
        let mut words = described.splitn(3, ' ');
        let pid: u32 = words.next()?.parse().ok()?;
        let number: RawFd = words.next()?.parse().ok()?;
        let note = words.next()?.to_owned();
        if pid != std::process::id() {
            return None;
        }
        let place = inherited.iter().position(|&other| other == number)?;
        inherited.remove(place);
        // SAFETY: it was open before any object of this process existed, and is on no list any more, so
        // that nobody else owns it.
        let socket = unsafe { OwnedFd::from_raw_fd(number) };
        descriptors::keep_from_heirs(&socket);
        getsockopt(&socket, sockopt::AcceptConn)
            .is_ok_and(|listens| listens)
            .then_some(Self { socket, note })
    }

    /// Lets the program that this process executes next inherit the socket; the variable that says so.
    pub(super) fn leave(&self) -> (OsString, OsString) {
        descriptors::inherit(&self.socket);
        let Self { socket, note } = self;
        let described = format!("{} {} {note}", std::process::id(), socket.as_raw_fd());
        (HEIRLOOM.into(), described.into())
    }
}

//! What elect leaves to itself when it starts over: how long it is to wait before it takes part again; which store it was
//! in; and, where it has one, a socket that listens, so that nobody who connects meanwhile is refused and nobody else gets its address,
//! with a note.

use std::env;
use std::ffi::OsString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use nix::sys::socket::{getsockopt, sockopt};

use super::descriptors;

/// The variable in which the handoff is described: process id, milliseconds, store, descriptor, note. No command is to have
/// it.
pub const HANDOFF: &str = "ELECT_HEIRLOOM";

/// What stands in the place of a store or a descriptor where there is none.
const NONE: &str = "-";

/// From before elect started over.
#[derive(Debug, Default)]
pub struct ExecHandoff {
    /// How long it is not to take part.
    pub pause: Duration,
    /// What its store is called, if that is known.
    pub store: Option<String>,
    /// A listening socket, and whatever its heir is to know.
    pub listener: Option<(OwnedFd, String)>,
}

impl ExecHandoff {
    /// Takes what the same process left before, out of the descriptors that it was started with. A
    /// variable that others set, or that is another process's, leads to nothing.
    pub(super) fn take(inherited: &mut Vec<RawFd>) -> Option<Self> {
        let described = env::var(HANDOFF).ok()?;
        let mut words = described.splitn(5, ' ');
        let pid: u32 = words.next()?.parse().ok()?;
        let pause = Duration::from_millis(words.next()?.parse().ok()?);
        let store = Some(words.next()?).filter(|&store| store != NONE).map(ToOwned::to_owned);
        let number = words.next()?;
        let note = words.next()?.to_owned();
        if pid != std::process::id() {
            return None;
        }
        if number == NONE {
            return Some(Self { pause, store, listener: None });
        }
        let number: RawFd = number.parse().ok()?;
        let place = inherited.iter().position(|&other| other == number)?;
        inherited.remove(place);
        // SAFETY: it was open before any object of this process existed, and is on no list any more, so
        // that nobody else owns it.
        let socket = unsafe { OwnedFd::from_raw_fd(number) };
        descriptors::keep_from_heirs(&socket);
        getsockopt(&socket, sockopt::AcceptConn).is_ok_and(|listens| listens).then_some(Self {
            pause,
            store,
            listener: Some((socket, note)),
        })
    }

    /// Lets the program that this process executes next inherit the socket; the variable that says so.
    pub(super) fn leave(&self) -> (OsString, OsString) {
        let (number, note) = match &self.listener {
            Some((socket, note)) => {
                descriptors::inherit(socket);
                (socket.as_raw_fd().to_string(), note.as_str())
            }
            None => (NONE.to_owned(), ""),
        };
        let (pid, pause) = (std::process::id(), self.pause.as_millis());
        let store = self.store.as_deref().unwrap_or(NONE);
        (HANDOFF.into(), format!("{pid} {pause} {store} {number} {note}").into())
    }
}

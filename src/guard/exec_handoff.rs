//! The state that elect leaves to itself when it starts over: the pause before it takes part again, the store that it
//! was in, its greatest token, the key of `--once-per`, and a listening socket with a note.
//!
//! The key is that of elect's first start. The socket stays open, so that no client is refused meanwhile, and no other
//! program gets the address.

use std::env;
use std::ffi::{CStr, CString, OsString};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::ptr;
use std::time::Duration;

use nix::sys::socket::{getsockopt, sockopt};

use super::descriptors;

/// The variable that describes the handoff: process id, milliseconds, store, token, key, descriptor, note. Commands do
/// not get it.
pub const HANDOFF: &str = "ELECT_HEIRLOOM";

/// The word that stands for a missing store, key or descriptor.
const NONE: &str = "-";

/// The state from before elect started over.
#[derive(Debug, Default)]
pub struct ExecHandoff {
    /// The pause before elect takes part again.
    pub pause: Duration,
    /// The id of its store, if it is known.
    pub store: Option<String>,
    /// The greatest token that it has led with.
    pub token: Option<u64>,
    /// The key of `--once`, if `--once-per` made it. It has no spaces.
    pub once: Option<String>,
    /// A listening socket, and a note for its next owner.
    pub listener: Option<(OwnedFd, String)>,
}

/// Restores the name by which this process was called. The kernel has named it after the path of its program: `exe` if
/// elect started over, or a number if the program was a descriptor. People look for `elect`.
pub(super) fn regain_name() {
    // SAFETY: if there is a path, it is a NUL-terminated text that the kernel put there, and that stays; else the
    // pointer is null.
    let path = unsafe {
        let path: *const libc::c_char = ptr::with_exposed_provenance(
            usize::try_from(libc::getauxval(libc::AT_EXECFN)).unwrap_or_default(),
        );
        (!path.is_null()).then(|| CStr::from_ptr(path))
    };
    let is_by_descriptor = path.is_some_and(|path| {
        [&b"/proc/self/"[..], b"/dev/fd/"].iter().any(|way| path.to_bytes().starts_with(way))
    });
    let called = env::args_os().next().unwrap_or_default();
    let name = Path::new(&called).file_name().map(|name| CString::new(name.as_bytes()));
    if let (true, Some(Ok(name))) = (is_by_descriptor, name) {
        // SAFETY: the name ends with a NUL, and the kernel copies its beginning.
        unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
    }
}

impl ExecHandoff {
    /// Takes the state that this same process has left, out of the descriptors that it inherited. Returns `None` if the
    /// variable was set by others, or for another process.
    pub(super) fn take(inherited: &mut Vec<RawFd>) -> Option<Self> {
        let described = env::var(HANDOFF).ok()?;
        let mut words = described.splitn(7, ' ');
        let pid: u32 = words.next()?.parse().ok()?;
        let pause = Duration::from_millis(words.next()?.parse().ok()?);
        let known = |word: &str| (word != NONE).then(|| word.to_owned());
        let store = known(words.next()?);
        let token = known(words.next()?).map(|token| token.parse()).transpose().ok()?;
        let once = known(words.next()?);
        let number = words.next()?;
        let note = words.next()?.to_owned();
        if pid != std::process::id() {
            return None;
        }
        if number == NONE {
            return Some(Self { pause, store, token, once, listener: None });
        }
        let number: RawFd = number.parse().ok()?;
        let place = inherited.iter().position(|&other| other == number)?;
        inherited.remove(place);
        // SAFETY: the descriptor was open before any object of this process existed, and is on no list any more, so
        // that no other object owns it.
        let socket = unsafe { OwnedFd::from_raw_fd(number) };
        descriptors::keep_from_heirs(&socket);
        getsockopt(&socket, sockopt::AcceptConn).is_ok_and(|listens| listens).then_some(Self {
            pause,
            store,
            token,
            once,
            listener: Some((socket, note)),
        })
    }

    /// Lets the next program of this process inherit the socket. Returns the variable that describes the handoff.
    pub(super) fn leave(&self) -> (OsString, OsString) {
        let (number, note) = match &self.listener {
            Some((socket, note)) => {
                descriptors::inherit(socket);
                (socket.as_raw_fd().to_string(), note.as_str())
            }
            None => (NONE.to_owned(), ""),
        };
        let (pid, pause) = (std::process::id(), self.pause.as_millis());
        let known = |word: &Option<String>| word.as_deref().unwrap_or(NONE).to_owned();
        let (store, once) = (known(&self.store), known(&self.once));
        let token = self.token.map_or_else(|| NONE.to_owned(), |token| token.to_string());
        (HANDOFF.into(), format!("{pid} {pause} {store} {token} {once} {number} {note}").into())
    }
}

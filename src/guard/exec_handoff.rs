//! What elect leaves to itself when it starts over: how long it is to wait before it takes part again; which store it was
//! in; the key of `--once-per`, which is that of the time at which it started first; and, where it has one, a socket that listens, so that nobody who connects meanwhile is refused and nobody else gets its address,
//! with a note.

use std::env;
use std::ffi::{CStr, CString, OsString};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::ptr;
use std::time::Duration;

use nix::sys::socket::{getsockopt, sockopt};

use super::descriptors;

/// The variable in which the handoff is described: process id, milliseconds, store, key, descriptor, note. No command is to have
/// it.
pub const HANDOFF: &str = "ELECT_HEIRLOOM";

/// What stands in the place of a store, a key or a descriptor where there is none.
const NONE: &str = "-";

/// From before elect started over.
#[derive(Debug, Default)]
pub struct ExecHandoff {
    /// How long it is not to take part.
    pub pause: Duration,
    /// What its store is called, if that is known.
    pub store: Option<String>,
    /// What it is to do once, if a period says so; without spaces.
    pub once: Option<String>,
    /// A listening socket, and whatever its heir is to know.
    pub listener: Option<(OwnedFd, String)>,
}

/// Gives this process the name by which it was called, where the kernel has named it after the way to its program: as
/// `exe` if elect started over, and after a number if that was a descriptor. People look for `elect`.
pub(super) fn regain_name() {
    // SAFETY: the kernel puts the path of the program there, as a text that stays; or there is none, and it is null.
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
        // SAFETY: the name ends with a NUL; the kernel copies the beginning of it.
        unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
    }
}

impl ExecHandoff {
    /// Takes what the same process left before, out of the descriptors that it was started with. A
    /// variable that others set, or that is another process's, leads to nothing.
    pub(super) fn take(inherited: &mut Vec<RawFd>) -> Option<Self> {
        let described = env::var(HANDOFF).ok()?;
        let mut words = described.splitn(6, ' ');
        let pid: u32 = words.next()?.parse().ok()?;
        let pause = Duration::from_millis(words.next()?.parse().ok()?);
        let known = |word: &str| (word != NONE).then(|| word.to_owned());
        let (store, once) = (known(words.next()?), known(words.next()?));
        let number = words.next()?;
        let note = words.next()?.to_owned();
        if pid != std::process::id() {
            return None;
        }
        if number == NONE {
            return Some(Self { pause, store, once, listener: None });
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
            once,
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
        let known = |word: &Option<String>| word.as_deref().unwrap_or(NONE).to_owned();
        let (store, once) = (known(&self.store), known(&self.once));
        (HANDOFF.into(), format!("{pid} {pause} {store} {once} {number} {note}").into())
    }
}

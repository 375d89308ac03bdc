//! What elect was started with that it has to change for itself, and gives back to the command: ignored signals, and the
//! limit of cores.
//!
//! Which signals elect was started with ignored. Three of them it has to change for itself, and gives
//! back to the command as they were, together with the limits of cores.
//!
//! No core dump of elect or its guardian: the passwords of stores are in their memory.
//!
//! Only the soft limit is lowered, so that an ordinary user can give it back to a command. It becomes one byte: no file
//! is as small, and where the kernel pipes cores to a program, one is the only limit that it heeds. Below a hard limit
//! of 0 the soft one is 0, too; then such a program is still started, and is told that no core is wanted.
//!
//! `PR_SET_DUMPABLE` would hold in all cases. But it gives `/proc/self` to root, and there a command of an ordinary user
//! finds its lease.

use std::io;
use std::mem;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};

/// Whether the pipe signal was ignored at the start. Rust ignores it before `main`, so that only
/// what runs before that can know.
static PIPE_WAS_IGNORED: AtomicBool = AtomicBool::new(false);

#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    PIPE_WAS_IGNORED.store(is_ignored(libc::SIGPIPE), Ordering::Relaxed);
}

/// Whether this process ignores `signal`.
pub(super) fn is_ignored(signal: i32) -> bool {
    // SAFETY: an all-zero sigaction is valid, and the call only fills it in.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        libc::sigaction(signal, ptr::null(), &raw mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}

/// What PIPE, CHLD and XFSZ did at the start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dispositions {
    pipe_is_ignored: bool,
    child_is_ignored: bool,
    file_size_is_ignored: bool,
}

impl Dispositions {
    /// Remembers them, and has the kernel report children (a parent that ignored CHLD would have
    /// them reaped unseen) and files that are too large (XFSZ would end us without a word).
    ///
    /// # Errors
    /// When that is refused: a parent that ignores CHLD knows nothing of its children.
    pub(super) fn take() -> io::Result<Self> {
        let child_is_ignored = is_ignored(libc::SIGCHLD);
        let file_size_is_ignored = is_ignored(libc::SIGXFSZ);
        set(libc::SIGCHLD, false)?;
        set(libc::SIGXFSZ, true)?;
        let pipe_is_ignored = PIPE_WAS_IGNORED.load(Ordering::Relaxed);
        Ok(Self { pipe_is_ignored, child_is_ignored, file_size_is_ignored })
    }

    /// Puts them back, and the limits of cores, for whatever is executed next.
    pub(super) fn restore(self) {
        restore();
        let signals = [
            (libc::SIGPIPE, self.pipe_is_ignored),
            (libc::SIGCHLD, self.child_is_ignored),
            (libc::SIGXFSZ, self.file_size_is_ignored),
        ];
        for (signal, is_ignored) in signals {
            // What could be changed before can be changed back.
            let _ = set(signal, is_ignored);
        }
    }
}

fn set(signal: i32, ignored: bool) -> io::Result<()> {
    // SAFETY: both are valid dispositions.
    let before =
        unsafe { libc::signal(signal, if ignored { libc::SIG_IGN } else { libc::SIG_DFL }) };
    if before == libc::SIG_ERR { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Less than any core, and not "unlimited" for a pipe, as 0 is.
const NONE: rlim_t = 1;

/// The soft limit and the hard one that this process was started with, where they were changed.
static BEFORE: OnceLock<(rlim_t, rlim_t)> = OnceLock::new();

/// Has the kernel write no core of this process, or of what it forks. Call it first of all.
pub fn leave_no_core() {
    let Ok(before) = getrlimit(Resource::RLIMIT_CORE) else { return };
    if setrlimit(Resource::RLIMIT_CORE, NONE.min(before.1), before.1).is_ok() {
        // Whoever calls twice keeps what was there at first.
        let _ = BEFORE.set(before);
    }
}

/// Gives the limits back, for whatever is executed next. Allocates nothing.
pub(super) fn restore() {
    if let Some(&(soft, hard)) = BEFORE.get() {
        // What was allowed before is allowed again.
        let _ = setrlimit(Resource::RLIMIT_CORE, soft, hard);
    }
}

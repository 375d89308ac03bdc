//! Which signals elect was started with ignored. Three of them it has to change for itself, and gives
//! back to the command as they were, together with the limits of cores.

use std::io;
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use super::cores;

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
        cores::restore();
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

//! No core dump of elect or its guardian: the passwords of stores are in their memory.
//!
//! Only the soft limit is lowered, so that an ordinary user can give it back to a command. It becomes one byte: no file
//! is as small, and where the kernel pipes cores to a program, one is the only limit that it heeds. Below a hard limit
//! of 0 the soft one is 0, too; then such a program is still started, and is told that no core is wanted.
//!
//! `PR_SET_DUMPABLE` would hold in all cases. But it gives `/proc/self` to root, and there a command of an ordinary user
//! finds its lease.

use std::sync::OnceLock;

use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};

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

//! A fork bomb. Each process has its own session and no descriptors, and forks until its time is
//! over. It makes no stamps. Only ever run it under a limit on processes.
#![allow(unsafe_code, reason = "to fork, and to call system calls only")]

use std::ffi::{CString, OsString};
use std::path::Path;
use std::time::Duration;

use super::map::nanos;

/// The first word of its command line, in the place of a stamper's.
const FIRST_WORD: &str = "elect-bomb";

/// Returns the command line of a fork bomb. `program` is the test's own executable or a copy of it.
/// A process that lives to the end of that time creates the file `marker`.
pub fn fork_bomb(program: &Path, lasting: Duration, marker: &Path) -> Vec<OsString> {
    super::process::link();
    let millis = lasting.as_millis().to_string();
    vec![program.into(), FIRST_WORD.into(), millis.into(), marker.into()]
}

/// Becomes the bomb, if `words` are its command line.
pub(super) fn explode(words: &[&str]) -> Option<i32> {
    let &[FIRST_WORD, millis, marker] = words else { return None };
    let (millis, marker) = (millis.parse::<u64>().ok()?, CString::new(marker).ok()?);
    let end = nanos() + millis * 1_000_000;
    // SAFETY: none of these has memory preconditions, and the path is a string that ends with a NUL.
    // The only thread makes nothing but system calls, and uses no descriptor again.
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_IGN);
        while nanos() < end {
            match libc::fork() {
                -1 => _ = libc::sched_yield(),
                0 => {
                    libc::setsid();
                    libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0);
                }
                _ => {}
            }
        }
        libc::open(marker.as_ptr(), libc::O_CREAT | libc::O_WRONLY, 0o644);
    }
    Some(0)
}

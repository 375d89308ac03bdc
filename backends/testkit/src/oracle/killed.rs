//! Tells whether the kernel has killed a process that is not dead yet. Such a process executes no more code of
//! its own.
#![allow(unsafe_code, reason = "a process that was forked asks, and must not allocate")]

use std::io::{Cursor, Write as _};

/// More bytes than the kernel's description of a process has.
const LONGEST: usize = 1024;
/// The fields with a process's flags and its pending signals, counted from the one after its name (proc(5)).
const FLAGS: usize = 6;
const PENDING: usize = 28;
/// `PF_EXITING`.
const EXITING: u64 = 4;
const KILL: u64 = 1 << (libc::SIGKILL - 1);

/// Returns whether the process is killed, and `false` if the kernel says nothing about it. Allocates nothing.
pub(super) fn is_killed(pid: u32) -> bool {
    // Between signal and end there is a moment in which the process shows neither.
    (0..3).any(|_| {
        let mut room = [0; LONGEST];
        let stat = read(pid, &mut room);
        stat.is_some_and(says_so)
    })
}

fn read(pid: u32, room: &mut [u8; LONGEST]) -> Option<&str> {
    let mut path = [0; 32];
    write!(Cursor::new(&mut path[..31]), "/proc/{pid}/stat").ok()?;
    // SAFETY: the path ends with a zero, and the kernel writes no more than there is room for.
    let length = unsafe {
        let file = libc::open(path.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return None;
        }
        let length = libc::read(file, room.as_mut_ptr().cast(), LONGEST);
        libc::close(file);
        length
    };
    std::str::from_utf8(room.get(..usize::try_from(length).ok()?)?).ok()
}

fn says_so(stat: &str) -> bool {
    // The name may contain anything, even a bracket.
    let Some((_, rest)) = stat.rsplit_once(") ") else { return false };
    let field = |index| rest.split(' ').nth(index).and_then(|field| field.parse::<u64>().ok());
    field(FLAGS).is_some_and(|flags| flags & EXITING != 0)
        || field(PENDING).is_some_and(|pending| pending & KILL != 0)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::is_killed;
    use crate::program::eventually;

    #[test]
    fn a_killed_process_is_told_from_a_living_one() {
        let mut child = Command::new("sleep").arg("1000").spawn().expect("sleep");
        assert!(!is_killed(child.id()) && !is_killed(std::process::id()));
        child.kill().expect("it lives");
        eventually("a process that is killed, and not waited for", || {
            is_killed(child.id()).then_some(())
        });
        child.wait().expect("its end");
        assert!(!is_killed(child.id()), "nothing is known of it");
    }
}

//! Forks that bypass the C library. The child must keep to system calls.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// The kernel's `struct clone_args`.
#[repr(C)]
#[derive(Default)]
struct Arguments {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
    set_tid: u64,
    set_tid_size: u64,
    cgroup: u64,
}

const FLAG_PARENT: u64 = 0x0000_8000;
const FLAG_INTO_CGROUP: u64 = 0x2_0000_0000;
/// Forks a child of this process's parent, which is a sibling of this process.
///
/// # Errors
/// Returns the `errno`.
pub(super) fn sibling() -> Result<i32, i32> {
    // The kernel takes the exit signal of this process for the sibling.
    clone(&Arguments { flags: FLAG_PARENT, ..Arguments::default() })
}

/// Forks a child.
///
/// # Errors
/// Returns the `errno`.
pub(super) fn child() -> Result<i32, i32> {
    clone(&Arguments { exit_signal: heard_of(), ..Arguments::default() })
}

/// Forks a child that is in this cgroup from its birth.
///
/// # Errors
/// Returns the `errno`.
pub(super) fn child_in(cgroup: &OwnedFd) -> Result<i32, i32> {
    let cgroup = u64::from(cgroup.as_raw_fd().unsigned_abs());
    let flags = FLAG_INTO_CGROUP;
    clone(&Arguments { flags, exit_signal: heard_of(), cgroup, ..Arguments::default() })
}

/// Returns the signal that a parent gets when its child has ended.
fn heard_of() -> u64 {
    libc::SIGCHLD.unsigned_abs().into()
}

fn clone(arguments: &Arguments) -> Result<i32, i32> {
    // SAFETY: the kernel reads the live arguments. Without a stack and without shared memory, the child goes
    // on as after a fork. The callers are processes of one thread, or their child keeps to system calls.
    let pid = unsafe {
        libc::syscall(libc::SYS_clone3, std::ptr::from_ref(arguments), size_of::<Arguments>())
    };
    match i32::try_from(pid) {
        Ok(pid) if pid >= 0 => Ok(pid),
        _ => Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EAGAIN)),
    }
}

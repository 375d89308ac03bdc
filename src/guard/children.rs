//! Lists, signals and reaps the children of this process. Wrapper and guardian are subreapers, so a descendant whose
//! parent dies becomes their child.
//!
//! A child's number cannot pass to a stranger before this process has reaped it. So it is safe to signal a child that
//! was just listed, as long as one thread does both.

use std::fmt;
use std::io;
use std::os::fd::{OwnedFd, RawFd};

use elect_system::path::read_kernel;
use nix::errno::Errno;

use super::proc;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It exited with this code.
    Exited(u8),
    /// This signal ended it.
    Signaled(u8),
}

impl Ended {
    /// Returns the exit code as a shell reports it: 128 plus the number for a signal.
    pub const fn code(self) -> u8 {
        match self {
            Self::Exited(code) => code,
            Self::Signaled(signal) => signal.saturating_add(128),
        }
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exited with code {code}"),
            Self::Signaled(signal) => write!(f, "was ended by {}", signal_name((*signal).into())),
        }
    }
}

/// Returns an errno in the words of the C library, which people know and search for.
pub fn reason(errno: i32) -> String {
    let said = io::Error::from_raw_os_error(errno).to_string();
    said.rsplit_once(" (os error ").map_or(said.clone(), |(words, _)| words.to_owned())
}

/// Returns the name of a signal, such as `SIGTERM`. A signal without a name is called `signal 64`.
pub fn signal_name(number: i32) -> String {
    let named = nix::sys::signal::Signal::try_from(number);
    named.map_or_else(|_| format!("signal {number}"), |signal| signal.as_str().to_owned())
}

/// Returns the message that this signal asked elect to end.
pub fn told_to_end(signal: i32) -> String {
    format!("told to end by {}", signal_name(signal))
}

/// Returns whether a process is stopped by a signal. A process that is halted by a tracer does not count: `strace`
/// lets it go on after each system call, and a longer halt is like a slow process. Allocates, so it is for the wrapper
/// only.
///
/// # Errors
/// `/proc` does not tell.
pub(super) fn is_stopped(pid: i32) -> io::Result<bool> {
    Ok(state_of(pid)? == Some('T'))
}

/// Returns whether a process is stopped by a signal, or halted by a tracer at this moment. Allocates, so it is for the
/// wrapper only.
///
/// # Errors
/// `/proc` does not tell.
pub(super) fn stands_still(pid: i32) -> io::Result<bool> {
    Ok(matches!(state_of(pid)?, Some('T' | 't')))
}

fn state_of(pid: i32) -> io::Result<Option<char>> {
    let stat = read_kernel(format!("/proc/{}/stat", proc::number_of(pid)))?;
    Ok(stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()))
}

/// Returns whether this child has ended, or is no child of this process. Does not reap it.
pub(super) fn is_dead(pid: i32) -> bool {
    let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT | libc::__WALL;
    // SAFETY: info is a valid place for the kernel to write to, and stays zero where the kernel does not write.
    unsafe {
        let mut info = std::mem::zeroed::<libc::siginfo_t>();
        let result = libc::waitid(libc::P_PID, pid.cast_unsigned(), &raw mut info, flags);
        if result == 0 { info.si_pid() != 0 } else { Errno::last_raw() == libc::ECHILD }
    }
}

/// Returns whether all children in `list` are dead. A process that has this process as its subreaper has no living
/// descendant then.
///
/// # Errors
/// The list cannot be read.
pub(super) fn are_dead(list: RawFd) -> Result<bool, Errno> {
    let (mut offset, mut are_dead) = (0, true);
    loop {
        let before = offset;
        each_number(list, &mut offset, |pid| are_dead = are_dead && is_dead(pid))?;
        // Children of a process that has just died stand at the end of the list.
        if !are_dead || offset == before {
            return Ok(are_dead);
        }
    }
}

/// Calls `visit` with each number in `list` from `offset` on, and moves `offset` to the end.
///
/// # Errors
/// The list cannot be read.
pub(super) fn each_number(
    list: RawFd,
    offset: &mut libc::off_t,
    mut visit: impl FnMut(i32),
) -> Result<(), Errno> {
    let mut pid: i32 = 0;
    let mut buffer = [0_u8; 4096];
    loop {
        // SAFETY: the buffer is writable for its whole length.
        let got = unsafe { libc::pread(list, buffer.as_mut_ptr().cast(), buffer.len(), *offset) };
        let got = usize::try_from(got).map_err(|_| Errno::last())?;
        if got == 0 {
            return Ok(());
        }
        *offset += got.cast_signed() as libc::off_t;
        for &byte in &buffer[..got] {
            if byte.is_ascii_digit() {
                pid = pid.saturating_mul(10).saturating_add(i32::from(byte - b'0'));
            } else if pid > 0 {
                visit(pid);
                pid = 0;
            }
        }
    }
}

/// The news that `wait` returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waited {
    /// This child has ended and is reaped.
    Ended(i32, Ended),
    /// This child was stopped by this signal.
    Stopped(i32, i32),
    /// There are children, but no news.
    Quiet,
    /// There is no child.
    None,
}

/// Returns the next news of any child, without waiting.
pub(super) fn wait() -> Waited {
    loop {
        let mut status = 0;
        // SAFETY: status is a valid place for the kernel to write to.
        let pid = unsafe {
            libc::waitpid(-1, &raw mut status, libc::WNOHANG | libc::WUNTRACED | libc::__WALL)
        };
        if pid == 0 {
            return Waited::Quiet;
        }
        if pid < 0 {
            // Any other error says nothing about children.
            return if Errno::last_raw() == libc::ECHILD { Waited::None } else { Waited::Quiet };
        }
        if libc::WIFEXITED(status) {
            return Waited::Ended(pid, Ended::Exited(low_byte(libc::WEXITSTATUS(status))));
        }
        if libc::WIFSIGNALED(status) {
            return Waited::Ended(pid, Ended::Signaled(low_byte(libc::WTERMSIG(status))));
        }
        if libc::WIFSTOPPED(status) {
            return Waited::Stopped(pid, libc::WSTOPSIG(status));
        }
    }
}

/// Reaps all children that have ended, for a process that learns nothing from their ends. As PID 1, it reaps every
/// orphan of its namespace.
pub fn reap() {
    let Some(_held) = elect_system::helpers::hold() else { return };
    loop {
        match wait() {
            Waited::Ended(pid, _) => elect_system::helpers::ended(pid.cast_unsigned()),
            Waited::Stopped(..) => {}
            Waited::Quiet | Waited::None => return,
        }
    }
}

/// Waits for the end of a child, and reaps it.
pub(super) fn wait_for(child: i32) {
    loop {
        let mut status = 0;
        // SAFETY: status is a valid place for the kernel to write to.
        let reaped = unsafe { libc::waitpid(child, &raw mut status, libc::__WALL) };
        if reaped == child || Errno::last_raw() != libc::EINTR {
            return;
        }
    }
}

/// Returns the low eight bits, which hold the kernel's code.
const fn low_byte(number: i32) -> u8 {
    number.to_le_bytes()[0]
}

/// Returns whether `/proc` lists children by the numbers that they have for this process. A `/proc` that was mounted
/// for another pid namespace lists numbers that belong to strangers here.
pub(super) fn are_listed() -> bool {
    proc::own_number() == Some(std::process::id())
        && std::path::Path::new("/proc/thread-self/children").exists()
}

/// Opens the list of the calling thread's children.
///
/// # Errors
/// `/proc` has no such list, or no descriptor is left.
pub(super) fn list() -> io::Result<OwnedFd> {
    use nix::fcntl::{OFlag, open};
    let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC;
    let list = open(c"/proc/thread-self/children", flags, nix::sys::stat::Mode::empty())?;
    super::descriptors::out_of_the_way(list)
}

/// Returns the children of every thread of this process. Returns none if `/proc` does not list them. Allocates, so it
/// is for the wrapper only.
///
/// # Errors
/// A list cannot be read.
pub(super) fn all() -> io::Result<Vec<i32>> {
    let is_gone = |error: &io::Error| {
        error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
    };
    loop {
        match of_all_threads() {
            // A thread has ended meanwhile. Its children may have passed to a thread that was listed before.
            Err(error) if is_gone(&error) && are_listed() => {}
            all => return all,
        }
    }
}

fn of_all_threads() -> io::Result<Vec<i32>> {
    let mut all = Vec::new();
    if are_listed() {
        for thread in std::fs::read_dir("/proc/self/task")? {
            let list = read_kernel(thread?.path().join("children"))?;
            all.extend(list.split_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd as _;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn children_are_dead_once_the_last_one_is() {
        let list = super::list().unwrap();
        let are_dead = || super::are_dead(list.as_raw_fd()).unwrap();
        assert!(are_dead(), "there is none");
        let start = || std::process::Command::new("/bin/sleep").arg("600").spawn().unwrap();
        let mut children = [start(), start()];
        for child in &mut children {
            assert!(!are_dead());
            child.kill().unwrap();
            while !super::is_dead(child.id().cast_signed()) {
                std::thread::yield_now();
            }
        }
        assert!(are_dead(), "none is reaped");
        for child in &mut children {
            child.wait().unwrap();
        }
    }

    #[test]
    fn children_are_listed_while_threads_end() {
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let threads = [(); 8].map(|()| std::thread::spawn(std::thread::yield_now));
                    for thread in threads {
                        thread.join().expect("it ends");
                    }
                }
            });
            let listed: Vec<_> = (0..2000).map(|_| super::all()).collect();
            is_over.store(true, Ordering::Relaxed);
            let failed = listed.into_iter().find_map(Result::err);
            assert!(failed.is_none(), "{failed:?}");
        });
    }
}

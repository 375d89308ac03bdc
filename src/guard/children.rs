//! The children of this process: listed, killed, reaped. As wrapper and guardian are subreapers, a
//! descendant whose parent dies becomes a child, so that killing all children again and again leaves
//! no descendant.
//!
//! A child's number cannot pass to a stranger before we have reaped it, so that signalling what was
//! just listed is safe as long as one thread does both.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::Duration;

use elect_api::Boottime;

use super::numbers;
use super::wire::Ended;

/// Signals every child of the thread behind `list` (a `/proc/.../children` file).
pub(super) fn signal_each(list: RawFd, signal: i32, spare: &[i32]) {
    each(list, |pid| {
        if !spare.contains(&pid) {
            // SAFETY: kill has no memory preconditions; the number is an unreaped child's.
            unsafe { libc::kill(pid, signal) };
        }
    });
}

/// Which children lived at one look, as far as can be told apart without memory for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Living {
    count: u32,
    sum: u64,
}

impl Living {
    /// No child.
    pub(super) const NONE: Self = Self { count: 0, sum: 0 };

    fn add(&mut self, pid: i32) {
        self.count += 1;
        self.sum += u64::from(pid.unsigned_abs());
    }
}

/// Kills every child behind `list` that is not dead yet, and says which. If nobody is reaped meanwhile,
/// none says that no descendant lives: a living one has a living ancestor among our children, as the dead
/// have no children; and the list only grows, at its end.
pub(super) fn kill_living(list: RawFd, spare: &[i32]) -> Living {
    let mut living = Living::NONE;
    each(list, |pid| {
        if !spare.contains(&pid) && !is_dead(pid) {
            living.add(pid);
            // SAFETY: as above.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
    });
    living
}

/// Whether a process is stopped, by a signal or a debugger, as far as `/proc` tells. Allocates: for the
/// wrapper only.
pub(super) fn is_stopped(pid: i32) -> bool {
    let stat = format!("/proc/{}/stat", numbers::of(pid));
    let stat = std::fs::read_to_string(stat).unwrap_or_default();
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    matches!(state, Some('T' | 't'))
}

/// Whether this child has ended, or is none of ours. It is not reaped.
pub(super) fn is_dead(pid: i32) -> bool {
    let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT | libc::__WALL;
    // SAFETY: info is a valid place for the kernel to write to, all of it zero where it does not.
    unsafe {
        let mut info = std::mem::zeroed::<libc::siginfo_t>();
        let result = libc::waitid(libc::P_PID, pid.cast_unsigned(), &raw mut info, flags);
        result != 0 || info.si_pid() != 0
    }
}

fn each(list: RawFd, mut visit: impl FnMut(i32)) {
    let mut offset: libc::off_t = 0;
    let mut pid: i32 = 0;
    let mut buffer = [0_u8; 4096];
    loop {
        // SAFETY: the buffer is writable for its whole length.
        let got = unsafe { libc::pread(list, buffer.as_mut_ptr().cast(), buffer.len(), offset) };
        let Ok(got @ 1..) = usize::try_from(got) else { return };
        offset += got.cast_signed() as libc::off_t;
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

/// How long the dead are reaped while there is killing. A tree that is not gone by then may fork faster
/// than one look at it kills, and have room for that only as long as its dead are taken away.
const REAP_AT_ONCE: Duration = Duration::from_millis(200);
/// How long after that the same children live until the dead are reaped all the same: then nobody forks,
/// and one of the living may wait for just that, as the init of a pid namespace does for its dead.
const THE_SAME: Duration = Duration::from_millis(100);

/// Whether the dead are to keep the places of processes that others of the tree would take.
#[derive(Debug, Default)]
pub(super) struct Wake {
    killing_since: Option<Boottime>,
    /// Who lived at the last looks, and since when these.
    seen: Option<(Living, Boottime)>,
}

impl Wake {
    /// There is killing at `now`.
    pub(super) fn begin(&mut self, now: Boottime) {
        self.killing_since.get_or_insert(now);
    }

    /// Whether nobody is to be reaped at `now`. `kill_living` may look and kill for that.
    pub(super) fn is_kept(&mut self, now: Boottime, kill_living: impl FnOnce() -> Living) -> bool {
        if self.killing_since.is_none_or(|since| now < since + REAP_AT_ONCE) {
            return false;
        }
        let living = kill_living();
        if living == Living::NONE {
            return false;
        }
        let since = self.seen.filter(|&(seen, _)| seen == living).map_or(now, |(_, since)| since);
        self.seen = Some((living, since));
        now < since + THE_SAME
    }
}

/// What `wait` had to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waited {
    /// This child has ended and is reaped.
    Ended(i32, Ended),
    /// This child was stopped by this signal.
    Stopped(i32, i32),
    /// There are children, without news.
    Quiet,
    /// There is no child.
    None,
}

/// The next news of any child, without waiting for it.
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
            return Waited::None;
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

/// Reaps what has ended of the children of a process that learns nothing from their ends: as PID 1,
/// everybody's orphans.
pub fn reap() {
    while matches!(wait(), Waited::Ended(..) | Waited::Stopped(..)) {}
}

/// What the kernel packs into eight bits.
const fn low_byte(number: i32) -> u8 {
    number.to_le_bytes()[0]
}

/// Whether `/proc` lists children, by the numbers that they have for us. A `/proc` that was mounted
/// for another pid namespace lists numbers that are strangers' here.
pub(super) fn are_listed() -> bool {
    numbers::own() == Some(std::process::id())
        && std::path::Path::new("/proc/thread-self/children").exists()
}

/// The list of the calling thread's children, where `/proc` offers one. Allocates.
pub(super) fn list() -> Option<OwnedFd> {
    are_listed().then(|| open_list(c"/proc/thread-self/children")).flatten()
}

fn open_list(path: &std::ffi::CStr) -> Option<OwnedFd> {
    use nix::fcntl::{OFlag, open};
    open(path, OFlag::O_RDONLY | OFlag::O_CLOEXEC, nix::sys::stat::Mode::empty()).ok()
}

/// The children of every thread of this process, where they are listed. Allocates: for the wrapper only.
pub(super) fn all() -> Option<Vec<i32>> {
    let threads = are_listed().then(|| std::fs::read_dir("/proc/self/task").ok()).flatten()?;
    let lists = threads
        .flatten()
        .filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    let all = lists.flat_map(|list| {
        list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()
    });
    Some(all.collect())
}

/// Kills every child of every thread of this process but those in `spare`. Allocates: for the wrapper only.
pub(super) fn kill_all_but(spare: &[i32]) {
    each_list(|list| signal_each(list, libc::SIGKILL, spare));
}

/// As [`kill_living`], for every thread. Allocates: for the wrapper only.
pub(super) fn kill_all_living_but(spare: &[i32]) -> Living {
    let mut living = Living::NONE;
    each_list(|list| {
        let Living { count, sum } = kill_living(list, spare);
        living = Living { count: living.count + count, sum: living.sum + sum };
    });
    living
}

fn each_list(mut visit: impl FnMut(RawFd)) {
    let threads = are_listed().then(|| std::fs::read_dir("/proc/self/task").ok()).flatten();
    for thread in threads.into_iter().flatten().flatten() {
        if let Ok(list) = std::fs::File::open(thread.path().join("children")) {
            visit(list.as_raw_fd());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dead_keep_their_places_as_long_as_others_come() {
        let at = |millis| Boottime::from_boot(Duration::from_millis(millis));
        let living = |pid| Living { count: 1, sum: pid };
        let mut wake = Wake::default();
        assert!(!wake.is_kept(at(1), || unreachable!("there is no killing")));
        wake.begin(at(1000));
        wake.begin(at(1100));
        assert!(!wake.is_kept(at(1199), || unreachable!("it is too early")));
        assert!(wake.is_kept(at(1200), || living(7)));
        assert!(wake.is_kept(at(1290), || living(7)));
        assert!(wake.is_kept(at(1310), || living(8)), "another has come");
        assert!(wake.is_kept(at(1400), || living(8)));
        assert!(!wake.is_kept(at(1410), || living(8)), "nobody forks");
        assert!(!wake.is_kept(at(1420), || Living::NONE), "all are dead");
    }
}

//! Raises the priority of the process that kills above all others, if elect may do so.
//!
//! Otherwise a command that keeps all processors busy, perhaps at a real-time priority, could keep its guardian from
//! killing it in time. The guardian nearly always sleeps. Its forks have the priority that elect was started with. The
//! wrapper has a raised priority, a [`Turn`], only while it kills in the guardian's place.

use std::cell::Cell;

use nix::unistd::geteuid;

use super::{is_off, limits};

/// The kernel's `struct sched_attr`, in its first version.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

const RESET_ON_FORK: u64 = 1;
/// The highest real-time priority.
const HIGHEST: u32 = 99;

impl Attributes {
    fn of_this_thread() -> Option<Self> {
        let mut own = Self::default();
        let size = size_of::<Self>();
        // SAFETY: the kernel writes at most as many bytes as `size` says.
        let got = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut own, size, 0) };
        (got == 0).then_some(own)
    }

    fn set(&self) -> bool {
        let attributes = Self { size: u32::try_from(size_of::<Self>()).unwrap_or(0), ..*self };
        // SAFETY: the kernel reads as many bytes as the structure says.
        unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) == 0 }
    }

    const fn are_real_time(&self) -> bool {
        matches!(self.policy.cast_signed(), libc::SCHED_FIFO | libc::SCHED_RR)
    }

    /// Returns whether a process without any privilege may have these attributes.
    const fn are_modest(&self) -> bool {
        let is_fair = matches!(
            self.policy.cast_signed(),
            libc::SCHED_OTHER | libc::SCHED_BATCH | libc::SCHED_IDLE
        );
        is_fair && self.nice >= 0
    }
}

/// The attributes of a thread before it was raised.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Before(Option<(Attributes, TimerSlack)>);

impl Before {
    /// The value for a thread that was not raised.
    pub(super) const NONE: Self = Self(None);

    /// Restores the former attributes in a fork of the raised process. Returns whether the fork has them.
    pub(super) fn restore(self) -> bool {
        let Some((before, slack)) = self.0 else { return true };
        let has_it = before.flags & RESET_ON_FORK != 0 || before.set();
        slack.set();
        has_it
    }

    /// Does `work` with the former attributes in the raised thread, and raises the thread again.
    ///
    /// A tree is reaped like this once no process of it runs. If another process has looked at a thread in `/proc`,
    /// that thread removes the entry from the kernel's cache as it ends. The kernel has the reaper wait for that in a
    /// busy loop. At a real-time priority, the reaper would keep the thread from the processor for a second. While a
    /// process of the tree runs, that process could keep a reaper of ordinary priority from killing.
    pub(super) fn lowered<T>(self, work: impl FnOnce() -> T) -> T {
        self.give_back();
        let done = work();
        if self.0.is_some() {
            raise();
        }
        done
    }

    /// Restores the former attributes in the raised thread.
    fn give_back(self) {
        let Some((before, slack)) = self.0 else { return };
        // Only root may clear the flag `RESET_ON_FORK`. For a thread that was not at a raised priority before, the
        // flag makes no difference.
        if !before.set() {
            Attributes { flags: before.flags | RESET_ON_FORK, ..before }.set();
        }
        slack.set();
    }
}

/// How late the kernel may be with a timer, in nanoseconds. The kernel sets it to zero for real-time processes and
/// their forks.
#[derive(Clone, Copy, Debug)]
struct TimerSlack(libc::c_int);

impl TimerSlack {
    fn of_this_thread() -> Self {
        // SAFETY: prctl takes an integer here.
        Self(unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) })
    }

    /// Sets the slack. A failure is ignored, as no promise depends on it.
    fn set(self) {
        if self.0 > 0 {
            // SAFETY: prctl takes integers here.
            unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, libc::c_long::from(self.0)) };
        }
    }
}

thread_local! {
    /// The number of turns of this thread, and its attributes before the first one.
    static TURNS: Cell<(u32, Before)> = const { Cell::new((0, Before::NONE)) };
}

/// A time in which a thread runs before all others. It ends when this value is dropped in that thread.
#[derive(Debug)]
pub(super) struct Turn(());

impl Turn {
    pub(super) fn begin() -> Self {
        let (count, before) = TURNS.get();
        TURNS.set((count + 1, if count == 0 { raise() } else { before }));
        Self(())
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let (count, before) = TURNS.get();
        TURNS.set((count.saturating_sub(1), before));
        if count == 1 {
            before.give_back();
        }
    }
}

/// Returns whether this thread has a real-time priority of its own.
pub(super) fn is_real_time() -> bool {
    Attributes::of_this_thread().is_some_and(|own| own.are_real_time())
}

/// Raises this thread, but not its forks, if that is permitted. Returns the attributes from before. Allocates nothing.
///
/// If the kernel would kill the thread for running too long at a real-time priority, the thread is not raised. A busy
/// machine only delays it, but that kill would end it.
pub(super) fn raise() -> Before {
    if is_off!(Priority) || limits::end_real_time() {
        return Before::NONE;
    }
    let Some(before) = Attributes::of_this_thread() else { return Before::NONE };
    let slack = TimerSlack::of_this_thread();
    // A process that only a resource limit permits to be raised could not get back a priority above the ordinary one.
    // So it is not raised if it has such a priority.
    if !before.are_modest() && !geteuid().is_root() {
        return Before::NONE;
    }
    let policy = libc::SCHED_FIFO.cast_unsigned();
    let is_raised =
        [HIGHEST, limit()].into_iter().filter(|&priority| priority > 0).any(|priority| {
            Attributes { policy, flags: RESET_ON_FORK, priority, ..Attributes::default() }.set()
        });
    Before(is_raised.then_some((before, slack)))
}

/// Returns how high an ordinary user may raise a process.
fn limit() -> u32 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel fills in a live structure.
    unsafe { libc::getrlimit(libc::RLIMIT_RTPRIO, &raw mut limit) };
    u32::try_from(limit.rlim_cur).unwrap_or(HIGHEST).min(HIGHEST)
}

//! The turn on the processors of whoever kills: before everybody else's, where elect may ask for that.
//!
//! A command that keeps all processors busy, at a real-time priority perhaps, would otherwise keep its guardian from
//! killing it in time. The guardian sleeps nearly always. What it forks has the priority that elect was started with.
//! The wrapper has such a [`Turn`] only while it kills in the guardian's place.

use std::cell::Cell;

use nix::unistd::geteuid;

use super::{is_off, limits};

/// The kernel's `struct sched_attr`, as its first version has it.
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
/// The highest that there is.
const HIGHEST: u32 = 99;

impl Attributes {
    fn of_this_thread() -> Option<Self> {
        let mut own = Self::default();
        let size = size_of::<Self>();
        // SAFETY: the kernel writes as many bytes as we say that there are.
        let got = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut own, size, 0) };
        (got == 0).then_some(own)
    }

    fn set(&self) -> bool {
        let attributes = Self { size: u32::try_from(size_of::<Self>()).unwrap_or(0), ..*self };
        // SAFETY: the kernel reads as many bytes as are said in them.
        unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) == 0 }
    }

    const fn are_real_time(&self) -> bool {
        matches!(self.policy.cast_signed(), libc::SCHED_FIFO | libc::SCHED_RR)
    }

    /// Whether a process without any rights may have them.
    const fn are_modest(&self) -> bool {
        let is_fair = matches!(
            self.policy.cast_signed(),
            libc::SCHED_OTHER | libc::SCHED_BATCH | libc::SCHED_IDLE
        );
        is_fair && self.nice >= 0
    }
}

/// What this thread had before it was raised.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Before(Option<(Attributes, TimerSlack)>);

impl Before {
    /// For whoever was not raised.
    pub(super) const NONE: Self = Self(None);

    /// Gives a fork of the process that was raised what that had before; says whether it has it.
    pub(super) fn restore(self) -> bool {
        let Some((before, slack)) = self.0 else { return true };
        let has_it = before.flags & RESET_ON_FORK != 0 || before.set();
        slack.set();
        has_it
    }

    /// Gives it back to the thread that was raised.
    fn give_back(self) {
        let Some((before, slack)) = self.0 else { return };
        // Only root may have its forks raised again, which makes no difference to whom was not raised before.
        if !before.set() {
            Attributes { flags: before.flags | RESET_ON_FORK, ..before }.set();
        }
        slack.set();
    }
}

/// By how much the kernel may be late with a timer, in nanoseconds. It takes that from real-time processes, and from
/// what they fork.
#[derive(Clone, Copy, Debug)]
struct TimerSlack(libc::c_int);

impl TimerSlack {
    fn of_this_thread() -> Self {
        // SAFETY: prctl takes an integer here.
        Self(unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) })
    }

    /// Nothing that is promised depends on it.
    fn set(self) {
        if self.0 > 0 {
            // SAFETY: prctl takes integers here.
            unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, libc::c_long::from(self.0)) };
        }
    }
}

thread_local! {
    /// How many turns this thread has, and what it had before the first of them.
    static TURNS: Cell<(u32, Before)> = const { Cell::new((0, Before::NONE)) };
}

/// A thread's turn before everybody else, until it is dropped there.
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

/// Whether this thread is at a real-time priority by itself.
pub(super) fn is_real_time() -> bool {
    Attributes::of_this_thread().is_some_and(|own| own.are_real_time())
}

/// Raises this thread, but not what it forks, if it may be. Allocates nothing.
///
/// Where the kernel would kill it for staying there, it stays where it is: a busy machine delays it, and that ends it.
pub(super) fn raise() -> Before {
    if is_off!(Priority) || limits::end_real_time() {
        return Before::NONE;
    }
    let Some(before) = Attributes::of_this_thread() else { return Before::NONE };
    let slack = TimerSlack::of_this_thread();
    // Whoever may be raised by a limit alone might not get more than the ordinary back.
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

/// How high an ordinary user may raise a process.
fn limit() -> u32 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel fills in a live structure.
    unsafe { libc::getrlimit(libc::RLIMIT_RTPRIO, &raw mut limit) };
    u32::try_from(limit.rlim_cur).unwrap_or(HIGHEST).min(HIGHEST)
}

//! The limits of this process (`setrlimit(2)`). elect lifts for itself the limits that could end or blind it in its
//! work. Its commands get back the limits that elect was started with.
//!
//! A soft limit rises to the hard one, which needs no privilege. A hard limit by which the kernel kills is lifted if
//! elect has the privilege (`CAP_SYS_RESOURCE`), and so is one that leaves too small a stack to read a command line.
//! The other hard limits stay, and what they refuse is reported at the start.
//!
//! elect and its guardian leave no core dump, as the passwords of stores are in their memory. Only the soft limit on
//! core dumps is lowered, so that an ordinary user can give it back to a command.
//!
//! The soft limit becomes one byte, as no core file is that small. If the kernel pipes cores to a program, one is the
//! only limit that it heeds. Below a hard limit of 0 the soft limit is 0, too. Such a program is still started then,
//! and is told that no core is wanted.
//!
//! `PR_SET_DUMPABLE` would work in all cases. But it gives `/proc/self` to root, and a command of an ordinary user
//! finds its lease there.

use std::io;
use std::sync::OnceLock;

use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit, rlim_t, setrlimit};

use super::is_off;

/// The limits by which the kernel kills a process that keeps a processor busy, for too long in total, or without a
/// pause at a real-time priority.
const KILLING: [Resource; 2] = [Resource::RLIMIT_CPU, Resource::RLIMIT_RTTIME];
/// The limits on resources of which elect needs a little: descriptors, processes, timers, memory, and files that it
/// writes.
const REFUSING: [Resource; 7] = [
    Resource::RLIMIT_NOFILE,
    Resource::RLIMIT_NPROC,
    Resource::RLIMIT_SIGPENDING,
    Resource::RLIMIT_AS,
    Resource::RLIMIT_DATA,
    Resource::RLIMIT_MEMLOCK,
    Resource::RLIMIT_FSIZE,
];
/// One byte is less than any core, and does not mean "unlimited" for a pipe, as 0 does.
const NO_CORE: rlim_t = 1;
/// The stack in bytes that is enough for this process. It is the usual limit.
const ENOUGH_STACK: rlim_t = 8 << 20;
/// The processor time in seconds that the guardian needs for its killing.
const LEAST_SECONDS: rlim_t = 5;

/// A limit that was changed, and its former values.
#[derive(Clone, Copy, Debug)]
struct Changed {
    resource: Resource,
    soft: rlim_t,
    hard: rlim_t,
}

impl Changed {
    /// Restores the limit. A limit that was valid before is accepted again.
    fn restore(self) {
        let _ = setrlimit(self.resource, self.soft, self.hard);
    }
}

/// The limits that this process was started with, as far as they were changed.
static BEFORE: OnceLock<Vec<Changed>> = OnceLock::new();

/// Lifts the limits, and prevents core dumps of this process and its forks.
pub(super) fn adjust() {
    BEFORE.get_or_init(|| {
        let killing = KILLING.into_iter().filter(|_| !is_off!(Limits));
        let killing = killing.filter_map(|resource| {
            change(resource, |_| RLIM_INFINITY, |_| RLIM_INFINITY).or_else(|| raise_soft(resource))
        });
        let core = change(Resource::RLIMIT_CORE, |hard| NO_CORE.min(hard), |hard| hard);
        let refusing = REFUSING.into_iter().filter_map(raise_soft);
        killing.chain(refusing).chain(core).chain(raise_stack()).collect()
    });
}

fn raise_soft(resource: Resource) -> Option<Changed> {
    change(resource, |hard| hard, |hard| hard)
}

/// Raises a small limit on the stack, which the kernel heeds as the stack grows. Unlimited, it would change the memory
/// map of a program that is executed next.
fn raise_stack() -> Option<Changed> {
    getrlimit(Resource::RLIMIT_STACK).ok().filter(|&(soft, _)| soft < ENOUGH_STACK)?;
    change(Resource::RLIMIT_STACK, |_| ENOUGH_STACK, |hard| hard.max(ENOUGH_STACK))
        .or_else(|| raise_soft(Resource::RLIMIT_STACK))
}

/// Sets a limit as computed from its hard limit. Returns `None` if nothing changes, or if the change is refused.
fn change(
    resource: Resource,
    new_soft: impl Fn(rlim_t) -> rlim_t,
    new_hard: impl Fn(rlim_t) -> rlim_t,
) -> Option<Changed> {
    let (soft, hard) = getrlimit(resource).ok()?;
    let new = (new_soft(hard), new_hard(hard));
    let is_changed = new != (soft, hard) && setrlimit(resource, new.0, new.1).is_ok();
    is_changed.then_some(Changed { resource, soft, hard })
}

/// Restores all limits, for a command that is executed next. Allocates nothing.
pub(super) fn restore() {
    BEFORE.get().into_iter().flatten().copied().for_each(Changed::restore);
}

/// Restores all limits except that on core dumps, for a program that may know passwords. Allocates nothing.
pub(super) fn restore_for_helper() {
    let before = BEFORE.get().into_iter().flatten().copied();
    before.filter(|it| it.resource != Resource::RLIMIT_CORE).for_each(Changed::restore);
}

/// Returns whether the kernel kills this process if it runs for too long at a real-time priority.
pub(super) fn end_real_time() -> bool {
    !is_off!(Limits)
        && getrlimit(Resource::RLIMIT_RTTIME).is_ok_and(|(soft, _)| soft != RLIM_INFINITY)
}

/// Checks that the remaining limits leave room for killing a large tree.
///
/// # Errors
/// The kernel might kill a guardian in the middle of its work.
pub(super) fn leave_room(is_real_time: bool) -> io::Result<()> {
    let refused = |why: String| Err(io::Error::new(io::ErrorKind::QuotaExceeded, why));
    if is_real_time && end_real_time() {
        return refused(
            "elect runs at a real-time priority, and the limit on its time there (`ulimit -R`, LimitRTTIME=) has the \
             kernel kill it: lift the limit, or start elect at an ordinary priority"
                .to_owned(),
        );
    }
    let seconds = getrlimit(Resource::RLIMIT_CPU).map_or(RLIM_INFINITY, |(_, hard)| hard);
    if seconds < LEAST_SECONDS && !is_off!(Limits) {
        return refused(format!(
            "{seconds} s of processor time (`ulimit -Ht`, LimitCPU=) may not be enough to kill a large tree: allow \
             {LEAST_SECONDS} s, or limit the command only (`ulimit -St`)"
        ));
    }
    Ok(())
}

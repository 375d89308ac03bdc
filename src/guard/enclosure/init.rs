//! The first process of the command's pid namespace. It runs no foreign code, and reaps the orphans.
//! Everything in the namespace dies with it.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};

use crate::guard::children::{self, Waited};
use crate::guard::dead_man::Readers;
use crate::guard::{descriptors, signals};

/// The order to end as soon as no process is left. Any other byte is a signal for all processes that are
/// left.
pub(super) const LEAVE: u8 = 0;

/// The descriptors that the init keeps open.
pub(super) struct InitFds<'a> {
    pub(super) orders: &'a OwnedFd,
    /// The memory for `ELECT_LEASE`. Programs in a user namespace may look at the descriptors of this
    /// process only.
    pub(super) lease: &'a OwnedFd,
    pub(super) death_readers: &'a Readers,
    pub(super) null: &'a OwnedFd,
}

/// Turns this process into the init. It was just forked as the first of its namespace, with all signals
/// blocked.
pub(super) fn main(kept: &InitFds<'_>) -> ! {
    // SAFETY: prctl takes integers, and a NUL-terminated name for PR_SET_NAME.
    let is_tied = unsafe {
        libc::prctl(libc::PR_SET_NAME, c"elect-init".as_ptr());
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) == 0
    };
    // A guardian that died before the prctl cannot send the signal any more.
    if !is_tied || kept.death_readers.is_over() {
        end();
    }
    descriptors::silence(kept.null, &[0, 1, 2]);
    let mut open = [kept.orders.as_raw_fd(), kept.lease.as_raw_fd()];
    // SAFETY: no other descriptor is used from here on, and no object that owns one is dropped.
    unsafe { descriptors::close_all_but(&mut open) };
    let Ok(news) = signals::descriptor(&SigSet::from(Signal::SIGCHLD)) else { end() };
    let mut leaves = false;
    loop {
        let mut polled = [
            PollFd::new(news.as_fd(), PollFlags::POLLIN),
            PollFd::new(kept.orders.as_fd(), PollFlags::POLLIN),
        ];
        let _ = poll(&mut polled, PollTimeout::NONE);
        while let Ok(Some(_)) = news.read_signal() {}
        leaves |= obey(kept.orders);
        if is_childless() && leaves {
            end();
        }
    }
}

/// Carries out the orders that have arrived. Returns whether one of them is to leave.
fn obey(orders: &OwnedFd) -> bool {
    let mut leaves = false;
    let mut order = [LEAVE];
    loop {
        match descriptors::read_now(orders, &mut order) {
            // The guardian is gone.
            Ok(Some(0)) | Err(_) => end(),
            Ok(None) => return leaves,
            Ok(Some(_)) if order[0] == LEAVE => leaves = true,
            Ok(Some(_)) => {
                // SAFETY: kill has no memory preconditions. From here it reaches all processes of the
                // namespace except this one.
                unsafe { libc::kill(-1, order[0].into()) };
            }
        }
    }
}

/// Reaps the children that have ended. Returns whether no child is left.
fn is_childless() -> bool {
    loop {
        match children::wait() {
            Waited::None => return true,
            Waited::Quiet => return false,
            Waited::Ended(..) | Waited::Stopped(..) => {}
        }
    }
}

/// Ends this process, and with it everything in the namespace.
fn end() -> ! {
    // SAFETY: _exit has no preconditions.
    unsafe { libc::_exit(0) }
}

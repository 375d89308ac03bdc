//! Waiting for other processes.

use std::os::fd::AsFd;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// The time in which a process comes to rest: no event tells when it has.
pub(crate) const REST: Duration = Duration::from_millis(400);

/// After so many milliseconds a run is given up.
const PATIENCE: u16 = 60_000;

/// Returns when something can be read, its end included.
pub(crate) fn until_readable(what: &impl AsFd) {
    let mut wanted = [PollFd::new(what.as_fd(), PollFlags::POLLIN)];
    let ready = poll(&mut wanted, PollTimeout::from(PATIENCE)).expect("the kernel tells");
    assert!(ready > 0, "nothing came within a minute");
}

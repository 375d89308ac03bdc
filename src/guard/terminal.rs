//! The terminal, handled as a shell handles it: the foreground is the command's while it runs, and
//! comes back when it stops.

use std::os::fd::OwnedFd;

use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, getpgrp, isatty, tcgetpgrp, tcsetpgrp};

use super::descriptors::out_of_the_way;

/// The controlling terminal of a job that a shell started.
pub struct Terminal {
    device: OwnedFd,
    own_group: Pid,
    /// Whether the command gets the foreground at its start. In a pipeline it does not, since the
    /// other programs of the line (a pager, say) may need the terminal; it gets it when it asks.
    at_once: bool,
}

impl Terminal {
    /// The terminal that controls this session, if there is one.
    pub fn open() -> Option<Self> {
        let device =
            open(c"/dev/tty", OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC, Mode::empty())
                .ok()?;
        let at_once =
            isatty(std::io::stdin()).unwrap_or(false) && isatty(std::io::stdout()).unwrap_or(false);
        Some(Self { device: out_of_the_way(device).ok()?, own_group: getpgrp(), at_once })
    }

    /// Whether our own group is in the foreground.
    pub fn is_ours(&self) -> bool {
        tcgetpgrp(&self.device) == Ok(self.own_group)
    }

    /// Whether this group is in the foreground.
    pub fn is_of(&self, group: i32) -> bool {
        tcgetpgrp(&self.device) == Ok(Pid::from_raw(group))
    }

    /// Puts `group` in the foreground. Needs TTOU blocked, as it is in wrapper, guardian and the
    /// command before its exec.
    pub fn give(&self, group: i32) {
        // A group that has just ended is no failure of ours.
        let _ = tcsetpgrp(&self.device, Pid::from_raw(group));
    }

    /// Puts our own group in the foreground again.
    pub fn take_back(&self) {
        self.give(self.own_group.as_raw());
    }

    /// For the command before its exec: takes the foreground if it is due at once and ours to give.
    pub(super) fn give_at_start(&self, group: i32) {
        if self.at_once && self.is_ours() {
            self.give(group);
        }
    }

    pub(super) fn device(&self) -> &OwnedFd {
        &self.device
    }
}

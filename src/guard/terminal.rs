//! The terminal, handled as a shell handles it: the foreground and the modes are the command's while it
//! runs, and come back when it stops or is killed.

use std::os::fd::OwnedFd;

use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;
use nix::sys::termios::{SetArg, Termios, tcgetattr, tcsetattr};
use nix::unistd::{Pid, getpgrp, isatty, tcgetpgrp, tcsetpgrp};

use super::descriptors::out_of_the_way;

/// The controlling terminal of a job that a shell started.
pub struct Terminal {
    device: OwnedFd,
    own_group: Pid,
    /// Whether the command gets the foreground at its start. In a pipeline it does not, since the
    /// other programs of the line (a pager, say) may need the terminal; it gets it when it asks.
    at_once: bool,
    /// The modes before the command had the terminal.
    ours: Option<Modes>,
    /// The modes when it was last stopped.
    commands: Option<Modes>,
}

/// Echo, line editing, keys that make signals, and so on.
type Modes = libc::termios;

impl Terminal {
    /// The terminal that controls this session, if there is one.
    pub fn open() -> Option<Self> {
        let device =
            open(c"/dev/tty", OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC, Mode::empty())
                .ok()?;
        let at_once =
            isatty(std::io::stdin()).unwrap_or(false) && isatty(std::io::stdout()).unwrap_or(false);
        let device = out_of_the_way(device).ok()?;
        Some(Self { device, own_group: getpgrp(), at_once, ours: None, commands: None })
    }

    /// Whether our own group is in the foreground.
    pub fn is_ours(&self) -> bool {
        tcgetpgrp(&self.device) == Ok(self.own_group)
    }

    /// Whether this group is in the foreground.
    pub fn is_of(&self, group: i32) -> bool {
        tcgetpgrp(&self.device) == Ok(Pid::from_raw(group))
    }

    /// Remembers the modes as they are, for when the command is killed: it is about to start.
    pub fn remember(&mut self) {
        self.ours = self.modes();
    }

    /// Puts the command's `group`, which stopped or wants the terminal, in the foreground, with the modes
    /// that it had there.
    pub fn hand_over(&mut self, group: i32) {
        // They may have been changed while it was stopped.
        self.remember();
        if self.put_in_front(Pid::from_raw(group))
            && let Some(modes) = self.commands
        {
            self.set(&modes);
        }
    }

    /// Puts our own group in the foreground again, with the modes from before: the command has stopped.
    pub fn suspend(&mut self) {
        self.commands = self.modes();
        self.take_back(true);
    }

    /// Puts our own group in the foreground again: the command is no more. What it wanted the modes to
    /// be stays, as with `stty`, unless it was killed (`restoring`) and cannot have wanted anything.
    pub fn take_back(&self, restoring: bool) {
        self.put_in_front(self.own_group);
        if let Some(modes) = self.ours.filter(|_| restoring) {
            self.set(&modes);
        }
    }

    /// Whether the foreground is due to the command at its start, and ours to give.
    pub(super) fn is_due(&self) -> bool {
        self.at_once && self.is_ours()
    }

    /// For the command before its exec: takes the foreground. `group` is its own, as it calls it.
    pub(super) fn give(&self, group: i32) {
        self.put_in_front(Pid::from_raw(group));
    }

    /// Needs TTOU blocked, as it is in wrapper, guardian and the command before its exec. That a group
    /// has just ended is no failure of ours.
    fn put_in_front(&self, group: Pid) -> bool {
        tcsetpgrp(&self.device, group).is_ok()
    }

    fn modes(&self) -> Option<Modes> {
        tcgetattr(&self.device).ok().map(Into::into)
    }

    /// At once: a terminal that is held with Ctrl-S never takes what was written before.
    fn set(&self, modes: &Modes) {
        let _ = tcsetattr(&self.device, SetArg::TCSANOW, &Termios::from(*modes));
    }

    pub(super) fn device(&self) -> &OwnedFd {
        &self.device
    }
}

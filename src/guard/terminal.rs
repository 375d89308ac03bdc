//! The terminal, handled as a shell handles it. The command has the foreground and sets the modes while
//! it runs. Both come back when it stops or is killed.

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
    /// Whether the command gets the foreground at its start. In a pipeline it does not, as other programs
    /// of the line, such as a pager, may need the terminal. There, the command gets it when it asks.
    at_once: bool,
    /// The modes before the command had the terminal.
    ours: Option<Modes>,
    /// The modes when the command was last stopped.
    commands: Option<Modes>,
}

/// The modes of a terminal: echo, line editing, keys that make signals, and so on.
type Modes = libc::termios;

impl Terminal {
    /// Opens the terminal that controls this session, if there is one.
    pub fn open() -> Option<Self> {
        let device =
            open(c"/dev/tty", OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC, Mode::empty())
                .ok()?;
        let at_once =
            isatty(std::io::stdin()).unwrap_or(false) && isatty(std::io::stdout()).unwrap_or(false);
        let device = out_of_the_way(device).ok()?;
        Some(Self { device, own_group: getpgrp(), at_once, ours: None, commands: None })
    }

    /// Returns whether elect's own group is in the foreground.
    pub fn is_ours(&self) -> bool {
        tcgetpgrp(&self.device) == Ok(self.own_group)
    }

    /// Returns whether this group is in the foreground.
    pub fn is_of(&self, group: i32) -> bool {
        tcgetpgrp(&self.device) == Ok(Pid::from_raw(group))
    }

    /// Remembers the present modes, in case the command is killed. Call this before the command starts.
    pub fn remember(&mut self) {
        self.ours = self.modes();
    }

    /// Puts the command's `group` in the foreground, with the modes that it had there. The command has
    /// stopped, or wants the terminal.
    pub fn hand_over(&mut self, group: i32) {
        // The modes may have been changed while the command was stopped.
        self.remember();
        if self.put_in_front(Pid::from_raw(group))
            && let Some(modes) = self.commands
        {
            self.set(&modes);
        }
    }

    /// Puts elect's own group in the foreground again, with the modes from before. The command has
    /// stopped.
    pub fn suspend(&mut self) {
        self.commands = self.modes();
        self.take_back(true);
    }

    /// Puts elect's own group in the foreground again, as the command is gone. The modes that the command
    /// has set stay, as with `stty`. If `restoring`, the former modes come back: the command was killed,
    /// and did not choose the present ones.
    pub fn take_back(&self, restoring: bool) {
        self.put_in_front(self.own_group);
        if let Some(modes) = self.ours.filter(|_| restoring) {
            self.set(&modes);
        }
    }

    /// Returns whether the command must get the foreground at its start, and elect has it to give.
    pub(super) fn is_due(&self) -> bool {
        self.at_once && self.is_ours()
    }

    /// Takes the foreground for the command, in its process before the exec. `group` is the command's own
    /// group, by the number that the command sees.
    pub(super) fn give(&self, group: i32) {
        self.put_in_front(Pid::from_raw(group));
    }

    /// Puts a group in the foreground. SIGTTOU must be blocked, as it is in wrapper, guardian and the
    /// command before its exec. A group that has just ended is no failure.
    fn put_in_front(&self, group: Pid) -> bool {
        tcsetpgrp(&self.device, group).is_ok()
    }

    fn modes(&self) -> Option<Modes> {
        tcgetattr(&self.device).ok().map(Into::into)
    }

    /// Sets the modes at once. A terminal that is held with Ctrl-S would never take the output from
    /// before.
    fn set(&self, modes: &Modes) {
        let _ = tcsetattr(&self.device, SetArg::TCSANOW, &Termios::from(*modes));
    }

    pub(super) fn device(&self) -> &OwnedFd {
        &self.device
    }
}

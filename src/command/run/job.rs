//! The command as a job in the terminal: who has the foreground, and for whom its keys are meant.

use crate::guard::{self, Ended, Terminal, Whom};

/// We are one job with the command for whoever sits at the terminal, but two process groups.
pub(super) struct Job {
    terminal: Option<Terminal>,
    /// The command's process group, while it runs.
    group: Option<i32>,
    /// The terminal's stop came to us and was passed on: we follow once the command has stopped.
    suspending: bool,
    /// INT or QUIT came to us and was passed on: what comes of it is not the terminal's doing.
    interrupted: bool,
    ended_by_key: bool,
}

impl Job {
    pub(super) fn new() -> Self {
        Self {
            terminal: Terminal::open(),
            group: None,
            suspending: false,
            interrupted: false,
            ended_by_key: false,
        }
    }

    /// Whether a key in the terminal ended the command: it went to the command alone, and was meant for
    /// all of the job.
    pub(super) const fn ended_by_key(&self) -> bool {
        self.ended_by_key
    }

    /// The command is about to be started.
    pub(super) fn starts(&mut self) {
        if let Some(terminal) = &mut self.terminal {
            terminal.remember();
        }
    }

    pub(super) const fn started(&mut self, group: i32) {
        self.group = Some(group);
    }

    /// The terminal's stop came to us. Says whether the command is to stop first.
    pub(super) fn suspend(&mut self) -> bool {
        self.suspending = self.group.is_some();
        if !self.suspending {
            guard::stop(Whom::Ourselves);
        }
        self.suspending
    }

    /// We go on.
    pub(super) const fn resume(&mut self) {
        self.suspending = false;
    }

    /// This signal is passed on to the command.
    pub(super) const fn passes_on(&mut self, signal: i32) {
        self.interrupted |= is_interrupt(signal);
    }

    /// The command has stopped. If the terminal's user meant the whole job, we stop as well; if it
    /// only wants the terminal, it gets it once it is ours to give: in the background we stop, so that
    /// the shell sees a stopped job, which its `fg` continues. Says whether it is to go on now.
    pub(super) fn stopped(&mut self, signal: i32) -> bool {
        let (Some(terminal), Some(group)) = (&mut self.terminal, self.group) else { return false };
        let was_in_front = terminal.is_of(group);
        let wants_terminal = matches!(signal, libc::SIGTTIN | libc::SIGTTOU);
        let is_terminals = was_in_front || wants_terminal;
        if wants_terminal && terminal.is_ours() {
            terminal.hand_over(group);
        } else if is_terminals || (self.suspending && signal == libc::SIGTSTP) {
            self.suspending = false;
            if was_in_front {
                terminal.suspend();
            }
            let continued = guard::stop(if is_terminals { Whom::OurJob } else { Whom::Ourselves });
            if is_terminals && terminal.is_ours() {
                terminal.hand_over(group);
            } else if wants_terminal {
                // In the background it would only want it again. It goes on when we do.
                return continued;
            }
        } else {
            return false;
        }
        true
    }

    pub(super) fn ended(&mut self, ended: Ended) {
        let was_in_front = self.leave_foreground(matches!(ended, Ended::Signaled(_)));
        self.ended_by_key = was_in_front
            && !self.interrupted
            && matches!(ended, Ended::Signaled(signal) if is_interrupt(signal.into()));
    }

    /// The command is no more, and was not seen to end.
    pub(super) fn is_gone(&mut self) {
        self.leave_foreground(true);
    }

    /// The foreground is ours again, if it was the command's, and so are the modes, if it was `killed`.
    fn leave_foreground(&mut self, killed: bool) -> bool {
        let (Some(terminal), Some(group)) = (&self.terminal, self.group.take()) else {
            return false;
        };
        let was_in_front = terminal.is_of(group);
        if was_in_front {
            terminal.take_back(killed);
        }
        was_in_front
    }
}

/// Whether a key in the terminal makes this signal, which ends programs.
const fn is_interrupt(signal: i32) -> bool {
    matches!(signal, libc::SIGINT | libc::SIGQUIT)
}

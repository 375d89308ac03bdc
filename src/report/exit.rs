use nix::sys::signal::Signal;

/// The exit code for a leadership that was lost.
pub const LOST: u8 = 124;
/// The exit code for a leadership that was not acquired, unless `-E` sets another.
pub const NOT_ACQUIRED: u8 = 75;
/// The exit code for elect's own failures.
pub const FAILED: u8 = 125;
/// The exit code for a command that cannot be executed.
pub const NOT_EXECUTABLE: u8 = 126;
/// The exit code for a command that was not found.
pub const NOT_FOUND: u8 = 127;

/// How one `elect run` ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The command ended with this exit code, which is elect's own too.
    Exited(u8),
    /// This signal ended the command: 128 + its number.
    Signaled(i32),
    /// What `--once` names was done already: 0.
    AlreadyDone,
    /// Leadership was lost while the command ran: [`LOST`].
    Lost,
    /// Leadership was given up as somebody asked for that, and the command was stopped: [`LOST`].
    SteppedDown,
    /// Another candidate leads, the election is paused or our priority is 0, and waiting was not asked for or is over:
    /// [`NOT_ACQUIRED`], or `-E`.
    NotAcquired,
    /// elect itself failed: [`FAILED`].
    Failed,
    /// The command is there but cannot be executed: [`NOT_EXECUTABLE`].
    NotExecutable,
    /// There is no such command: [`NOT_FOUND`].
    NotFound,
    /// This signal made elect leave the queue before the command was started: 128 + its number.
    Interrupted(i32),
}

impl Outcome {
    /// The exit code of elect, where `conflict` is what `-E` says about [`Outcome::NotAcquired`].
    pub fn exit_code(self, conflict: u8) -> u8 {
        match self {
            Self::Exited(code) => code,
            Self::Signaled(signal) | Self::Interrupted(signal) => {
                u8::try_from(signal.saturating_add(128)).unwrap_or(u8::MAX)
            }
            Self::AlreadyDone => 0,
            Self::Lost | Self::SteppedDown => LOST,
            Self::NotAcquired => conflict,
            Self::Failed => FAILED,
            Self::NotExecutable => NOT_EXECUTABLE,
            Self::NotFound => NOT_FOUND,
        }
    }

    /// The signal that elect is to end by itself, where it can: shells look at how a program ended to know
    /// whether INT was meant for the script, or the loop, around it.
    pub const fn own_signal(self) -> Option<Signal> {
        match self {
            Self::Signaled(libc::SIGINT) | Self::Interrupted(libc::SIGINT) => Some(Signal::SIGINT),
            Self::Signaled(libc::SIGQUIT) | Self::Interrupted(libc::SIGQUIT) => {
                Some(Signal::SIGQUIT)
            }
            _ => None,
        }
    }

    /// The name that `--outcome` writes; stable.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exited(_) => "exited",
            Self::Signaled(_) => "signaled",
            Self::AlreadyDone => "already_done",
            Self::Lost => "lost",
            Self::SteppedDown => "stepped_down",
            Self::NotAcquired => "not_acquired",
            Self::Failed => "failed",
            Self::NotExecutable => "not_executable",
            Self::NotFound => "not_found",
            Self::Interrupted(_) => "interrupted",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{NOT_ACQUIRED, Outcome, Signal};

    #[test]
    fn exit_codes() {
        for (outcome, code) in [
            (Outcome::Exited(0), 0),
            (Outcome::Exited(255), 255),
            (Outcome::Signaled(15), 143),
            (Outcome::Signaled(64), 192),
            (Outcome::AlreadyDone, 0),
            (Outcome::Lost, 124),
            (Outcome::SteppedDown, 124),
            (Outcome::NotAcquired, 75),
            (Outcome::Failed, 125),
            (Outcome::NotExecutable, 126),
            (Outcome::NotFound, 127),
            (Outcome::Interrupted(2), 130),
        ] {
            assert_eq!(outcome.exit_code(NOT_ACQUIRED), code, "{outcome:?}");
        }
    }

    #[test]
    fn elect_ends_by_the_signals_that_shells_look_at() {
        for outcome in [Outcome::Signaled(2), Outcome::Interrupted(2)] {
            assert_eq!(outcome.own_signal(), Some(Signal::SIGINT));
        }
        assert_eq!(Outcome::Signaled(3).own_signal(), Some(Signal::SIGQUIT));
        for outcome in [Outcome::Signaled(15), Outcome::Exited(130), Outcome::Lost] {
            assert_eq!(outcome.own_signal(), None);
        }
    }

    #[test]
    fn only_a_conflict_heeds_the_flag() {
        assert_eq!(Outcome::NotAcquired.exit_code(9), 9);
        assert_eq!(Outcome::NotAcquired.exit_code(0), 0);
        assert_eq!(Outcome::Exited(75).exit_code(9), 75);
    }
}

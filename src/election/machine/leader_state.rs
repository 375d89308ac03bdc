//! The state of a leader: its leadership, the stage of its command, and the command's runs so far.

use std::time::Duration;

use elect_api::{Boottime, Token, Validity};

use super::Restarts;
use crate::guard::Ended;

/// The state of a leadership and of its command.
#[derive(Clone, Debug)]
pub(super) struct LeaderState {
    /// The token, which stays the same from the win to the end.
    pub(super) token: Token,
    /// How long no other candidate can lead, as proven by the newest renewal that anchors. It never goes back.
    pub(super) validity: Validity,
    pub(super) started: Option<Boottime>,
    pub(super) stage: RunStage,
    pub(super) runs: CommandRuns,
    /// How the command ended by itself, if the processes that it left are a part of its work.
    pub(super) half_done: Option<Ended>,
    /// Whether the candidate was asked to end. Then the lease is not held longer than the command runs.
    pub(super) told_to_stop: bool,
    /// The signals that elect passed on to ask the command to stop.
    pub(super) asked: Vec<i32>,
    /// The time of the first of them.
    pub(super) asked_at: Option<Boottime>,
    /// The time at which the rest of a command that was asked to stop is killed.
    pub(super) kill_at: Option<Boottime>,
    /// Whether the leader was asked to give leadership up. The command is asked to stop only once for that.
    pub(super) steps_down: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunStage {
    /// The command is being started, or runs.
    Running,
    /// Leadership is lost, and the command was asked to stop. The guardian kills it when its time is over.
    Stopping,
    /// The command has ended. Other processes of the tree may live, and may do so for long.
    Lingering,
    /// Everything is being killed.
    Emptying,
    /// The tree is empty. The command starts again at this instant, or as soon as the lease leaves it its grace.
    Resting(Option<Boottime>),
    /// The tree is empty. The success of the command is being recorded, until this instant at most.
    Recording(Boottime),
    /// The tree is empty. The lease is kept until this instant.
    Holding(Boottime),
}

impl LeaderState {
    /// Notes that everything is being killed from now on.
    pub(super) const fn kill(&mut self) {
        self.stage = RunStage::Emptying;
    }

    pub(super) const fn enter(&mut self, stage: RunStage) {
        self.stage = stage;
    }

    /// The time of the command's first start, if it was started.
    pub(super) const fn started(&self) -> Option<Boottime> {
        self.started
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.is_over() || (self.is_resting() && !self.runs.are_outlived())
    }

    /// Returns whether the tree is empty for good.
    pub(super) const fn is_over(&self) -> bool {
        matches!(self.stage, RunStage::Recording(_) | RunStage::Holding(_))
    }

    pub(super) const fn is_told_to_stop(&self) -> bool {
        self.told_to_stop
    }

    /// Returns whether the user, another caller or a limit has asked the command to end.
    pub(super) const fn is_asked_to_end(&self) -> bool {
        self.told_to_stop || self.asked_at.is_some() || self.runs.key.is_some()
    }

    /// Returns whether the command is about to end.
    pub(super) const fn is_ending(&self) -> bool {
        self.told_to_stop || !matches!(self.stage, RunStage::Running)
    }

    pub(super) const fn is_resting(&self) -> bool {
        matches!(self.stage, RunStage::Resting(_))
    }

    pub(super) const fn is_recording(&self) -> bool {
        matches!(self.stage, RunStage::Recording(_))
    }

    pub(super) fn ask(&mut self, now: Boottime, signal: i32, kill_at: Option<Boottime>) {
        self.asked_at.get_or_insert(now);
        if !self.asked.contains(&signal) {
            self.asked.push(signal);
        }
        self.kill_at = self.kill_at.into_iter().chain(kill_at).min();
    }

    /// Returns whether a command that ended like this was killed, or was ended by a signal that elect did not send.
    pub(super) fn is_cut_short(&self, ended: Ended) -> bool {
        match ended {
            Ended::Exited(_) => false,
            Ended::Signaled(signal) => {
                let signal = i32::from(signal);
                signal == libc::SIGKILL || !self.asked.contains(&signal)
            }
        }
    }
}

/// How the runs of a leader's command went so far.
#[derive(Clone, Debug, Default)]
pub(super) struct CommandRuns {
    /// The time of the last start.
    pub(super) last: Option<Boottime>,
    /// How the command ended, if it starts again after that.
    pub(super) ended: Option<Ended>,
    /// The pause before the last start.
    pub(super) pause: Duration,
    /// How often it was started again.
    pub(super) again: u32,
    /// Whether a HUP was passed on to it.
    pub(super) hung_up: bool,
    /// The signal that a key in the terminal has sent to the command, and not to elect.
    pub(super) key: Option<i32>,
    /// Whether other processes beside the command, such as a hook, lived on when its last process was gone.
    pub(super) outlived: bool,
}

impl CommandRuns {
    pub(super) const fn started(&mut self, now: Boottime) {
        self.last = Some(now);
    }

    pub(super) const fn hang_up(&mut self) {
        self.hung_up = true;
    }

    /// The signal that has cut the command short without asking elect to end.
    pub(super) fn cut_short_by(&self) -> Option<i32> {
        self.key.or_else(|| self.hung_up.then_some(libc::SIGHUP))
    }

    /// Returns whether the command got this signal, which does not ask elect to end. A command that dies of it has not
    /// failed.
    pub(super) fn got(&self, signal: i32) -> bool {
        self.key == Some(signal) || (self.hung_up && signal == libc::SIGHUP)
    }

    pub(super) const fn are_outlived(&self) -> bool {
        self.outlived
    }

    /// Returns the pause before the next start.
    pub(super) fn next_pause(&mut self, now: Boottime, restarts: &Restarts) -> Duration {
        self.pause = restarts.next_pause(self.pause, self.last.map(|last| now.since(last)));
        self.pause
    }
}

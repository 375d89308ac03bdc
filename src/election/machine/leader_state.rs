//! What a leader knows: its leadership, how far the command has come, and how that has fared so far.

use std::time::Duration;

use elect_api::{Boottime, Token, Validity};

use super::Restarts;
use crate::guard::Ended;

/// A leadership and how far the command has come.
#[derive(Clone, Debug)]
pub(super) struct LeaderState {
    /// The same from the win to the end.
    pub(super) token: Token,
    /// How long nobody else can lead, as proven by the newest renewal that anchors. It never goes back.
    pub(super) validity: Validity,
    pub(super) started: Option<Boottime>,
    pub(super) stage: Stage,
    pub(super) runs: CommandRuns,
    /// How the command has ended by itself, if what it has left is a part of its work.
    pub(super) half_done: Option<Ended>,
    /// Whether somebody wants us to end: the lease is not kept for longer than the command runs.
    pub(super) told_to_stop: bool,
    /// The signals that asked the command to stop, and came through us.
    pub(super) asked: Vec<i32>,
    /// When the first of them came.
    pub(super) asked_at: Option<Boottime>,
    /// When what is left of a command that was asked to stop is killed.
    pub(super) kill_at: Option<Boottime>,
    /// Whether we were asked to give leadership up: that is asked of the command once.
    pub(super) steps_down: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The command is being started, or runs.
    Running,
    /// It was asked to stop as leadership is lost; the guardian kills it when its time is over.
    Stopping,
    /// It has ended; others of the tree may live, and may go on doing so for long.
    Lingering,
    /// Everything is being killed.
    Emptying,
    /// The tree is empty; the command is started again at this instant, or as soon as the lease leaves it its grace.
    Resting(Option<Boottime>),
    /// The tree is empty; that the command has succeeded is recorded, with patience until this instant.
    Recording(Boottime),
    /// The tree is empty; the lease is kept until this instant.
    Holding(Boottime),
}

impl LeaderState {
    /// From here on everything is being killed.
    pub(super) const fn kill(&mut self) {
        self.stage = Stage::Emptying;
    }

    pub(super) const fn enter(&mut self, stage: Stage) {
        self.stage = stage;
    }

    /// When the command was started first, if it was.
    pub(super) const fn started(&self) -> Option<Boottime> {
        self.started
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.is_over() || (self.is_resting() && !self.runs.are_outlived())
    }

    /// Whether it is empty for good.
    pub(super) const fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Recording(_) | Stage::Holding(_))
    }

    pub(super) const fn is_told_to_stop(&self) -> bool {
        self.told_to_stop
    }

    /// Whether the command is on its way out.
    pub(super) const fn is_ending(&self) -> bool {
        self.told_to_stop || !matches!(self.stage, Stage::Running)
    }

    pub(super) const fn is_resting(&self) -> bool {
        matches!(self.stage, Stage::Resting(_))
    }

    pub(super) const fn is_recording(&self) -> bool {
        matches!(self.stage, Stage::Recording(_))
    }

    pub(super) fn ask(&mut self, now: Boottime, signal: i32, kill_at: Option<Boottime>) {
        self.asked_at.get_or_insert(now);
        if !self.asked.contains(&signal) {
            self.asked.push(signal);
        }
        self.kill_at = self.kill_at.into_iter().chain(kill_at).min();
    }

    /// Whether a command that has ended like this was killed, or was ended by what we know nothing of.
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

/// How a leader's command has fared so far.
#[derive(Clone, Debug, Default)]
pub(super) struct CommandRuns {
    /// When it was started last.
    pub(super) last: Option<Boottime>,
    /// How it has ended, if it is to be started again.
    pub(super) ended: Option<Ended>,
    /// The pause before it was started last.
    pub(super) pause: Duration,
    /// How often it was started again.
    pub(super) again: u32,
    /// Whether a HUP was passed on to it.
    pub(super) hung_up: bool,
    /// The signal that a key in the terminal has sent to it, and not to us.
    pub(super) key: Option<i32>,
    /// Whether what runs beside it lives, or did, when the last one was gone.
    pub(super) outlived: bool,
}

impl CommandRuns {
    pub(super) const fn started(&mut self, now: Boottime) {
        self.last = Some(now);
    }

    pub(super) const fn hang_up(&mut self) {
        self.hung_up = true;
    }

    /// The signal that has cut it short, and that asks nothing of us.
    pub(super) fn cut_short_by(&self) -> Option<i32> {
        self.key.or_else(|| self.hung_up.then_some(libc::SIGHUP))
    }

    /// Whether it got this signal, which asks nothing of us: a command that dies of it has not failed.
    pub(super) fn got(&self, signal: i32) -> bool {
        self.key == Some(signal) || (self.hung_up && signal == libc::SIGHUP)
    }

    pub(super) const fn are_outlived(&self) -> bool {
        self.outlived
    }

    /// The pause before the next start.
    pub(super) fn next_pause(&mut self, now: Boottime, restarts: &Restarts) -> Duration {
        self.pause = restarts.next_pause(self.pause, self.last.map(|last| now.since(last)));
        self.pause
    }
}

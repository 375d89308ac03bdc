//! What the engine tells, put into what the HTTP server shows.

use crate::election::machine::{Event, News};
use crate::election::{Call, Called, Ending};
use crate::guard::{Deadlines, Ended};
use crate::report::http::{Board, Failure, Reason};

pub(in crate::command) struct Feed<'a> {
    board: &'a Board,
    steps_down: bool,
    /// Trouble has been told of, and not been over since.
    in_trouble: bool,
}

impl<'a> Feed<'a> {
    pub(in crate::command) const fn new(board: &'a Board) -> Self {
        Self { board, steps_down: false, in_trouble: false }
    }

    pub(in crate::command) fn news(&mut self, news: &News) {
        match news {
            News::Waiting { ahead } => self.board.waiting(*ahead),
            News::Leading(token) => self.board.won(*token),
            News::Lost(why) => self.board.over(Reason::Lost, Some(why.clone())),
            News::SteppingDown(why) => {
                self.steps_down = true;
                self.board.remark("stepping_down", Some(why.clone()));
            }
            News::Stopping(_) => self.board.remark("stopping", None),
            News::Resting { pause, .. } => {
                let pause = humantime::format_duration(*pause);
                self.board
                    .remark("resting", Some(format!("the command is started again in {pause}")));
            }
            News::Restarting(_) => {
                self.board.metrics().restarted();
                self.board.remark("restarting", None);
            }
            News::Emptied if self.steps_down => self.board.over(Reason::SteppedDown, None),
            // What the command left running counts as it: nobody else leads before it is gone.
            News::Emptied => self.board.over(Reason::Ended, None),
            News::Leaving { .. } => self.board.leave(),
            News::Paused(why) => {
                self.board.waiting(0);
                self.board.remark("paused", Some(why.clone()));
            }
            News::LookingOn(why) => {
                self.board.waiting(0);
                self.board.remark("looking_on", Some(why.clone()));
            }
            News::Delayed { left, .. } => {
                self.board.waiting(0);
                let left = humantime::format_duration(*left);
                self.board.remark("delayed", Some(format!("nothing is started for {left}")));
            }
            News::Reprioritized(what) => self.board.remark("priority", Some(what.clone())),
            News::StandingBack { id, .. } => {
                self.board.remark("standing_back", Some(format!("for {id}")));
            }
            News::Trouble(error, _) => {
                if !std::mem::replace(&mut self.in_trouble, true) {
                    self.board.remark("trouble", Some(error.to_string()));
                }
            }
            News::Recovered(_) => {
                self.in_trouble = false;
                self.board.remark("recovered", None);
            }
            News::Granted { .. }
            | News::Holding(_)
            | News::EntryLeft(_)
            | News::MayNotSignal(_)
            | News::Unrecorded(_)
            | News::OrdersUnread(_)
            | News::HistoryUnkept(_) => {}
        }
    }

    pub(in crate::command) fn happened(&mut self, event: &Event) {
        match *event {
            Event::Ended(Ended::Exited(code)) | Event::EndedByKey(Ended::Exited(code)) => {
                self.board.metrics().command_ended("exited", code.into());
            }
            Event::Ended(Ended::Signaled(signal)) | Event::EndedByKey(Ended::Signaled(signal)) => {
                self.board.metrics().command_ended("signaled", signal.into());
            }
            Event::NotStarted(_) | Event::GuardianDied => self.board.over(Reason::Failed, None),
            Event::Started => self.board.command_runs(true),
            Event::Outlived | Event::Empty => self.board.command_runs(false),
            _ => {}
        }
    }

    pub(in crate::command) fn renewed(&mut self, deadlines: Deadlines) {
        self.board.renewed(deadlines.soft, deadlines.hard);
    }

    pub(in crate::command) fn called(&mut self, called: &Called) {
        let metrics = self.board.metrics();
        let Called { call, took, ending } = called;
        let outcome = match ending {
            Ending::Proven | Ending::Answered => "answered",
            Ending::Failed(kind) => Failure::Error(*kind).name(),
            Ending::Abandoned => "abandoned",
        };
        metrics.called(call.name(), outcome);
        if *call == Call::Refresh && self.board.has_won() {
            match ending {
                Ending::Proven => metrics.renewed(*took),
                Ending::Failed(kind) => metrics.not_renewed(Failure::Error(*kind)),
                Ending::Abandoned => metrics.not_renewed(Failure::Timeout),
                Ending::Answered => {}
            }
        }
    }
}

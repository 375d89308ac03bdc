//! What is to be done once: recording that it is done.

use elect_api::{Boottime, Error, Written};

use super::leading::Stage;
use super::request::Request;
use super::{Command, Machine, News, Phase, Verdict};
use crate::guard::Ended;

impl Machine {
    /// Whether the command has done what is to be done once: then that is recorded first.
    pub(super) fn begin_to_record(&mut self, now: Boottime) -> bool {
        let has_succeeded = matches!(self.verdict, Some(Verdict::Ended(Ended::Exited(0))));
        let Phase::Leading(tenure) = &mut self.phase else { return false };
        if !self.rules.once || !has_succeeded {
            return false;
        }
        let patience = now + self.timing.entry_timeout * 2;
        let until = self.timing.end(tenure.validity()).unwrap_or(patience);
        tenure.enter(Stage::Recording(until));
        self.abandon_request();
        self.contact.begin_anew();
        self.request = Request::due(now);
        true
    }

    pub(super) fn recorded(&mut self, now: Boottime, written: &Written) {
        self.request = Request::due(now);
        match written.why_not() {
            None => {
                self.heard();
                self.settle(now);
            }
            Some(why) => self.unrecorded(now, why),
        }
    }

    pub(super) fn recording_failed(&mut self, now: Boottime, error: Error) {
        if !error.is_permanent() {
            return self.failed(now, error);
        }
        self.request = Request::due(now);
        let why = format!("{SUCCEEDED}: {error:#}");
        self.verdict = None;
        self.leave(now, Verdict::Failed(why));
    }

    /// It is done, and nobody will know.
    pub(super) fn unrecorded(&mut self, now: Boottime, why: &str) {
        let why = format!("{SUCCEEDED}: {why}");
        self.say(Command::Tell(News::Unrecorded(why.clone())));
        // It takes the place of the success. Who knows that it is done does not do it again.
        self.verdict = None;
        self.leave(now, Verdict::LostForGood(why));
    }
}

const SUCCEEDED: &str =
    "the command exited with code 0, but that could not be recorded, and another may run it again";

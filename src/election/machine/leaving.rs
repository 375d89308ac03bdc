//! How a candidacy ends, and how a place is given up to come again.

use elect_api::{Boottime, Error};

use super::gates::{Notice, Place};
use super::request::Request;
use super::{Command, Machine, News, Phase, Verdict};

impl Machine {
    /// With nothing running, or nothing left running: removes our entry, if there may be one.
    pub(super) fn leave(&mut self, now: Boottime, verdict: Verdict) {
        self.verdict.get_or_insert(verdict);
        let finishes = self.finishes_the_chapter(now);
        if !finishes {
            self.abandon_request();
        }
        let for_good = self.told_to_end
            || !matches!(
                self.verdict,
                Some(Verdict::Lost(_) | Verdict::SteppedDown(_) | Verdict::Withdrawn(_))
            );
        self.say(Command::Tell(News::Leaving { for_good }));
        if matches!(self.phase, Phase::Joining) {
            return self.finish();
        }
        self.contact.forget_failures();
        self.phase = Phase::Resigning(now + self.timing.entry_timeout * 2);
        if !finishes {
            self.request = Request::due(now);
        }
    }

    pub(super) fn withdraw(&mut self, now: Boottime, why: String) {
        match self.phase {
            Phase::Joining | Phase::Campaigning(_) => self.leave(now, Verdict::Withdrawn(why)),
            Phase::Leading(_) => {
                self.is_abrupt = true;
                self.verdict.get_or_insert(Verdict::Withdrawn(why.clone()));
                self.asked_to_step_down(now, why, self.rules.stop_timeout);
            }
            Phase::Resigning(_) | Phase::Finished => {}
        }
    }

    pub(super) fn abandon_request(&mut self) {
        if self.request.forget().is_some() {
            self.say(Command::Abandon);
        }
    }

    /// What we had won is given up; from here on we are a newcomer.
    fn rejoined(&mut self, now: Boottime) {
        self.heard();
        self.rejoins = false;
        self.forget_the_win();
        self.phase = Phase::Campaigning(Place::None);
        self.tell_gates(now, &Notice::Rejoined);
        self.request = Request::due(now);
    }

    pub(super) fn resigned(&mut self, now: Boottime) {
        if matches!(self.phase, Phase::Campaigning(_)) {
            return self.rejoined(now);
        }
        self.request.forget();
        self.finish();
    }

    pub(super) fn not_resigned(&mut self, now: Boottime, error: Error) {
        if matches!(self.phase, Phase::Campaigning(_)) || !error.is_permanent() {
            return self.failed(now, error);
        }
        self.request.forget();
        self.say(Command::Tell(News::EntryLeft(error)));
        self.finish();
    }

    pub(super) fn finish(&mut self) {
        self.abandon_request();
        self.phase = Phase::Finished;
        let verdict = match self.verdict.take() {
            Some(Verdict::Lost(why) | Verdict::SteppedDown(why) | Verdict::Withdrawn(why))
                if self.told_to_end =>
            {
                Some(Verdict::LostForGood(why))
            }
            verdict => verdict,
        };
        if let Some(verdict) = verdict {
            self.say(Command::Finish(verdict));
        }
    }
}

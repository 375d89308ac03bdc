//! The records that a leader writes to the store: the success of a `--once` key, and the history of leaderships.

use std::time::Duration;

use elect_api::{Boottime, Error, ErrorKind, Written};

use super::call::CallState;
use super::leader_state::RunStage;
use super::{Call, Command, EndRecord, Machine, News, Phase, Verdict};
use crate::election::history::in_words;
use crate::guard::{Ended, told_to_end};

impl Machine {
    /// Begins to record the success of a `--once` key, if the command has succeeded. Returns whether it does so.
    pub(super) fn begin_to_record(&mut self, now: Boottime) -> bool {
        let has_succeeded = matches!(self.verdict, Some(Verdict::Ended(Ended::Exited(0))));
        let Phase::Leading(state) = &mut self.phase else { return false };
        // Work that was cut off is not done, whatever the exit code. Many programs exit with 0 when they are asked to
        // stop.
        let is_cut_short = self.overran.is_some() || self.cut_short_by.is_some();
        if !self.rules.once || !has_succeeded || is_cut_short {
            return false;
        }
        let patience = now + self.timing.entry_timeout * 2;
        let until = self.timing.end(state.validity).unwrap_or(patience);
        state.enter(RunStage::Recording(until));
        self.abandon_request();
        self.contact.begin_anew();
        self.request = CallState::due(now);
        true
    }

    pub(super) fn recorded(&mut self, now: Boottime, written: &Written) {
        self.request = CallState::due(now);
        match written.why_not() {
            None => {
                self.heard();
                self.hold_or_resign(now);
            }
            Some(why) => self.unrecorded(now, why),
        }
    }

    pub(super) fn recording_failed(&mut self, now: Boottime, error: Error) {
        // A refusal is ridden out for as long as the lease lasts.
        if error.may_pass() {
            return self.failed(now, error);
        }
        self.request = CallState::due(now);
        let why = format!("{SUCCEEDED}: {error:#}");
        self.verdict = None;
        self.leave(now, Verdict::Failed(why));
    }

    /// Handles a success that could not be recorded.
    pub(super) fn unrecorded(&mut self, now: Boottime, why: &str) {
        let why = format!("{SUCCEEDED}: {why}");
        self.say(Command::Tell(News::Unrecorded(why.clone())));
        // This verdict replaces the success. It is final: this process knows that the work is done, and must not repeat
        // it.
        self.verdict = None;
        self.leave(now, Verdict::LostForGood(why));
    }
}

const SUCCEEDED: &str =
    "the command exited with code 0, but that could not be recorded, and another may run it again";

/// A command that ends sooner is written to the history only once, at its end.
const WORTH_A_BEGINNING: Duration = Duration::from_millis(100);
/// The longest wait, before resigning, for an answer that the last record in the history needs.
pub(super) const LAST_PATIENCE: Duration = Duration::from_millis(500);

/// The progress of a leader with the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HistoryProgress {
    /// There is nothing to write: nothing was started, all is written, or no history is kept.
    Closed,
    /// The history has to be read, at this instant or later.
    Unread(Boottime),
    /// The beginning has to be written, at this instant or later.
    Unsaid(Boottime),
    /// The beginning is written.
    Begun,
}

impl Machine {
    /// Notes that the command runs, so that the history has to be read.
    pub(super) const fn open_chapter(&mut self, now: Boottime) {
        if self.rules.keeps_history && matches!(self.progress, HistoryProgress::Closed) {
            self.progress = HistoryProgress::Unread(now);
        }
    }

    /// Notes that leadership is lost. The successor writes that to the history.
    pub(super) const fn close_chapter(&mut self) {
        self.progress = HistoryProgress::Closed;
    }

    /// Returns the next call for the history, when it is due, and when it must be answered. It never delays a renewal.
    fn next_of_history(&self) -> Option<(Call, Boottime, Boottime)> {
        let Phase::Leading(state) = &self.phase else { return None };
        let CallState::Due(renewal) = self.request else { return None };
        let (call, due) = match self.progress {
            HistoryProgress::Unread(due) => (Call::ReadHistory, due),
            HistoryProgress::Unsaid(due) => (Call::WriteHistory, due),
            HistoryProgress::Closed | HistoryProgress::Begun => return None,
        };
        let has_room = due + self.timing.renew_interval / 2 <= renewal;
        (has_room && !state.is_over()).then_some((call, due, renewal))
    }

    pub(super) fn history_tick(&self) -> Option<Boottime> {
        self.next_of_history().map(|(_, due, _)| due)
    }

    /// Sends the call for the history that is due.
    pub(super) fn ask_history_if_due(&mut self, now: Boottime) {
        let Some((call, _, renewal)) = self.next_of_history().filter(|(_, due, _)| *due <= now)
        else {
            return;
        };
        if now + self.timing.renew_interval / 2 > renewal {
            // There is too little time before the renewal. After it there will be more.
            return self.postpone_chapter(renewal);
        }
        self.ask(now, call, renewal.since(now));
    }

    /// Makes the record due at once if ranks matter, as other candidates then look who led last.
    pub(super) fn hurry_chapter(&mut self, now: Boottime) {
        if let (HistoryProgress::Unsaid(due), true) = (&mut self.progress, self.control.is_ranked())
        {
            *due = now.min(*due);
        }
    }

    const fn postpone_chapter(&mut self, until: Boottime) {
        match &mut self.progress {
            HistoryProgress::Unread(due) | HistoryProgress::Unsaid(due) => *due = until,
            HistoryProgress::Closed | HistoryProgress::Begun => {}
        }
    }

    /// Makes the renewal due again, at its old time, or at once after a wake.
    fn back_to_renewals(&mut self, now: Boottime) {
        let renewal = match self.request {
            CallState::Sent { overdue, hastened: false, .. }
                if matches!(self.phase, Phase::Leading(_)) =>
            {
                overdue
            }
            _ => now,
        };
        self.request = CallState::due(renewal);
    }

    pub(super) fn history_read(&mut self, now: Boottime) {
        self.back_to_renewals(now);
        let begun = match &self.phase {
            Phase::Leading(state) => state.started().unwrap_or(now),
            _ => now,
        };
        self.progress = HistoryProgress::Unsaid(now.max(begun + WORTH_A_BEGINNING));
        self.hurry_chapter(now);
    }

    pub(super) fn history_written(&mut self, now: Boottime, written: &Written) {
        self.back_to_renewals(now);
        match written {
            Written::Yes(_) => self.progress = HistoryProgress::Begun,
            // The renewal finds out the same, and acts on it.
            Written::Overtaken | Written::Gone(_) => {
                self.close_chapter();
                self.request.hasten(now);
            }
        }
    }

    /// Handles a failed call for the history. That may also be one without an answer before the renewal, which is due
    /// then.
    pub(super) fn history_failed(&mut self, now: Boottime, error: Error) {
        self.back_to_renewals(now);
        if error.is_permanent() {
            self.close_chapter();
            return self.say(Command::Tell(News::HistoryUnkept(error)));
        }
        self.postpone_chapter(now + self.timing.renew_interval);
    }

    /// Returns whether the pending call is awaited, for a short time, before the candidate resigns. The last record
    /// needs its answer.
    pub(super) fn finishes_the_chapter(&mut self, now: Boottime) -> bool {
        match &mut self.request {
            CallState::Sent { call, overdue, .. }
                if call.is_of_history() && self.progress != HistoryProgress::Closed =>
            {
                *overdue = (*overdue).min(now + LAST_PATIENCE);
                true
            }
            _ => false,
        }
    }

    /// Returns whether the history has to be read before the candidate resigns. A command that ends before the next
    /// renewal may have left no time for that.
    pub(super) fn ends_unread(&self, now: Boottime) -> bool {
        matches!(self.progress, HistoryProgress::Unread(due) if due <= now)
    }

    /// Returns how the leadership ended, for the history, if it can be written in one step with the resignation. It is
    /// returned once. A repeated resignation writes nothing.
    pub(super) fn last_words(&mut self) -> Option<EndRecord> {
        match std::mem::replace(&mut self.progress, HistoryProgress::Closed) {
            HistoryProgress::Closed => None,
            HistoryProgress::Unread(_) => {
                let error = Error::new(ErrorKind::Unreachable, "it was not read in time");
                self.say(Command::Tell(News::HistoryUnkept(error)));
                None
            }
            HistoryProgress::Unsaid(_) | HistoryProgress::Begun => {
                let nothing = || "nothing was started".to_owned();
                let reason = self.verdict.as_ref().map_or_else(nothing, |it| self.ending(it));
                Some(EndRecord { reason, is_abrupt: self.is_abrupt })
            }
        }
    }

    fn ending(&self, verdict: &Verdict) -> String {
        match verdict {
            Verdict::Ended(ended) | Verdict::MaxRun(ended, _) => {
                let told = self.ended_by.filter(|_| self.told_to_end);
                let hung_up = self.cut_short_by.filter(|_| self.rules.once);
                match (self.overran, told.or(hung_up)) {
                    (Some(limit), _) => overrun(limit, *ended),
                    (None, Some(signal)) => interrupted(signal, *ended),
                    (None, None) => in_words(*ended),
                }
            }
            Verdict::Interrupted(signal) => told_to_end(*signal),
            Verdict::Lost(why) => format!("leadership was lost: {why}"),
            Verdict::SteppedDown(why) => format!("stepped down: {why}"),
            Verdict::Withdrawn(why) => format!("withdrew: {why}"),
            Verdict::LostForGood(why) | Verdict::Failed(why) => why.clone(),
            Verdict::NotStarted(_) => "the command could not be executed".to_owned(),
            Verdict::StoreFailed { error, .. } => format!("nothing was started: {error}"),
            Verdict::AlreadyDone
            | Verdict::UsedUp(_)
            | Verdict::NotAcquired(_)
            | Verdict::Unwanted(_)
            | Verdict::Unreached => "nothing was started".to_owned(),
        }
    }
}

fn overrun(limit: Duration, ended: Ended) -> String {
    let limit = humantime::format_duration(limit);
    format!("stopped after {limit} (--max-run): {}", in_words(ended))
}

/// Returns the end in words. An end by the signal itself is not mentioned.
fn interrupted(signal: i32, ended: Ended) -> String {
    let told = told_to_end(signal);
    match ended {
        Ended::Exited(0) => told,
        Ended::Signaled(by) if i32::from(by) == signal => told,
        _ => format!("{told}: {}", in_words(ended)),
    }
}

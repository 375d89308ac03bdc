//! What a leader writes: that what is to be done once is done, and who has led.

use std::time::Duration;

use elect_api::{Boottime, Error, ErrorKind, Written};

use super::leader_state::Stage;
use super::patience::CallState;
use super::{Call, Command, EndRecord, Machine, News, Phase, Verdict};
use crate::guard::{Ended, signal_name, told_to_end};

impl Machine {
    /// Whether the command has done what is to be done once: then that is recorded first.
    pub(super) fn begin_to_record(&mut self, now: Boottime) -> bool {
        let has_succeeded = matches!(self.verdict, Some(Verdict::Ended(Ended::Exited(0))));
        let Phase::Leading(state) = &mut self.phase else { return false };
        // What was cut off is not done, whatever its code says: many programs exit with 0 as they are asked to stop.
        let is_cut_short = self.overran.is_some() || self.cut_short_by.is_some();
        if !self.rules.once || !has_succeeded || is_cut_short {
            return false;
        }
        let patience = now + self.timing.entry_timeout * 2;
        let until = self.timing.end(state.validity).unwrap_or(patience);
        state.enter(Stage::Recording(until));
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
                self.settle(now);
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

/// A command that ends sooner is told of once, when it has ended.
const WORTH_A_BEGINNING: Duration = Duration::from_millis(100);
/// How long an answer is waited for at most with which our end can be told.
pub(super) const LAST_PATIENCE: Duration = Duration::from_millis(500);

/// How far a leader is with the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HistoryProgress {
    /// There is nothing of ours to say: nothing was started, all is said, or it is not to be said.
    Closed,
    /// What is known is to be read, at this instant or later.
    Unread(Boottime),
    /// It is to be said that we have begun, at this instant or later.
    Unsaid(Boottime),
    /// That is said.
    Begun,
}

impl Machine {
    /// The command runs.
    pub(super) const fn open_chapter(&mut self, now: Boottime) {
        if self.rules.keeps_history && matches!(self.progress, HistoryProgress::Closed) {
            self.progress = HistoryProgress::Unread(now);
        }
    }

    /// We led, and lost it: our successor says so.
    pub(super) const fn close_chapter(&mut self) {
        self.progress = HistoryProgress::Closed;
    }

    /// What is to be asked next, when, and by when there has to be an answer: nothing of this keeps a renewal waiting.
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

    /// Asks what is to be asked by now.
    pub(super) fn look_at_the_history(&mut self, now: Boottime) {
        let Some((call, _, renewal)) = self.next_of_history().filter(|(_, due, _)| *due <= now)
        else {
            return;
        };
        if now + self.timing.renew_interval / 2 > renewal {
            // There is no room left. After the renewal there will be.
            return self.postpone_chapter(renewal);
        }
        self.ask(now, call, renewal.since(now));
    }

    /// Where others look who led last, they are told at once.
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

    /// The renewal that was due is due again: at its time, or at once if there was a wake.
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
            // The renewal finds out the same, and does something about it.
            Written::Overtaken | Written::Gone(_) => {
                self.close_chapter();
                self.request.hasten(now);
            }
        }
    }

    /// Also if there was no answer before the renewal, which is due by then.
    pub(super) fn history_failed(&mut self, now: Boottime, error: Error) {
        self.back_to_renewals(now);
        if error.is_permanent() {
            self.close_chapter();
            return self.say(Command::Tell(News::HistoryUnkept(error)));
        }
        self.postpone_chapter(now + self.timing.renew_interval);
    }

    /// Whether what is under way is waited for before we resign, so that our end can be told. It is not for long.
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

    /// Whether what is known is still to be read before we resign: a command that ends before the next renewal may
    /// have left no time for it.
    pub(super) fn ends_unread(&self, now: Boottime) -> bool {
        matches!(self.progress, HistoryProgress::Unread(due) if due <= now)
    }

    /// How it ended, for the history, if that can be told in the same step as we resign. It is said once: then
    /// we resign without a word.
    pub(super) fn last_words(&mut self) -> Option<EndRecord> {
        match std::mem::replace(&mut self.progress, HistoryProgress::Closed) {
            HistoryProgress::Closed => None,
            HistoryProgress::Unread(_) => {
                let error =
                    Error::new(ErrorKind::Unreachable, "what it knows was not read in time");
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
            Verdict::StoreFailed(error) => format!("nothing was started: {error}"),
            Verdict::AlreadyDone
            | Verdict::UsedUp(_)
            | Verdict::NotAcquired(_)
            | Verdict::Unwanted(_)
            | Verdict::Unreached => "nothing was started".to_owned(),
        }
    }
}

fn in_words(ended: Ended) -> String {
    match ended {
        Ended::Exited(code) => format!("the command exited with code {code}"),
        Ended::Signaled(signal) => format!("{} ended the command", signal_name(signal.into())),
    }
}

fn overrun(limit: Duration, ended: Ended) -> String {
    let limit = humantime::format_duration(limit);
    format!("stopped after {limit} (--max-run): {}", in_words(ended))
}

/// The signal's own end is not worth a word.
fn interrupted(signal: i32, ended: Ended) -> String {
    let told = told_to_end(signal);
    match ended {
        Ended::Exited(0) => told,
        Ended::Signaled(by) if i32::from(by) == signal => told,
        _ => format!("{told}: {}", in_words(ended)),
    }
}

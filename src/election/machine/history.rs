//! The history of the election: finding out what is known, and saying that we have begun and how we have ended.

use std::time::Duration;

use elect_api::{Boottime, Error, ErrorKind, Written};
use nix::sys::signal::Signal;

use super::request::Request;
use super::{Call, Command, LastWords, Machine, News, Phase, Verdict};
use crate::guard::Ended;

/// A command that ends sooner is told of once, when it has ended.
const WORTH_A_BEGINNING: Duration = Duration::from_millis(100);
/// How long an answer is waited for at most with which our end can be told.
const LAST_PATIENCE: Duration = Duration::from_millis(500);

/// How far a leader is with the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chapter {
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
        if self.rules.keeps_history && matches!(self.chapter, Chapter::Closed) {
            self.chapter = Chapter::Unread(now);
        }
    }

    /// We led, and lost it: our successor says so.
    pub(super) const fn close_chapter(&mut self) {
        self.chapter = Chapter::Closed;
    }

    /// What is to be asked next, when, and by when there has to be an answer: nothing of this keeps a renewal waiting.
    fn next_of_history(&self) -> Option<(Call, Boottime, Boottime)> {
        let Phase::Leading(tenure) = &self.phase else { return None };
        let Request::Due(renewal) = self.request else { return None };
        let (call, due) = match self.chapter {
            Chapter::Unread(due) => (Call::ReadHistory, due),
            Chapter::Unsaid(due) => (Call::WriteHistory, due),
            Chapter::Closed | Chapter::Begun => return None,
        };
        let has_room = due + self.timing.renew_interval / 2 <= renewal;
        (has_room && !tenure.is_over()).then_some((call, due, renewal))
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
        if let (Chapter::Unsaid(due), true) = (&mut self.chapter, self.orders.are_ranked()) {
            *due = now.min(*due);
        }
    }

    const fn postpone_chapter(&mut self, until: Boottime) {
        match &mut self.chapter {
            Chapter::Unread(due) | Chapter::Unsaid(due) => *due = until,
            Chapter::Closed | Chapter::Begun => {}
        }
    }

    /// The renewal that was due is due again: at its time, or at once if there was a wake.
    fn back_to_renewals(&mut self, now: Boottime) {
        let renewal = match self.request {
            Request::Sent { overdue, hastened: false, .. }
                if matches!(self.phase, Phase::Leading(_)) =>
            {
                overdue
            }
            _ => now,
        };
        self.request = Request::due(renewal);
    }

    pub(super) fn history_read(&mut self, now: Boottime) {
        self.back_to_renewals(now);
        let begun = match &self.phase {
            Phase::Leading(tenure) => tenure.started().unwrap_or(now),
            _ => now,
        };
        self.chapter = Chapter::Unsaid(now.max(begun + WORTH_A_BEGINNING));
        self.hurry_chapter(now);
    }

    pub(super) fn history_written(&mut self, now: Boottime, written: &Written) {
        self.back_to_renewals(now);
        match written {
            Written::Yes(_) => self.chapter = Chapter::Begun,
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
            Request::Sent { call, overdue, .. }
                if call.is_of_history() && self.chapter != Chapter::Closed =>
            {
                *overdue = (*overdue).min(now + LAST_PATIENCE);
                true
            }
            _ => false,
        }
    }

    /// How it ended, for the history, if that can be told in the same step as we resign. It is said once: then
    /// we resign without a word.
    pub(super) fn last_words(&mut self) -> Option<LastWords> {
        match std::mem::replace(&mut self.chapter, Chapter::Closed) {
            Chapter::Closed => None,
            Chapter::Unread(_) => {
                let error =
                    Error::new(ErrorKind::Unreachable, "what it knows was not read in time");
                self.say(Command::Tell(News::HistoryUnkept(error)));
                None
            }
            Chapter::Unsaid(_) | Chapter::Begun => {
                let nothing = || "nothing was started".to_owned();
                let reason = self.verdict.as_ref().map_or_else(nothing, |it| self.ending(it));
                Some(LastWords { reason, is_abrupt: self.is_abrupt })
            }
        }
    }

    fn ending(&self, verdict: &Verdict) -> String {
        match verdict {
            Verdict::Ended(ended) => match self.interrupts.last() {
                Some(signal) if self.told_to_end => interrupted(signal, *ended),
                _ => in_words(*ended),
            },
            Verdict::Interrupted(signal) => told_to_end(*signal),
            Verdict::Lost(why) => format!("leadership was lost: {why}"),
            Verdict::SteppedDown(why) => format!("stepped down: {why}"),
            Verdict::Withdrawn(why) => format!("withdrew: {why}"),
            Verdict::LostForGood(why) | Verdict::Failed(why) => why.clone(),
            Verdict::NotStarted(_) => "the command could not be executed".to_owned(),
            Verdict::StoreFailed(error) => format!("nothing was started: {error}"),
            Verdict::AlreadyDone
            | Verdict::NotAcquired(_)
            | Verdict::Unwanted(_)
            | Verdict::Unreached => "nothing was started".to_owned(),
        }
    }
}

fn in_words(ended: Ended) -> String {
    match ended {
        Ended::Exited(code) => format!("the command exited with code {code}"),
        Ended::Signaled(signal) => format!("{} ended the command", name(signal.into())),
    }
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

fn told_to_end(signal: i32) -> String {
    format!("told to end by {}", name(signal))
}

fn name(signal: i32) -> String {
    Signal::try_from(signal)
        .map_or_else(|_| format!("signal {signal}"), |signal| signal.as_str().to_owned())
}

//! What is to be done once: asking whether it is done, and recording that it is.

use elect_api::{Boottime, Error, Noted, Token};

use super::leading::Stage;
use super::request::Request;
use super::{Command, Machine, News, Phase, Verdict};
use crate::guard::Ended;

/// How far we are with asking whether it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inquiry {
    /// It is to be asked: by a newcomer or a waiter, or since we won with this token.
    Due(Option<Token>),
    /// It was not done when we asked.
    Open,
    /// There was no answer. We look after our place, and ask again.
    Unanswered,
    /// It was not done since we won with this token, and without us it will not be.
    Clear(Token),
}

impl Machine {
    /// Whether a winner with this token still has to ask; if so it is asked next.
    pub(super) fn has_to_ask(&mut self, now: Boottime, token: Token) -> bool {
        match self.inquiry {
            None => false,
            Some(Inquiry::Clear(cleared)) if cleared == token => false,
            Some(_) => {
                self.inquiry = Some(Inquiry::Due(Some(token)));
                self.request = Request::due(now);
                true
            }
        }
    }

    /// More may be done by now.
    pub(super) fn noted(&mut self, now: Boottime) {
        if self.inquiry == Some(Inquiry::Open) {
            self.inquiry = Some(Inquiry::Due(None));
            self.request.hasten(now);
        }
    }

    pub(super) fn recalled(&mut self, now: Boottime, answer: Result<bool, Error>) {
        match answer {
            Err(error) => {
                self.inquiry_failed();
                self.failed(now, error);
            }
            Ok(is_done) => {
                self.heard();
                self.request = Request::due(now);
                match self.inquiry {
                    _ if is_done => self.leave(now, Verdict::AlreadyDone),
                    Some(Inquiry::Due(Some(token))) => self.inquiry = Some(Inquiry::Clear(token)),
                    _ => self.inquiry = Some(Inquiry::Open),
                }
            }
        }
    }

    /// Who has a place must look after it before asking again; a newcomer does not join unasked.
    pub(super) fn inquiry_failed(&mut self) {
        if !matches!(self.phase, Phase::Campaigning(None))
            || matches!(self.inquiry, Some(Inquiry::Due(Some(_))))
        {
            self.inquiry = Some(Inquiry::Unanswered);
        }
    }

    /// Whether the command has done what is to be done once: then that is recorded first.
    pub(super) fn begin_to_record(&mut self, now: Boottime) -> bool {
        let has_succeeded = matches!(self.verdict, Some(Verdict::Ended(Ended::Exited(0))));
        let Phase::Leading(tenure) = &mut self.phase else { return false };
        if self.inquiry.is_none() || !has_succeeded {
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

    pub(super) fn recorded(&mut self, now: Boottime, outcome: Result<Noted, Error>) {
        self.request = Request::due(now);
        match outcome {
            Ok(Noted::Written) => {
                self.heard();
                self.settle(now);
            }
            Ok(Noted::Gone(why)) => self.unrecorded(now, &why),
            Err(error) if error.is_permanent() => {
                let why = format!("{SUCCEEDED}: {error:#}");
                self.verdict = None;
                self.leave(now, Verdict::Failed(why));
            }
            Err(error) => self.failed(now, error),
        }
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

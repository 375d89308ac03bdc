//! The lock delay: whoever wins says in the history that it begins before it starts anything, and starts nothing for
//! a while where the leader before it has not said there that it ended well.
//!
//! So whoever finds the last leadership of the history ended well knows that nobody has started anything since:
//! a leader that was never in the history has started nothing either. One that only waits here says nothing, as what
//! it waits for is no better for its end.

use elect_api::{Boottime, Error, Noted, Token};

use super::history::Chapter;
use super::request::{Kind, Request};
use super::{Command, Machine, News, Phase, Restraint};

/// How far a winner is with what comes before a start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delay {
    token: Token,
    /// When we won; the delay counts from here.
    won: Boottime,
    step: Step,
    /// What the step wants is asked next. If not, our place is looked after first.
    is_due: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// How the leader before us has ended is to be found out.
    Unread,
    /// Nothing is started before this instant.
    Waiting(Boottime),
    /// It is to be said that we begin.
    Unsaid,
    /// That is said.
    Said,
}

impl Machine {
    /// We have won with this token, now or before.
    pub(super) fn count_from_the_win(&mut self, now: Boottime, token: Token) {
        if self.rules.lock_delay.is_some() && self.delay.is_none_or(|known| known.token != token) {
            let step = Step::Unread;
            self.delay = Some(Delay { token, won: now, step, is_due: false });
        }
    }

    /// Whether a winner has something to do, or to wait for, before it starts anything.
    pub(super) fn is_held_back(&mut self, now: Boottime) -> bool {
        let Some(delay) = &mut self.delay else { return false };
        if matches!(delay.step, Step::Waiting(until) if until <= now) {
            delay.step = Step::Unsaid;
        }
        match delay.step {
            Step::Said => return false,
            Step::Waiting(until) => {
                self.misfits = 0;
                self.request.hasten(until);
            }
            Step::Unread | Step::Unsaid => {
                delay.is_due = true;
                self.request = Request::due(now);
            }
        }
        self.restraint = Restraint::None;
        self.phase = Phase::Campaigning(Some(0));
        true
    }

    /// Whether the store is to be asked, or told, something about the history next.
    pub(super) fn is_to_take_precautions(&self) -> bool {
        self.delay.is_some_and(|delay| delay.is_due)
    }

    pub(super) fn precaution(&mut self, now: Boottime) -> (Kind, Command) {
        match self.delay {
            Some(Delay { token, step: Step::Unsaid, .. }) => {
                // It may be written whatever we hear of it.
                self.chapter = Chapter::Unsaid(now);
                (Kind::WriteHistory, Command::BeginHistory(token))
            }
            _ => (Kind::ReadHistory, Command::ReadHistory),
        }
    }

    /// Whether leadership is ours, and only not used yet: nobody's patience ends over that.
    pub(super) const fn is_delayed(&self) -> bool {
        self.delay.is_some() && matches!(self.restraint, Restraint::None)
    }

    /// There was no answer: we look after our place, and ask again once it is still ours.
    pub(super) const fn precaution_failed(&mut self) {
        if let Some(delay) = &mut self.delay {
            delay.is_due = false;
        }
    }

    /// How the leader before us has ended. What cannot be read has not ended well.
    pub(super) fn predecessor_found(&mut self, now: Boottime, outcome: Result<bool, Error>) {
        self.precaution_failed();
        let has_ended_well = match outcome {
            Err(error) if !error.is_permanent() => return self.failed(now, error),
            outcome => outcome.unwrap_or(false),
        };
        self.heard();
        self.request = Request::due(now);
        let length = self.rules.lock_delay.unwrap_or_default();
        let Some(delay) = &mut self.delay else { return };
        let until = delay.won + length;
        if has_ended_well || until <= now {
            delay.step = Step::Unsaid;
            delay.is_due = true;
            return;
        }
        delay.step = Step::Waiting(until);
        let news = News::Delayed { token: delay.token, left: until.since(now) };
        self.say(Command::Tell(news));
    }

    /// Whether it is said that we begin.
    pub(super) fn beginning_said(&mut self, now: Boottime, outcome: Result<Noted, Error>) {
        self.precaution_failed();
        match outcome {
            Ok(Noted::Written) => {
                self.heard();
                self.chapter = Chapter::Begun;
                self.request = Request::due(now);
                if let Some(delay) = &mut self.delay {
                    delay.step = Step::Said;
                }
            }
            // The next refresh says more.
            Ok(Noted::Gone(_)) => self.ask_again(now),
            Err(error) if error.is_permanent() => {
                let what = "the store does not take the mark that --lock-delay needs before a command may start";
                self.failed(now, Error::new(error.kind(), what).because(error));
            }
            Err(error) => self.failed(now, error),
        }
    }

    /// What we had won is given up.
    pub(super) const fn forget_the_win(&mut self) {
        self.delay = None;
        self.contact.lose_first();
        self.close_chapter();
    }
}

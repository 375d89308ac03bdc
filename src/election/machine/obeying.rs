//! How a candidate does what its gates say.

use elect_api::{Boottime, Written};

use super::gates::{Heard, Hold, Place, Ruling, Scene};
use super::history::Chapter;
use super::request::Request;
use super::{Call, Command, Machine, News, Phase, Reply};

impl Machine {
    pub(super) fn tell_gates(&mut self, now: Boottime, heard: &Heard<'_>) {
        let place = self.place();
        let Self { gates, rules, orders, timing, .. } = self;
        gates.hear(&Scene { now, place, rules, orders, window: timing.window() }, heard);
    }

    pub(super) fn ruling(&self, now: Boottime) -> Ruling {
        let Self { gates, rules, orders, timing, .. } = self;
        gates.rule(&Scene { now, place: self.place(), rules, orders, window: timing.window() })
    }

    const fn place(&self) -> Place {
        match self.phase {
            Phase::Campaigning(place) => place,
            _ => Place::None,
        }
    }

    /// What a gate wants to be asked next, if nothing goes before. Who has a place looks after it meanwhile.
    pub(super) fn next_of_gates(&mut self, now: Boottime) -> Option<Call> {
        if self.place() != Place::None && self.confirmed.is_none() {
            return None;
        }
        let Ruling::Ask(call) = self.ruling(now) else { return None };
        if matches!(call, Call::BeginHistory(_)) {
            // It may be written whatever we hear of it.
            self.chapter = Chapter::Unsaid(now);
        }
        Some(call)
    }

    /// The store has answered what a gate has asked.
    pub(super) fn gate_answered(&mut self, now: Boottime, reply: &Reply) {
        if let Reply::Written(written) = reply {
            match written {
                Written::Yes(_) => self.chapter = Chapter::Begun,
                // The next refresh says more.
                Written::Overtaken | Written::Gone(_) => {
                    self.confirmed = None;
                    return self.ask_again(now);
                }
            }
        }
        self.heard();
        self.tell_gates(now, &Heard::Replied(reply));
        let is_woken = self.request.is_hastened();
        let renewal = self.confirmed.map_or(now, |sent| sent + self.timing.renew_interval);
        self.request = Request::due(now);
        if is_woken || renewal <= now {
            // Our place is looked after before anything else is asked.
            self.confirmed = None;
        }
        match self.ruling(now) {
            // It may be another by now.
            Ruling::Hold(_) | Ruling::Rejoin(_) | Ruling::Outdone if is_woken => {}
            ruling @ Ruling::Hold(_) => {
                self.request = Request::due(renewal);
                self.obey(now, ruling);
            }
            ruling => self.obey(now, ruling),
        }
    }

    pub(super) fn obey(&mut self, now: Boottime, ruling: Ruling) {
        match ruling {
            Ruling::Pass => {}
            Ruling::Ask(call) => {
                // Whoever comes as far as the history is kept from it by nothing before.
                if call.is_of_history() {
                    self.hold = None;
                }
                self.request = Request::due(now);
            }
            Ruling::LookAgain => self.ask_again(now),
            Ruling::Hold(hold) => self.hold(now, hold),
            Ruling::Rejoin(news) => {
                if let Some(news) = news {
                    self.say(Command::Tell(news));
                }
                self.rejoins = true;
                self.request = Request::due(now);
            }
            Ruling::Outdone => self.lose_patience(now),
            Ruling::Leave(verdict) => self.leave(now, verdict),
        }
    }

    /// Keeps the place that we have won, and starts nothing.
    fn hold(&mut self, now: Boottime, hold: Hold) {
        self.misfits = 0;
        let is_new =
            self.hold.as_ref().map(std::mem::discriminant) != Some(std::mem::discriminant(&hold));
        let news = match &hold {
            Hold::Pause(why) => News::Paused(why.clone()),
            Hold::Exclusion(why) => News::LookingOn(why.clone()),
            Hold::Delay { token, until } => News::Delayed { token: *token, left: until.since(now) },
        };
        if is_new {
            self.say(Command::Tell(news));
        }
        match hold {
            Hold::Delay { until, .. } => self.request.hasten(until),
            Hold::Pause(_) => {}
            Hold::Exclusion(_) => {
                self.request = Request::due(now + self.timing.renew_interval);
                self.say(Command::LookOut);
            }
        }
        let is_delayed = matches!(hold, Hold::Delay { .. });
        self.hold = Some(hold);
        if !is_delayed {
            self.leave_if_impatient(now, true);
        }
    }

    /// Whether leadership is ours, and only not used yet: nobody's patience ends over that.
    pub(super) const fn is_delayed(&self) -> bool {
        self.rules.lock_delay.is_some()
            && !self.rejoins
            && matches!(self.phase, Phase::Campaigning(Place::First(_)))
            && !matches!(self.hold, Some(Hold::Pause(_) | Hold::Exclusion(_)))
    }
}

//! What people ask of the election: that nobody leads for now, or that a leader gives it up.

use elect_api::{Boottime, Token};

use super::{Command, Heeds, Machine, News, Phase, Restraint, Verdict};
use crate::election::orders::Orders;

impl Machine {
    pub(super) fn ordered(&mut self, now: Boottime, orders: Orders) {
        let orders = match self.rules.heeds {
            Heeds::All => orders,
            Heeds::Resigning => orders.about_the_leader(),
        };
        let old = std::mem::replace(&mut self.orders, orders);
        let set = |orders: &Orders| orders.prioritization(&self.rules.id);
        let (was, is) = (set(&old), set(&self.orders));
        if was != is {
            let own = || format!("priority {} again, as it was started", self.rules.priority);
            let news = News::Reprioritized(is.unwrap_or_else(own));
            self.say(Command::Tell(news));
        }
        self.settle_again();
        self.compare_anew();
        self.hurry_chapter(now);
        let Phase::Leading(tenure) = &self.phase else { return };
        let against = self.orders.against(tenure.token());
        let against = against.or_else(|| self.exclusion());
        if let Some(why) = against {
            self.step_down(now, why);
        }
    }

    /// Why we are never to lead, if so.
    pub(super) fn exclusion(&self) -> Option<String> {
        self.orders.exclusion(&self.rules.id, self.rules.priority)
    }

    /// A leader gives leadership up, in good order. Whoever does not lead has nothing to give up.
    pub(super) fn step_down(&mut self, now: Boottime, why: String) {
        if matches!(self.phase, Phase::Leading(_)) {
            self.verdict.get_or_insert(Verdict::SteppedDown(why.clone()));
            self.asked_to_step_down(now, why, self.rules.stop_timeout);
        }
    }

    /// As if somebody had asked us to step down; but whoever is not well may be deaf as well.
    pub(super) fn sick(&mut self, now: Boottime, why: &str) {
        let why = format!("the command is not well: {why}");
        // What is about to end need not be well.
        if matches!(&self.phase, Phase::Leading(tenure) if !tenure.is_ending()) {
            self.verdict.get_or_insert(Verdict::SteppedDown(why.clone()));
            self.asked_to_step_down(now, why, Some(self.stop_grace()));
        }
    }

    /// Whether a winner with this token has to start nothing, as people want it. While the election is paused
    /// it keeps its place, so that nobody leads who does not read orders; asked to give it up it comes again
    /// as a newcomer.
    pub(super) fn is_kept_from_it(&mut self, now: Boottime, token: Token) -> bool {
        if let Some(why) = self.orders.step_down(token) {
            self.say(Command::Tell(News::SteppingDown(why)));
            self.rejoin(now);
            return true;
        }
        let Some(why) = self.orders.pause() else { return false };
        self.phase = Phase::Campaigning(Some(0));
        self.misfits = 0;
        if std::mem::replace(&mut self.restraint, Restraint::Pause) != Restraint::Pause {
            self.say(Command::Tell(News::Paused(why)));
        }
        self.leave_if_impatient(now, true);
        true
    }
}

//! What people ask of the election: that nobody leads for now, or that a leader gives it up.

use elect_api::Boottime;

use super::gates::Heard;
use super::{Command, Heeds, Machine, News, Phase, Verdict};
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
        self.tell_gates(now, &Heard::Ordered);
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
}

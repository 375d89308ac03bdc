//! For how long leadership is waited for.

use elect_api::Boottime;

use super::{Machine, Verdict, Wait};

impl Machine {
    /// Leadership is not to be had at once, as was seen: whoever does not wait, or has waited long enough,
    /// leaves.
    pub(super) fn leave_if_impatient(&mut self, now: Boottime, is_seen: bool) {
        let over = match self.rules.wait {
            Wait::No => is_seen,
            Wait::For(limit) => self.began + limit <= now,
            Wait::Forever => false,
        };
        if over {
            self.lose_patience(now);
        }
    }

    /// When waiting, or trying to reach the store, ends.
    pub(super) fn patience_ends(&self) -> Option<Boottime> {
        if self.is_delayed() {
            return None;
        }
        let wait = match self.rules.wait {
            Wait::For(limit) => Some(self.began + limit),
            Wait::No => Some(self.began + self.timing.connect_timeout),
            Wait::Forever => None,
        };
        match (self.reached, wait) {
            (true, wait) => wait,
            // The store's first answer is waited for, as it decides.
            (false, Some(wait)) => Some(
                wait.max(self.began + self.timing.connect_timeout.min(self.timing.entry_timeout)),
            ),
            (false, None) if self.rules.insists => None,
            (false, None) => Some(self.began + self.timing.connect_timeout),
        }
    }

    pub(super) fn lose_patience(&mut self, now: Boottime) {
        let pause = || self.orders.pause().map(|why| format!("the election is {why}"));
        let exclusion = || {
            let why = self.exclusion()?;
            self.reached.then(|| format!("this candidate never leads: {why}"))
        };
        let verdict = match pause().or_else(exclusion) {
            Some(why) => Verdict::Unwanted(why),
            None if self.reached => Verdict::NotAcquired,
            None => Verdict::Unreached,
        };
        self.leave(now, verdict);
    }
}

//! Whether all who take part agree on what the election is divided into.
//!
//! Whoever divides it finds out before it joins. Anybody else makes no request for it, unless what people ask of the
//! election shows another division; then nothing is started before that is settled.

use elect_api::{Boottime, Error};

use super::request::Request;
use super::{Machine, Phase, Verdict};
use crate::election::division::Agreement;

/// How far we are with that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settling {
    /// It is to be found out next.
    Due,
    /// There was no answer. We look after our place, and try again.
    Unanswered,
    /// As far as we know nobody disagrees.
    Settled,
}

impl Machine {
    pub(super) fn is_to_settle(&self) -> bool {
        self.settling == Settling::Due
    }

    /// Other orders are there. A leader has settled it before, and whoever disagrees finds it there.
    pub(super) fn settle_again(&mut self) {
        let is_open = matches!(self.phase, Phase::Joining | Phase::Campaigning(_));
        if is_open && !self.orders.is_divided(self.rules.division) {
            self.settling = Settling::Due;
        }
    }

    /// Our place is looked after. Whether it has to be settled first what we wait for; if so that is next.
    pub(super) fn has_to_settle(&mut self, now: Boottime, ahead: usize) -> bool {
        if self.orders.is_divided(self.rules.division) {
            self.settling = Settling::Settled;
            return false;
        }
        self.phase = Phase::Campaigning(Some(ahead));
        if std::mem::replace(&mut self.settling, Settling::Due) == Settling::Settled {
            // Somebody has undone it, or the store has not shown it yet.
            self.ask_again(now);
        } else {
            self.request = Request::due(now);
        }
        true
    }

    /// There was no answer: we look after our place before we try again. A newcomer has none.
    pub(super) fn settling_failed(&mut self) {
        if !matches!(self.phase, Phase::Campaigning(None)) {
            self.settling = Settling::Unanswered;
        }
    }

    /// What came of it.
    pub(super) fn settled(&mut self, now: Boottime, outcome: Result<Agreement, Error>) {
        match outcome {
            Err(error) => {
                self.settling_failed();
                self.failed(now, error);
            }
            Ok(agreement) => {
                self.heard();
                self.settling = Settling::Settled;
                self.request = Request::due(now);
                if let Agreement::Disputed(why) = agreement {
                    self.leave(now, Verdict::Failed(why));
                }
            }
        }
    }
}

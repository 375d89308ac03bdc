//! Whether all who take part agree on what the election is divided into.
//!
//! Whoever divides it finds out before it joins. Anybody else makes no request for it, unless what people ask of the
//! election shows another division; then nothing is started before that is settled.

use super::{Gate, Notice, Place, Ruling, View};
use crate::election::division::Agreement;
use crate::election::machine::{Call, Reply, Settles, Verdict};

#[derive(Clone, Debug)]
pub(super) enum DivisionGate {
    /// It is to be found out.
    Unsettled,
    /// All agree, as the store has said and is to show.
    Told,
    /// It does not: somebody has undone it, or the store does not show it yet.
    Unshown,
    /// As far as we know nobody disagrees.
    Settled,
    /// Others divide it otherwise, in these words.
    Disputed(String),
}

impl DivisionGate {
    pub(super) const fn new(settles: Settles) -> Self {
        match settles {
            Settles::First => Self::Unsettled,
            Settles::IfShown => Self::Settled,
        }
    }
}

impl Gate for DivisionGate {
    fn rule(&self, view: &View<'_>) -> Ruling {
        let is_shown = view.orders.is_divided(view.rules.division);
        match self {
            Self::Disputed(why) => Ruling::Leave(Verdict::Failed(why.clone())),
            Self::Unsettled if view.place == Place::None || !is_shown => Ruling::Ask(Call::Settle),
            Self::Unshown if !is_shown => Ruling::LookAgain,
            _ => Ruling::Pass,
        }
    }

    fn hear(&mut self, view: &View<'_>, heard: &Notice<'_>) {
        let is_shown = view.orders.is_divided(view.rules.division);
        match (heard, &self) {
            (Notice::Replied(Reply::Agreement(Agreement::Ours)), _) => *self = Self::Told,
            (Notice::Replied(Reply::Agreement(Agreement::Disputed(why))), _) => {
                *self = Self::Disputed(why.clone());
            }
            (Notice::Placed, _) if is_shown => *self = Self::Settled,
            (Notice::Placed, Self::Told | Self::Settled) => *self = Self::Unshown,
            (Notice::Placed, Self::Unshown) => *self = Self::Unsettled,
            (Notice::Ordered, _) if !is_shown => *self = Self::Unsettled,
            _ => {}
        }
    }
}

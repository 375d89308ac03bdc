//! Whether what is to be done once is done already. It is asked before we join, whenever the note changes, and again
//! since we won: from then on nobody else can do it.

use elect_api::Token;

use super::{Gate, Notice, Place, Ruling, View};
use crate::election::machine::{Call, Reply, Verdict};

#[derive(Clone, Debug, Default)]
pub(super) enum OnceGate {
    #[default]
    Unasked,
    /// It was not done when we asked.
    Open,
    /// It was not done since we won with this token, and without us it will not be.
    Clear(Token),
    Done,
}

impl Gate for OnceGate {
    fn rule(&self, view: &View<'_>) -> Ruling {
        match (self, view.place) {
            _ if !view.rules.once => Ruling::Pass,
            (Self::Done, _) => Ruling::Leave(Verdict::AlreadyDone),
            (Self::Clear(cleared), Place::First(token)) if *cleared == token => Ruling::Pass,
            (Self::Unasked, _) | (_, Place::First(_)) => Ruling::Ask(Call::Recall),
            (Self::Open | Self::Clear(_), _) => Ruling::Pass,
        }
    }

    fn hear(&mut self, view: &View<'_>, heard: &Notice<'_>) {
        match (heard, view.place) {
            (Notice::Replied(Reply::Done(true)), _) => *self = Self::Done,
            (Notice::Replied(Reply::Done(false)), Place::First(token)) => {
                *self = Self::Clear(token);
            }
            (Notice::Replied(Reply::Done(false)), _) => *self = Self::Open,
            (Notice::Noted | Notice::Rejoined, _) => *self = Self::Unasked,
            _ => {}
        }
    }
}

//! Whether what is to be done once is done already. It is asked before we join, whenever the note changes, and again
//! since we won: from then on nobody else can do it.

use elect_api::Token;

use super::{Gate, Heard, Place, Ruling, Scene};
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
    fn rule(&self, scene: &Scene<'_>) -> Ruling {
        match (self, scene.place) {
            _ if !scene.rules.once => Ruling::Pass,
            (Self::Done, _) => Ruling::Leave(Verdict::AlreadyDone),
            (Self::Clear(cleared), Place::First(token)) if *cleared == token => Ruling::Pass,
            (Self::Unasked, _) | (_, Place::First(_)) => Ruling::Ask(Call::Recall),
            (Self::Open | Self::Clear(_), _) => Ruling::Pass,
        }
    }

    fn hear(&mut self, scene: &Scene<'_>, heard: &Heard<'_>) {
        match (heard, scene.place) {
            (Heard::Replied(Reply::Done(true)), _) => *self = Self::Done,
            (Heard::Replied(Reply::Done(false)), Place::First(token)) => *self = Self::Clear(token),
            (Heard::Replied(Reply::Done(false)), _) => *self = Self::Open,
            (Heard::Noted | Heard::Rejoined, _) => *self = Self::Unasked,
            _ => {}
        }
    }
}

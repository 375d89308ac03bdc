//! What stands between a win and a start: one gate behind the other, each of one shape.
//!
//! A gate hears what happens, and rules on what it has heard: it lets the candidate pass, or has the store asked
//! first, or says why nothing is to be started. The machine obeys the first that does not let pass, and looks again
//! at all of them at each answer of the store. Nothing is started before all have let pass at the proof of a win. Some
//! rule on whoever is about to join, or waits, as well.

mod control;
mod delay;
mod division;
mod once;
mod ranking;

use std::time::Duration;

use elect_api::{Boottime, Token};

use self::control::ControlGate;
use self::delay::DelayGate;
use self::division::DivisionGate;
use self::once::OnceGate;
use self::ranking::RankingGate;
use super::{Block, Call, News, Reply, Rules, Verdict};
use crate::election::orders::Orders;

/// Where a candidate stands that does not lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// It has no place yet, or has given it up.
    None,
    /// So many are before it; with 0 it is about to enter.
    Behind(usize),
    /// It has won with this token, and nothing is started.
    First(Token),
}

/// What a gate sees.
pub(super) struct View<'a> {
    pub(super) now: Boottime,
    pub(super) place: Place,
    pub(super) rules: &'a Rules,
    /// What people ask of the election, as last read.
    pub(super) orders: &'a Orders,
    /// The length of a lease.
    pub(super) window: Duration,
}

/// What happened.
pub(super) enum Notice<'a> {
    /// The store has said where we stand: we have joined, or our place is confirmed.
    Placed,
    /// People ask something else of the election.
    Ordered,
    /// More may be done by now.
    Noted,
    /// Our place is given up, and we are to come again.
    Rejoined,
    /// The store has answered what a gate has asked.
    Replied(&'a Reply),
}

/// What a gate has to say.
#[derive(Debug)]
pub(super) enum Ruling {
    /// Nothing is in the way.
    Pass,
    /// This is to be asked first. If there is no answer our place is looked after before it is asked again.
    Ask(Call),
    /// What the store shows is nothing to go by, yet: look again after a pause.
    LookAgain,
    /// Nothing is to be started.
    Block(Block),
    /// Our place is to be given up, and we are to come again behind all others.
    Rejoin(Option<News>),
    /// It is another who leads, or is to: whoever does not wait leaves.
    Outdone,
    /// We are to leave.
    Leave(Verdict),
}

trait Gate {
    /// What it has to say by what it has heard.
    fn rule(&self, view: &View<'_>) -> Ruling;

    fn hear(&mut self, view: &View<'_>, heard: &Notice<'_>);
}

/// All of them.
#[derive(Clone, Debug)]
pub(super) struct Gates {
    division: DivisionGate,
    once: OnceGate,
    control: ControlGate,
    ranking: RankingGate,
    delay: DelayGate,
}

impl Gates {
    pub(super) fn new(rules: &Rules) -> Self {
        Self {
            division: DivisionGate::new(rules.settles),
            once: OnceGate::default(),
            control: ControlGate,
            ranking: RankingGate::default(),
            delay: DelayGate::default(),
        }
    }

    /// What the first of them says that does not let pass. The delay is the last: it is over by itself, and nobody is to
    /// be told that something will be started which another gate keeps from that.
    pub(super) fn rule(&self, view: &View<'_>) -> Ruling {
        let Self { division, once, control, ranking, delay } = self;
        let gates: [&dyn Gate; 5] = [division, once, control, ranking, delay];
        let mut rulings = gates.into_iter().map(|gate| gate.rule(view));
        rulings.find(|ruling| !matches!(ruling, Ruling::Pass)).unwrap_or(Ruling::Pass)
    }

    pub(super) fn hear(&mut self, view: &View<'_>, heard: &Notice<'_>) {
        let Self { division, once, control, ranking, delay } = self;
        let gates: [&mut dyn Gate; 5] = [division, once, control, ranking, delay];
        for gate in gates {
            gate.hear(view, heard);
        }
    }
}

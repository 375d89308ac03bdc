//! What people ask of the election: that nobody leads for now, or that a leader gives it up.

use super::{Block, Gate, Notice, Place, Ruling, View};
use crate::election::machine::News;

/// While the election is paused a winner keeps its place, so that nobody leads who does not read orders; asked to give
/// it up it comes again as a newcomer.
#[derive(Clone, Debug)]
pub(super) struct ControlGate;

impl Gate for ControlGate {
    fn rule(&self, view: &View<'_>) -> Ruling {
        let Place::First(token) = view.place else { return Ruling::Pass };
        if let Some(why) = view.orders.step_down(token) {
            return Ruling::Rejoin(Some(News::SteppingDown(why)));
        }
        view.orders.pause().map_or(Ruling::Pass, |why| Ruling::Block(Block::Pause(why)))
    }

    fn hear(&mut self, _: &View<'_>, _: &Notice<'_>) {}
}

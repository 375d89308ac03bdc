//! What people ask of the election: that nobody leads for now, or that a leader gives it up.

use super::{Gate, Heard, Hold, Place, Ruling, Scene};
use crate::election::machine::News;

/// While the election is paused a winner keeps its place, so that nobody leads who does not read orders; asked to give
/// it up it comes again as a newcomer.
#[derive(Clone, Debug)]
pub(super) struct ControlGate;

impl Gate for ControlGate {
    fn rule(&self, scene: &Scene<'_>) -> Ruling {
        let Place::First(token) = scene.place else { return Ruling::Pass };
        if let Some(why) = scene.orders.step_down(token) {
            return Ruling::Rejoin(Some(News::SteppingDown(why)));
        }
        scene.orders.pause().map_or(Ruling::Pass, |why| Ruling::Hold(Hold::Pause(why)))
    }

    fn hear(&mut self, _: &Scene<'_>, _: &Heard<'_>) {}
}

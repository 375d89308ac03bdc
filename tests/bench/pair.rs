//! One that leads, and one that waits.

use std::process::Child;

use crate::contender::Contender;
use crate::hold::Hold;
use crate::stage::Stage;
use crate::wait::REST;

/// The leader's command is `first`, the waiter's `second`.
pub(crate) struct Pair {
    pub(crate) first: Hold,
    pub(crate) second: Hold,
    pub(crate) leader: Child,
    pub(crate) waiter: Child,
}

impl Pair {
    pub(crate) fn start(stage: &Stage, contender: Contender) -> Self {
        let name = stage.fresh("pair");
        let [first, second] = [0, 1].map(|_| Hold::new(stage.path(&stage.fresh("hold"))));
        let leader = contender.start(stage, &name, &first.command());
        first.started();
        let waiter = contender.start(stage, &name, &second.command());
        std::thread::sleep(REST);
        assert!(!second.has_started(), "{contender:?} does not wait");
        Self { first, second, leader, waiter }
    }

    /// Once both commands were told to go.
    pub(crate) fn end(mut self) {
        self.leader.wait().expect("a child");
        self.waiter.wait().expect("a child");
    }
}

//! (f) Hand-over with many who wait in one process, through the library.

use std::time::Duration;

use super::comparison::{Queue, compare};
use crate::contender::Store;
use crate::order::Order;
use crate::report::Report;
use crate::seats::Seats;
use crate::stage::Stage;

const WAITING: [usize; 2] = [1000, 10_000];

impl Queue for Seats<'_> {
    fn fill(&mut self, waiting: usize) {
        self.fill(waiting);
    }

    fn hand_over(&mut self) -> Duration {
        self.hand_over()
    }

    fn rest(&self) {
        self.rest();
    }
}

pub(super) fn measure(stage: &Stage, order: &Order, report: &mut Report) {
    let store = Store::Etcd;
    if !order.stores().contains(&store) {
        return;
    }
    for waiting in WAITING {
        let of = format!("{}, {waiting} waiting in one process", store.name());
        if let Some(why) = order.forbids(waiting) {
            report.leave_out("crowd", &of, why);
            continue;
        }
        let [mut few, mut many] = [(); 2].map(|()| Seats::start(stage, store));
        compare((stage, store), order.runs, (&mut few, &mut many, waiting)).tell(&of, report);
    }
}

//! (f) Hand-over with many who wait, each a process with a guardian.

use std::time::Duration;

use super::comparison::{Queue, compare};
use crate::contender::Store;
use crate::crowd::Crowd;
use crate::order::Order;
use crate::process;
use crate::report::Report;
use crate::stage::Stage;

const WAITING: [usize; 3] = [10, 100, 1000];

/// For stores whose leases end by time, so that no candidate renews meanwhile.
const LONG_LEASES: [&str; 2] = ["--ttl", "100m"];
/// On databases a lease lasts at most a minute.
const LONGEST_OF_ROWS: [&str; 2] = ["--ttl", "60s"];

/// The part of the available memory that a crowd may take.
const SHARE: f64 = 0.8;

impl Queue for Crowd<'_> {
    fn fill(&mut self, waiting: usize) {
        self.fill(waiting);
    }

    fn hand_over(&mut self) -> Duration {
        let time = self.hand_over();
        self.reap();
        time
    }
}

pub(super) fn measure(stage: &Stage, order: &Order, report: &mut Report) {
    for store in order.stores() {
        let flags: &[&str] = match store {
            Store::File => &[],
            Store::Consul | Store::Etcd | Store::ZooKeeper => &LONG_LEASES,
            Store::MariaDb | Store::Postgres | Store::Redis => &LONGEST_OF_ROWS,
        };
        let mut few = Crowd::start(stage, store, flags);
        for waiting in WAITING {
            let of = format!("{}, {waiting} waiting", store.name());
            if let Some(why) = order.forbids(waiting).or_else(|| too_large(&few, waiting)) {
                report.leave_out("crowd", &of, why);
                continue;
            }
            let mut many = Crowd::start(stage, store, flags);
            compare((stage, store), order.runs, (&mut few, &mut many, waiting)).tell(&of, report);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "no measurement has so many")]
fn too_large(few: &Crowd<'_>, waiting: usize) -> Option<String> {
    let (needed, free) = (few.memory() * waiting as f64, process::free_memory());
    let says = || format!("they take {needed:.0} MB of memory, and {free:.0} MB are free");
    (needed > free * SHARE).then(says)
}

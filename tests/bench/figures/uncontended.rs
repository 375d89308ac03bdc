//! (a) An uncontended run of `true`, beside the least time that it can take.

use std::time::Duration;

use elect_testkit::oracle::now;

use crate::contender::{Contender, Store};
use crate::floor;
use crate::order::Order;
use crate::report::{Report, Unit};
use crate::sample::Sample;
use crate::stage::Stage;

pub(super) fn measure(stage: &Stage, order: &Order, report: &mut Report) {
    for store in Store::ALL {
        let (ours, peer) = (Contender::Elect(store), Contender::Peer(store));
        let (our_name, peers_name) = (stage.fresh("run"), stage.fresh("run"));
        let [mut elect, mut other, mut floor] = [(); 3].map(|()| Sample::default());
        for run in 0..=order.runs {
            let times = [
                timed(|| run_true(stage, ours, &our_name)),
                timed(|| {
                    run_true(stage, peer, &peers_name);
                    // elect's tokens rise through power cuts, and flock has none.
                    if store == Store::File {
                        floor::flush(stage);
                    }
                }),
                floor::run(stage, store),
            ];
            // The first run finds cold caches, and does not count.
            if run > 0 {
                elect.push_time(times[0]);
                other.push_time(times[1]);
                floor.push_time(times[2]);
            }
        }
        let other_name = if store == Store::File { "flock + fdatasync" } else { peer.name() };
        let figure = report.figure("uncontended", store.name(), Unit::Milliseconds);
        figure.of("elect", elect).of(other_name, other).of("floor", floor);
        figure.ratio(other_name).ratio("floor");
    }
}

/// A run of `true` from its start to its end.
pub(super) fn run_true(stage: &Stage, contender: Contender, name: &str) {
    let status = contender.command(stage, name, &["true".into()]).status();
    assert!(status.expect("it runs").success(), "{contender:?}");
}

fn timed(work: impl FnOnce()) -> Duration {
    let from = now();
    work();
    now().since(from)
}

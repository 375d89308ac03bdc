//! (d), (e) What a waiter costs that only waits.

use std::time::Duration;

use crate::contender::Contender;
use crate::order::Order;
use crate::pair::Pair;
use crate::process;
use crate::report::{Report, Unit};
use crate::sample::Sample;
use crate::stage::Stage;

/// Over this time a process that waits is looked at.
const IDLE: Duration = Duration::from_secs(60);

pub(super) fn measure(stage: &Stage, order: &Order, report: &mut Report) {
    for store in order.stores() {
        let contenders = [Contender::Elect(store), Contender::Peer(store)];
        let pairs = contenders.map(|contender| Pair::start(stage, contender));
        let used = || pairs.each_ref().map(|pair| process::processor_time(&pair.waiter));
        let before = used();
        std::thread::sleep(IDLE);
        let after = used();
        let share = |index: usize| {
            let used = after[index].saturating_sub(before[index]);
            Sample::once(used.as_secs_f64() / IDLE.as_secs_f64() * 100.0)
        };
        let memory = |index: usize| Sample::once(process::memory(&pairs[index].waiter));
        let leads = Sample::once(process::memory(&pairs[0].leader));
        let peer = contenders[1].name();
        let figure = report.figure("memory", store.name(), Unit::Megabytes);
        figure.of("elect", memory(0)).of(peer, memory(1)).of("elect, leading", leads).ratio(peer);
        let figure = report.figure("processor", store.name(), Unit::Percent);
        figure.of("elect", share(0)).of(peer, share(1));
        for pair in pairs {
            pair.first.go();
            pair.second.started();
            pair.second.go();
            pair.end();
        }
    }
}

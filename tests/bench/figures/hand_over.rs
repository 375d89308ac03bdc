//! (b) From the end of one command to the start of the next one's.

use crate::contender::{Contender, Store};
use crate::order::Order;
use crate::pair::Pair;
use crate::report::{Report, Unit};
use crate::sample::Sample;
use crate::stage::Stage;

pub(super) fn measure(stage: &Stage, order: &Order, report: &mut Report) {
    for store in Store::ALL {
        let contenders = [Contender::Elect(store), Contender::Peer(store)];
        let mut samples = [Sample::default(), Sample::default()];
        for _ in 0..order.runs {
            for (contender, sample) in contenders.into_iter().zip(&mut samples) {
                let pair = Pair::start(stage, contender);
                pair.first.go();
                sample.push_time(pair.second.started().saturating_sub(pair.first.ended()));
                pair.second.go();
                pair.end();
            }
        }
        let [elect, other] = samples;
        let figure = report.figure("hand-over", store.name(), Unit::Milliseconds);
        figure.of("elect", elect).of(contenders[1].name(), other).ratio(contenders[1].name());
    }
}

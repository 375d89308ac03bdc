//! (b) From the end of one command to the start of the next one's.

use crate::contender::Contender;
use crate::order::Order;
use crate::pair::Pair;
use crate::report::{Report, Unit};
use crate::sample::Sample;
use crate::stage::Stage;

pub(super) fn measure(stage: &Stage, order: &Order, report: &mut Report) {
    for store in order.stores() {
        let contenders = Contender::all(store);
        let mut samples = vec![Sample::default(); contenders.len()];
        for _ in 0..order.runs {
            for (contender, sample) in contenders.iter().zip(&mut samples) {
                let pair = Pair::start(stage, *contender);
                pair.first.go();
                sample.push_time(pair.second.started().saturating_sub(pair.first.ended()));
                pair.second.go();
                pair.end();
            }
        }
        let figure = report.figure("hand-over", store.name(), Unit::Milliseconds);
        for (contender, sample) in contenders.iter().zip(samples) {
            figure.beside(contender.name(), sample);
        }
    }
}

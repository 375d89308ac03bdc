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
    for store in order.stores() {
        let all = Contender::all(store);
        let names: Vec<String> = all.iter().map(|_| stage.fresh("run")).collect();
        let mut samples = vec![Sample::default(); all.len()];
        let mut floor = Sample::default();
        for run in 0..=order.runs {
            let times: Vec<Duration> = all
                .iter()
                .zip(&names)
                .map(|(contender, name)| timed(|| run_comparable(stage, *contender, name)))
                .collect();
            let least = floor::run(stage, store);
            // The first run finds cold caches, and does not count.
            if run > 0 {
                samples.iter_mut().zip(times).for_each(|(sample, time)| sample.push_time(time));
                floor.push_time(least);
            }
        }
        let figure = report.figure("uncontended", store.name(), Unit::Milliseconds);
        for (contender, sample) in all.iter().zip(samples) {
            let is_flock = *contender == Contender::Peer(Store::File);
            figure.beside(if is_flock { "flock + fdatasync" } else { contender.name() }, sample);
        }
        figure.beside("floor", floor);
    }
}

fn run_comparable(stage: &Stage, contender: Contender, name: &str) {
    run_true(stage, contender, name);
    // elect's tokens rise through power cuts, and flock has none.
    if contender == Contender::Peer(Store::File) {
        floor::flush(stage);
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

//! (c) From the death of the leading wrapper to the start of the next command.

use elect_testkit::oracle::now;
use nix::sys::signal::Signal;

use crate::contender::{Contender, Store};
use crate::order::Order;
use crate::pair::Pair;
use crate::process;
use crate::report::{Report, Unit};
use crate::sample::Sample;
use crate::stage::Stage;

pub(super) fn measure(stage: &Stage, order: &Order, report: &mut Report) {
    for store in Store::ALL {
        let mut sample = Sample::default();
        for _ in 0..order.runs {
            let pair = Pair::start(stage, Contender::Elect(store));
            let from = now();
            process::signal(&pair.leader, Signal::SIGKILL);
            sample.push_time(pair.second.started().saturating_sub(from.since_boot()));
            pair.second.go();
            pair.end();
        }
        report.figure("crash", store.name(), Unit::Milliseconds).of("elect", sample);
    }
}

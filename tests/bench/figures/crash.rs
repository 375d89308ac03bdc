//! (c) From the death of the leading wrapper to the start of the next command. The peers on databases are killed as
//! well, if their commands run on beside the next ones.

use std::time::Duration;

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
    for store in order.stores() {
        let mut contenders = Contender::all(store);
        // The locks of the other peers end later: with a lease, or with the command. It inherits flock's file, and the
        // connection of MariaDB's client.
        contenders.retain(|contender| {
            matches!(contender, Contender::Elect(_) | Contender::Second(_))
                || *contender == Contender::Peer(Store::Postgres)
        });
        let mut samples = vec![Sample::default(); contenders.len()];
        for _ in 0..order.runs {
            for (contender, sample) in contenders.iter().zip(&mut samples) {
                sample.push_time(crash(stage, *contender));
            }
        }
        let figure = report.figure("crash", store.name(), Unit::Milliseconds);
        for (contender, sample) in contenders.iter().zip(samples) {
            figure.beside(contender.name(), sample);
        }
    }
}

fn crash(stage: &Stage, contender: Contender) -> Duration {
    let pair = Pair::start(stage, contender);
    let from = now();
    process::signal(&pair.leader, Signal::SIGKILL);
    let time = pair.second.started().saturating_sub(from.since_boot());
    if !matches!(contender, Contender::Elect(_)) {
        // Its command runs on.
        pair.first.go();
    }
    pair.second.go();
    pair.end();
    time
}

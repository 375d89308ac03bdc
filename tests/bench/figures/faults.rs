//! (h) Page faults of an uncontended run of `true`: minor faults, and major ones, for which the kernel read from a
//! disk. The faults of `true` itself are among them.

use nix::sys::resource::{UsageWho, getrusage};

use super::uncontended::run_true;
use crate::contender::Contender;
use crate::order::Order;
use crate::report::{Report, Unit};
use crate::sample::Sample;
use crate::stage::Stage;

/// Minor and major.
type Faults = [i64; 2];

pub(super) fn measure(stage: &Stage, order: &Order, report: &mut Report) {
    for store in order.stores() {
        let contenders = [Contender::Elect(store), Contender::Peer(store)];
        let names = contenders.map(|_| stage.fresh("faults"));
        let mut samples = [(); 2].map(|()| [(); 2].map(|()| Sample::default()));
        for run in 0..=order.runs {
            for (side, contender) in contenders.into_iter().enumerate() {
                let before = so_far();
                run_true(stage, contender, &names[side]);
                let after = so_far();
                // The first run finds cold caches, and does not count.
                if run > 0 {
                    push(&mut samples[side], before, after);
                }
            }
        }
        let [[our_minor, our_major], [their_minor, their_major]] = samples;
        let peer = contenders[1].name();
        let of = format!("{}, minor", store.name());
        let figure = report.figure("faults", &of, Unit::Times);
        figure.of("elect", our_minor).of(peer, their_minor).ratio(peer);
        let of = format!("{}, major", store.name());
        let figure = report.figure("faults", &of, Unit::Times);
        figure.of("elect", our_major).of(peer, their_major);
    }
}

/// Of all children that were waited for, and of theirs.
fn so_far() -> Faults {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("the kernel tells");
    [usage.minor_page_faults(), usage.major_page_faults()]
}

#[expect(clippy::cast_precision_loss, reason = "no measurement has so many")]
fn push(samples: &mut [Sample; 2], before: Faults, after: Faults) {
    for (index, sample) in samples.iter_mut().enumerate() {
        sample.push((after[index] - before[index]) as f64);
    }
}

//! The hand-over among many waiting candidates, beside the hand-over among two, in turns on the same store. It should
//! be the business of one waiter. Requests of an idle crowd (ZooKeeper's pings, renewals on databases) are subtracted,
//! so the counted requests are the hand-over's.

use std::thread;
use std::time::Duration;

use elect_testkit::oracle::now;

use crate::asked::Asked;
use crate::contender::Store;
use crate::report::{Report, Unit};
use crate::sample::Sample;
use crate::stage::Stage;
use crate::wait::REST;

const FEW: usize = 2;
/// The name of the smaller queue in the table.
const BESIDE: &str = "2 waiting";

/// The time in which the requests of an idle store are counted.
const IDLE: Duration = Duration::from_secs(2);

/// One that leads, and those who wait for the same.
pub(super) trait Queue {
    /// Returns once so many wait.
    fn fill(&mut self, waiting: usize);

    /// Has the leader's work end; the time from then to the start of the next one's.
    fn hand_over(&mut self) -> Duration;

    /// Lets all of them do what they still have to.
    fn rest(&self) {
        thread::sleep(REST);
    }
}

/// Figures of many beside few.
#[derive(Default)]
pub(super) struct Comparison {
    times: [Sample; 2],
    requests: [Sample; 2],
    writes: [Sample; 2],
}

/// Of `waiting` who wait, and of a few, which take turns.
pub(super) fn compare<Q: Queue>(
    (stage, store): (&Stage, Store),
    runs: usize,
    (few, many, waiting): (&mut Q, &mut Q, usize),
) -> Comparison {
    let mut all = Comparison::default();
    many.fill(waiting);
    few.fill(FEW);
    many.rest();
    few.rest();
    let idle = Tally::of(stage, store, || thread::sleep(IDLE));
    for _ in 0..runs {
        let queues = [(&mut *many, waiting), (&mut *few, FEW)];
        for (side, (queue, length)) in queues.into_iter().enumerate() {
            // A new candidate must have no request left to send.
            queue.rest();
            let mut time = Duration::ZERO;
            let tally = Tally::of(stage, store, || {
                time = queue.hand_over();
                // The new leader must not have any either.
                queue.rest();
            });
            queue.fill(length);
            all.push(side, time, tally.beyond(&idle));
        }
    }
    all
}

/// The requests and writes within some time.
struct Tally {
    requests: f64,
    writes: f64,
    seconds: f64,
}

impl Tally {
    #[expect(clippy::cast_precision_loss, reason = "few are asked")]
    fn of(stage: &Stage, store: Store, work: impl FnOnce()) -> Self {
        let (from, before) = (now(), stage.asked(store));
        work();
        let (to, Asked { requests, writes }) = (now(), stage.asked(store).since(before));
        let seconds = to.since(from).as_secs_f64();
        Self { requests: requests as f64, writes: writes as f64, seconds }
    }

    /// Returns the counts without those of as much idle time.
    fn beyond(&self, idle: &Self) -> [f64; 2] {
        let share = self.seconds / idle.seconds;
        [self.requests - idle.requests * share, self.writes - idle.writes * share]
    }
}

impl Comparison {
    fn push(&mut self, side: usize, time: Duration, [requests, writes]: [f64; 2]) {
        self.times[side].push_time(time);
        self.requests[side].push(requests);
        self.writes[side].push(writes);
    }

    pub(super) fn tell(self, of: &str, report: &mut Report) {
        let mut tell = |name, unit, [many, few]: [Sample; 2]| {
            report.figure(name, of, unit).of("elect", many).of(BESIDE, few).ratio(BESIDE);
        };
        tell("crowd", Unit::Milliseconds, self.times);
        // There is no server of the local disk, and Consul's counts no requests.
        if ![Store::File, Store::Consul].iter().any(|store| of.starts_with(store.name())) {
            tell("crowd's requests", Unit::Times, self.requests);
            tell("crowd's writes", Unit::Times, self.writes);
        }
    }
}

//! (f) Hand-over with many who wait, beside two who wait on the same store at the same time: it is to be the
//! business of one of them. Nobody renews meanwhile, and what sessions ask by themselves (ZooKeeper's pings) is taken
//! off, so that requests are the hand-over's.

use std::thread;
use std::time::Duration;

use elect_testkit::oracle::now;

use crate::asked::Asked;
use crate::contender::Store;
use crate::crowd::Crowd;
use crate::order::Order;
use crate::process;
use crate::report::{Report, Unit};
use crate::sample::Sample;
use crate::seats::Seats;
use crate::stage::Stage;
use crate::wait::REST;

const FEW: usize = 2;
/// What stands beside in the table.
const BESIDE: &str = "2 waiting";

/// Each a process, with a guardian.
const PROCESSES: [usize; 3] = [10, 100, 1000];
/// All in one process, through the library.
const SEATS: [usize; 2] = [1000, 10_000];

/// For stores whose leases end by time.
const LONG_LEASES: [&str; 2] = ["--ttl", "100m"];

/// How long is looked at what is asked when nothing happens.
const IDLE: Duration = Duration::from_secs(2);

/// What part of the memory that may still be had a crowd may take.
const SHARE: f64 = 0.8;

/// Those who wait for the same.
trait Queue {
    /// Returns once so many wait.
    fn fill(&mut self, waiting: usize);
    /// Has the leader's work end; the time from then to the start of the next one's.
    fn hand_over(&mut self) -> Duration;
}

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

impl Queue for Seats<'_> {
    fn fill(&mut self, waiting: usize) {
        self.fill(waiting);
    }

    fn hand_over(&mut self) -> Duration {
        self.hand_over()
    }
}

pub(super) fn measure(stage: &Stage, order: &Order, report: &mut Report) {
    for store in Store::ALL {
        let flags: &[&str] = if store == Store::File { &[] } else { &LONG_LEASES };
        let start = || Crowd::start(stage, store, flags);
        let mut few = start();
        few.fill(FEW);
        for waiting in PROCESSES {
            let of = format!("{}, {waiting} waiting", store.name());
            let why = too_many(order, waiting).or_else(|| too_large(&few, waiting));
            if let Some(why) = why {
                report.leave_out("crowd", &of, why);
                continue;
            }
            let mut many = start();
            many.fill(waiting);
            compare((stage, store), order.runs, (&mut few, &mut many, waiting)).tell(&of, report);
        }
    }
    for waiting in SEATS {
        let of = format!("{}, {waiting} waiting in one process", Store::Etcd.name());
        if let Some(why) = too_many(order, waiting) {
            report.leave_out("crowd", &of, why);
            continue;
        }
        let [mut few, mut many] = [(); 2].map(|()| Seats::start(stage, Store::Etcd));
        few.fill(FEW);
        many.fill(waiting);
        let sides = (&mut few, &mut many, waiting);
        compare((stage, Store::Etcd), order.runs, sides).tell(&of, report);
    }
}

fn too_many(order: &Order, waiting: usize) -> Option<String> {
    (waiting > order.crowd).then(|| format!("--crowd {}", order.crowd))
}

#[expect(clippy::cast_precision_loss, reason = "nobody has so many")]
fn too_large(few: &Crowd<'_>, waiting: usize) -> Option<String> {
    let (needed, free) = (few.memory() * waiting as f64, process::free_memory());
    let says = || format!("they take {needed:.0} MB of memory, and {free:.0} MB are free");
    (needed > free * SHARE).then(says)
}

/// Figures of many beside few.
#[derive(Default)]
struct Comparison {
    times: [Sample; 2],
    requests: [Sample; 2],
    writes: [Sample; 2],
}

fn compare<Q: Queue>(
    (stage, store): (&Stage, Store),
    runs: usize,
    (few, many, waiting): (&mut Q, &mut Q, usize),
) -> Comparison {
    let mut all = Comparison::default();
    let idle = Tally::of(stage, store, || thread::sleep(IDLE));
    for _ in 0..runs {
        let queues = [(&mut *many, waiting), (&mut *few, FEW)];
        for (side, (queue, length)) in queues.into_iter().enumerate() {
            // Whoever has just come is to have nothing more to ask.
            thread::sleep(REST);
            let mut time = Duration::ZERO;
            let tally = Tally::of(stage, store, || {
                time = queue.hand_over();
                // Nor whoever leads now.
                thread::sleep(REST);
            });
            queue.fill(length);
            all.push(side, time, tally.beyond(&idle));
        }
    }
    all
}

/// What was asked within some time.
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

    /// Without what idle time of this length has.
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

    fn tell(self, of: &str, report: &mut Report) {
        let mut tell = |name, unit, [many, few]: [Sample; 2]| {
            report.figure(name, of, unit).of("elect", many).of(BESIDE, few).ratio(BESIDE);
        };
        tell("crowd", Unit::Milliseconds, self.times);
        // Nobody counts what is asked of the local disk.
        if !of.starts_with(Store::File.name()) {
            tell("crowd's requests", Unit::Times, self.requests);
            tell("crowd's writes", Unit::Times, self.writes);
        }
    }
}

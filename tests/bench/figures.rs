//! What is measured. Contenders take turns, so that what else happens on the machine happens to all of them.

use std::process::Child;
use std::time::Duration;

use elect_testkit::oracle::now;
use elect_testkit::program::{children, is_alive};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::contender::{Contender, Store};
use crate::floor;
use crate::hold::Hold;
use crate::process;
use crate::report::{Report, Unit};
use crate::sample::Sample;
use crate::stage::Stage;

/// What measures one figure in so many runs.
type Measure = fn(&Stage, usize, &mut Report);

/// All figures, by the names that people select them by.
pub(crate) const ALL: [(&str, Measure); 6] = [
    ("uncontended", uncontended),
    ("hand-over", hand_over),
    ("crash", crash),
    ("waiting", waiting),
    ("emptying", emptying),
    ("size", size),
];

/// Time for a waiter to come to rest: nobody tells when it has.
const REST: Duration = Duration::from_millis(400);
/// Over this time a process that waits is looked at.
const IDLE: Duration = Duration::from_secs(20);

/// (a) A run of `true` that nobody else wants, beside the least that it can take.
fn uncontended(stage: &Stage, runs: usize, report: &mut Report) {
    for store in Store::ALL {
        let (ours, peer) = (Contender::Elect(store), Contender::Peer(store));
        let (our_name, peers_name) = (stage.fresh("run"), stage.fresh("run"));
        let [mut elect, mut other, mut floor] = [(); 3].map(|()| Sample::default());
        for run in 0..=runs {
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
            // What comes first finds cold caches.
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

fn run_true(stage: &Stage, contender: Contender, name: &str) {
    let status = contender.command(stage, name, &["true".into()]).status();
    assert!(status.expect("it runs").success(), "{contender:?}");
}

fn timed(work: impl FnOnce()) -> Duration {
    let from = now();
    work();
    now().since(from)
}

/// (b) From the end of one command to the start of the next one's.
fn hand_over(stage: &Stage, runs: usize, report: &mut Report) {
    for store in Store::ALL {
        let contenders = [Contender::Elect(store), Contender::Peer(store)];
        let mut samples = [Sample::default(), Sample::default()];
        for _ in 0..runs {
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

/// One that leads, and one that waits.
struct Pair {
    first: Hold,
    second: Hold,
    leader: Child,
    waiter: Child,
}

impl Pair {
    fn start(stage: &Stage, contender: Contender) -> Self {
        let name = stage.fresh("pair");
        let [first, second] = [0, 1].map(|_| Hold::new(stage.path(&stage.fresh("hold"))));
        let leader = contender.start(stage, &name, &first.command());
        first.started();
        let waiter = contender.start(stage, &name, &second.command());
        std::thread::sleep(REST);
        assert!(!second.has_started(), "{contender:?} does not wait");
        Self { first, second, leader, waiter }
    }

    fn end(mut self) {
        self.leader.wait().expect("a child");
        self.waiter.wait().expect("a child");
    }
}

/// (c) From the death of the leading wrapper to the start of the next command.
fn crash(stage: &Stage, runs: usize, report: &mut Report) {
    for store in Store::ALL {
        let mut sample = Sample::default();
        for _ in 0..runs {
            let pair = Pair::start(stage, Contender::Elect(store));
            let from = now();
            signal(&pair.leader, Signal::SIGKILL);
            sample.push_time(pair.second.started().saturating_sub(from.since_boot()));
            pair.second.go();
            pair.end();
        }
        report.figure("crash", store.name(), Unit::Milliseconds).of("elect", sample);
    }
}

fn signal(child: &Child, signal: Signal) {
    kill(pid(child), signal).expect("it lives");
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(child.id().cast_signed())
}

/// (d), (e) What a waiter costs that only waits.
fn waiting(stage: &Stage, _runs: usize, report: &mut Report) {
    for store in Store::ALL {
        let contenders = [Contender::Elect(store), Contender::Peer(store)];
        let pairs = contenders.map(|contender| Pair::start(stage, contender));
        let used = || pairs.each_ref().map(|pair| processor_time(&pair.waiter));
        let before = used();
        std::thread::sleep(IDLE);
        let after = used();
        let share = |index: usize| {
            let used = after[index].saturating_sub(before[index]);
            Sample::once(used.as_secs_f64() / IDLE.as_secs_f64() * 100.0)
        };
        let memory = |index: usize| Sample::once(memory(&pairs[index].waiter));
        let leads = Sample::once(memory_of_leader(&pairs[0]));
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

/// The wrapper and its guardian, or whatever a peer consists of.
fn family(child: &Child) -> Vec<i32> {
    let wrapper = pid(child).as_raw();
    std::iter::once(wrapper).chain(children(wrapper)).collect()
}

fn processor_time(child: &Child) -> Duration {
    family(child).into_iter().map(process::processor_time).sum()
}

#[expect(clippy::cast_precision_loss, reason = "no process has so much memory")]
fn memory(child: &Child) -> f64 {
    let kib: u64 = family(child).into_iter().map(process::memory).sum();
    kib as f64 / 1024.0
}

fn memory_of_leader(pair: &Pair) -> f64 {
    memory(&pair.leader)
}

/// (j) From the death of a wrapper to that of the last process of its command.
fn emptying(stage: &Stage, runs: usize, report: &mut Report) {
    for processes in [1, 100, 1000] {
        let mut sample = Sample::default();
        for _ in 0..runs.min(10) {
            sample.push_time(empty(stage, processes));
        }
        let what = format!("{processes} processes");
        report.figure("emptying", &what, Unit::Milliseconds).of("elect", sample);
    }
}

/// The guardian ends when it has proven that nobody is left.
fn empty(stage: &Stage, processes: u32) -> Duration {
    let ready = stage.path(&stage.fresh("ready"));
    let script = format!(
        "i=1; while [ $i -lt {processes} ]; do sleep 600 & i=$((i+1)); done; : >{}; exec sleep 600",
        ready.display()
    );
    let words = ["sh".into(), "-c".into(), script.into()];
    let name = stage.fresh("empty");
    let mut leader = Contender::Elect(Store::File).start(stage, &name, &words);
    while !ready.exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let guardian = children(pid(&leader).as_raw());
    let from = now();
    signal(&leader, Signal::SIGKILL);
    leader.wait().expect("a child");
    while guardian.iter().any(|pid| is_alive(*pid)) {
        std::thread::sleep(Duration::from_micros(200));
    }
    now().since(from)
}

/// (i) The binary.
#[expect(clippy::cast_precision_loss, reason = "no binary is so large")]
fn size(_stage: &Stage, _runs: usize, report: &mut Report) {
    let length = std::fs::metadata(env!("CARGO_BIN_EXE_elect")).expect("the binary").len();
    let figure = report.figure("size", "binary", Unit::Megabytes);
    figure.of("elect", Sample::once(length as f64 / 1e6));
}

//! The time for which a resignation waits until the outcome of the run is written.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use elect::election::driver::{self, Candidacy, Once};
use elect::election::machine::{Counting, Event, Machine, Rules, StoppedBy, Verdict};
use elect::election::runs::{Key, Run, Runs};
use elect::election::timing::{Timing, TimingOptions};
use elect::guard::{Ended, Order};
use elect_api::{Boottime, Candidate, Cell, Holds, Ticket, Token};
use elect_testkit::sim::{Clock, Controls, Effect, Kind, Op, Options, Rule, Sim, TokioClock};

use super::candidate::{KEY, Narrator};
use super::host::{EngineClock, Host};

/// Later than it is waited for, and in time for all else.
const LATE: Duration = Duration::from_secs(1);
/// The longest time that the write may take.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A command that fails at once.
struct Brief {
    controls: Controls,
    clock: Arc<TokioClock>,
    /// The delay of answers about cells, from the resignation on.
    late: Duration,
    resigned: Option<Boottime>,
    events: VecDeque<Event>,
}

#[async_trait]
impl driver::Tree for Brief {
    fn start(&mut self, _: Token, _: &Holds<'_>) -> io::Result<()> {
        self.events = [Event::Started, Event::Ended(Ended::Exited(3)), Event::Empty].into();
        Ok(())
    }

    fn obey(&mut self, _: Order, _: Option<StoppedBy>) {}

    fn keep(&mut self, _: Option<&Ticket>) {}

    fn resigns(&mut self) {
        self.controls.add(Rule::new(Effect::DelayReply(self.late)).op(Op::LeaderCell));
        self.resigned = Some(self.clock.now());
    }

    fn sweep(&mut self) {}

    fn signaled(&mut self, signal: i32) -> Option<i32> {
        Some(signal)
    }

    async fn next_event(&mut self) -> Event {
        match self.events.pop_front() {
            Some(event) => event,
            None => std::future::pending().await,
        }
    }
}

/// Returns the time that it takes to resign, and the recorded exit code of the run.
async fn resign(late: Duration) -> (Duration, Option<u8>) {
    let clock = Arc::new(TokioClock::new());
    let sim = Sim::new(Options::new(Kind::Queue), Arc::clone(&clock) as Arc<dyn Clock>);
    let (store, controls) = (sim.connect(), sim.controls());
    let host = Host::new(Arc::clone(&clock), 1000);
    let (resigned, events) = (None, VecDeque::new());
    let mut tree =
        Brief { controls: controls.clone(), clock: Arc::clone(&clock), late, resigned, events };
    let (election, candidate) = ("job".parse().expect("a name"), Candidate::foreign("us"));
    let lease = store.profile().lease;
    let timing = Timing::new(&TimingOptions::default(), lease).expect("defaults hold");
    let rules = Rules { counting: Counting::BeforeStart, ..Rules::of("us", 100) };
    let machine = Machine::new(rules, timing, clock.now(), 7);
    let candidacy = Candidacy {
        store: &*store,
        election: &election,
        candidate: &candidate,
        once: Some(Once { key: KEY, attempts: Some(2) }),
        surveys: None,
    };
    let mut narrator = Narrator::new("us", Arc::clone(&host));
    let verdict = driver::drive(
        &candidacy,
        machine,
        &EngineClock(host),
        &mut tree,
        &mut driver::no_inbox(),
        &mut narrator,
    )
    .await;
    let took = clock.now().since(tree.resigned.expect("a resignation"));
    assert!(matches!(verdict, Verdict::Ended(Ended::Exited(3))), "{verdict:?}");
    assert!(controls.leader(&election).is_none(), "our entry is left");
    controls.lift_all();
    let cell = store.read(&election, Cell::Runs).await.expect("an answer");
    let runs = Runs::read(cell.bytes.as_deref()).expect("what was written here");
    (took, runs.of(KEY).and_then(Key::last).and_then(Run::exit_code))
}

#[test]
fn a_resignation_does_not_wait_long_until_it_is_said_how_the_run_went() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    let (took, code) = runtime.block_on(resign(Duration::ZERO));
    assert_eq!((took, code), (Duration::ZERO, Some(3)), "an answer that comes at once");
    let (took, code) = runtime.block_on(resign(LATE));
    assert_eq!(code, None, "an answer that comes too late");
    assert!(took >= LAST_WORDS && took < LATE, "{took:?}");
}

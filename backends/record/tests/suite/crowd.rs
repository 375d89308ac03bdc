//! A thousand waiters: the load on the store, and the time that a hand-over takes.

use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use elect_api::{Boottime, Candidate, Seat, Standing, Store};
use elect_testkit::election;
use elect_testkit::sim::{Clock, TokioClock};
use tokio::sync::watch;

use crate::documents::{Counts, Fake, Illness};

const TTL: Duration = Duration::from_secs(15);
const LATENCY: Duration = Duration::from_millis(6);
/// The time between two refreshes of the engine.
const EVERY: Duration = Duration::from_millis(2500);

/// The end of a leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Resign,
    /// Death right after a renewal.
    Die,
}

/// Candidates that behave as the engine does.
struct Crowd {
    fake: Fake,
    clock: Arc<TokioClock>,
    /// The time at which each leadership began.
    led: Arc<Mutex<Vec<Boottime>>>,
    /// The number of leaders that must have ended so far, and the way in which the last of them
    /// ends.
    ended: watch::Sender<(usize, End)>,
}

impl Crowd {
    fn new() -> Self {
        let fake = Fake::default();
        fake.with(|inner| inner.latency = LATENCY);
        let ended = watch::Sender::new((0, End::Resign));
        Self { fake, clock: Arc::default(), led: Arc::default(), ended }
    }

    /// This many candidates, one of which leads.
    async fn of(size: usize) -> Self {
        Self::new().filled(size).await
    }

    async fn filled(self, size: usize) -> Self {
        self.join(0..size).await;
        self.pass(TTL * 4).await;
        assert_eq!(self.led(), 1);
        self
    }

    /// Lets these candidates take part from now on.
    async fn join(&self, numbers: Range<usize>) {
        for number in numbers {
            let candidate =
                Candidate { host: "h".into(), ..Candidate::foreign(format!("c{number}")) };
            let seat = self.fake.store().open(&election(), &candidate, TTL).await.expect("a seat");
            let (clock, led) = (Arc::clone(&self.clock), Arc::clone(&self.led));
            tokio::spawn(take_part(seat, clock, led, self.ended.subscribe()));
        }
    }

    async fn pass(&self, span: Duration) {
        self.clock.until(self.clock.now() + span).await;
    }

    fn led(&self) -> usize {
        self.led.lock().expect("no thread has failed").len()
    }

    fn counts(&self) -> Counts {
        self.fake.with(|inner| std::mem::take(&mut inner.counts))
    }

    /// Ends the leader, and returns the time until the next one leads.
    async fn hand_over(&self, how: End) -> Duration {
        let before = self.led();
        let now = self.clock.now();
        self.ended.send_replace((before, how));
        for _ in 0..10_000 {
            self.pass(Duration::from_millis(5)).await;
            let led = self.led.lock().expect("no thread has failed");
            if let Some(at) = led.get(before) {
                return at.since(now);
            }
        }
        panic!("no candidate follows");
    }

    /// The mean time of five hand-overs.
    async fn mean_hand_over(&self, how: End) -> f64 {
        const TIMES: u32 = 5;
        let mut sum = 0.0;
        for _ in 0..TIMES {
            sum += self.hand_over(how).await.as_secs_f64();
            // The candidates that are now near the front notice it.
            self.pass(EVERY.mul_f64(1.7)).await;
        }
        sum / f64::from(TIMES)
    }
}

async fn take_part(
    mut seat: Box<dyn Seat>,
    clock: Arc<TokioClock>,
    led: Arc<Mutex<Vec<Boottime>>>,
    mut ended: watch::Receiver<(usize, End)>,
) {
    let mut number = None;
    loop {
        let now = clock.now();
        let standing = seat.refresh(now).await.expect("a store that answers").standing;
        let wake = match standing {
            Standing::Leading { wake, .. } => {
                let mut led = led.lock().expect("no thread has failed");
                if number.is_none() {
                    led.push(clock.now());
                }
                number.get_or_insert(led.len());
                wake
            }
            Standing::Waiting { wake, .. } => wake,
            Standing::Gone(why) | Standing::Evicted(why) => panic!("{why}"),
        };
        let (so_many, how) = *ended.borrow_and_update();
        if number.is_some_and(|number| number <= so_many) {
            if how == End::Resign {
                seat.resign(None).await.expect("a store that answers");
            }
            return;
        }
        tokio::select! {
            () = wake => {}
            () = clock.until(now + EVERY) => {}
            _ = ended.changed(), if number.is_some() => {}
        }
    }
}

fn run<T>(test: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build().expect("a runtime");
    runtime.block_on(test)
}

#[test]
fn a_thousand_waiters_ask_no_more_than_a_store_bears() {
    run(async {
        let crowd = Crowd::of(1001).await;
        crowd.counts();
        let span = TTL * 24;
        crowd.pass(span).await;
        let Counts { reads, lists, writes, watches, .. } = crowd.counts();
        let each_second = |count: u32| f64::from(count) / span.as_secs_f64();
        let (reads, lists) = (each_second(reads), each_second(lists));
        let (writes, watches) = (each_second(writes), each_second(watches));
        println!(
            "a second: {writes:.1} writes, {reads:.1} reads and {lists:.1} lists, {watches:.1} watches"
        );
        assert!(writes <= 75.0, "{writes}");
        assert!(reads + lists + watches <= 100.0, "{reads} and {lists} and {watches}");
        assert!(lists <= 6.0, "{lists}");
    });
}

#[test]
fn a_thousand_waiters_follow_as_fast_as_two() {
    for how in [End::Resign, End::Die] {
        let of = |size| run(async { Crowd::of(size).await.mean_hand_over(how).await });
        let (two, thousand) = (of(8), of(1001));
        println!("{how:?}: {two:.3} s with some, {thousand:.3} s with a thousand");
        assert!(thousand <= two * 1.5, "{how:?}: {two} and {thousand}");
    }
}

/// Where each notice wakes all, those far behind watch nothing. The queue goes on as fast as it did until those who
/// watch have led, and then as fast as the next ones look.
#[test]
fn where_a_notice_wakes_all_those_far_behind_watch_nothing() {
    run(async {
        let crowd = Crowd::new();
        crowd.fake.with(|inner| inner.illness = Some(Illness::WakesAll));
        let crowd = crowd.filled(201).await;
        let watches = crowd.fake.with(|inner| inner.watches());
        assert!(watches <= 70, "{watches} watches");
        assert!(crowd.counts().hushes > 200, "some still listen");
        let (mut quick, mut slow) = (Duration::ZERO, Duration::ZERO);
        for number in 0..150 {
            let took = crowd.hand_over(End::Resign).await;
            let longest = if number < 30 { &mut quick } else { &mut slow };
            *longest = took.max(*longest);
        }
        println!("{watches} watches; at most {quick:?}, and later {slow:?}");
        assert!(quick < Duration::from_millis(100), "{quick:?}");
        assert!(slow < TTL, "{slow:?}");
    });
}

/// They do not know yet whether those before them live.
#[test]
fn where_a_notice_wakes_all_newcomers_far_behind_watch_nothing() {
    run(async {
        let crowd = Crowd::new();
        crowd.fake.with(|inner| inner.illness = Some(Illness::WakesAll));
        let mut most = 0;
        for number in 0..400 {
            if number < 201 {
                crowd.join(number..number + 1).await;
            }
            crowd.pass(TTL / 300).await;
            most = most.max(crowd.fake.with(|inner| inner.watches()));
        }
        assert!(most <= 70, "{most} watches");
        assert_eq!(crowd.led(), 1);
    });
}

/// A leader that resigns makes a few candidates look, and not the whole crowd.
#[test]
fn no_herd_follows_a_leader_that_resigns() {
    run(async {
        let crowd = Crowd::of(1001).await;
        crowd.counts();
        crowd.pass(Duration::from_secs(1)).await;
        let before = crowd.counts();
        crowd.hand_over(End::Resign).await;
        crowd.pass(Duration::from_secs(1)).await;
        let after = crowd.counts();
        println!("in a second {before:?}; with a hand-over {after:?}");
        assert!(after.lists <= before.lists + 20, "{before:?}, {after:?}");
        assert!(after.writes + after.reads <= 300, "{after:?}");
    });
}

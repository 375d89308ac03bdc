//! A crowd that waits in a table which tells of no change.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use elect_api::{Candidate, Seat, Standing, Store};
use elect_record::RecordStore;
use elect_record::table::TableDocuments;
use elect_testkit::election;
use elect_testkit::sim::{Clock, TokioClock};
use tokio::sync::watch;

use crate::bench::Stallable;
use crate::layer::run;

/// Takes part as the engine does. Of the leaders so far, as many as `ended` says resign, and wait again.
async fn take_part(
    mut seat: Box<dyn Seat>,
    ttl: Duration,
    clock: Arc<TokioClock>,
    led: Arc<AtomicU64>,
    mut ended: watch::Receiver<u64>,
) {
    let mut number = None;
    loop {
        let begun = clock.now();
        let standing = seat.refresh(begun).await.expect("a table that answers").standing;
        let wake = match standing {
            Standing::Leading { wake, .. } => {
                number.get_or_insert_with(|| led.fetch_add(1, Ordering::Relaxed));
                wake
            }
            Standing::Waiting { wake, .. } => wake,
            Standing::Gone(why) | Standing::Evicted(why) => panic!("{why}"),
        };
        if number.is_some_and(|number| number < *ended.borrow_and_update()) {
            seat.resign(None).await.expect("a table that answers");
            number = None;
        }
        tokio::select! {
            () = wake => {}
            () = clock.until(begun + ttl / 6) => {}
            _ = ended.changed(), if number.is_some() => {}
        }
    }
}

/// The reads of rows in a second among this many candidates, and the longest of ten hand-overs.
async fn measured(table: Stallable, size: usize, ttl: Duration) -> (f64, Duration) {
    let (clock, led) = (Arc::new(TokioClock::default()), Arc::new(AtomicU64::new(0)));
    let ended = watch::Sender::new(0);
    for number in 0..size {
        let store = RecordStore::new(TableDocuments::new(table.clone()));
        let candidate = Candidate::foreign(format!("c{number}"));
        let seat = store.open(&election(), &candidate, ttl).await.expect("a seat");
        let (clock, led) = (Arc::clone(&clock), Arc::clone(&led));
        tokio::spawn(take_part(seat, ttl, clock, led, ended.subscribe()));
    }
    let pass = async |span| clock.until(clock.now() + span).await;
    pass(ttl * 6).await;
    let before = table.reads.load(Ordering::Relaxed);
    pass(ttl * 4).await;
    let reads = table.reads.load(Ordering::Relaxed) - before;
    let mut longest = Duration::ZERO;
    for number in 1..=10 {
        pass(ttl.mul_f64(1.37)).await;
        let now = clock.now();
        ended.send_replace(number);
        while led.load(Ordering::Relaxed) == number {
            pass(Duration::from_millis(5)).await;
        }
        longest = longest.max(clock.now().since(now));
    }
    #[expect(clippy::cast_precision_loss, reason = "there are few")]
    let each_second = reads as f64 / (ttl * 4).as_secs_f64();
    (each_second, longest)
}

/// With pauses of 4 s a hand-over of a long lease takes 4 s.
#[test]
fn those_far_behind_do_not_poll_and_a_hand_over_takes_a_second() {
    for ttl in [15, 60].map(Duration::from_secs) {
        // No wake comes from it.
        let table = || Stallable { is_mute: true, ..Stallable::default() };
        let (reads, longest) = run(async { measured(table(), 101, ttl).await });
        let (_, of_few) = run(async { measured(table(), 3, ttl).await });
        println!("ttl {ttl:?}: {reads:.1} reads a second; at most {longest:?}, and {of_few:?}");
        // If all polled, it would be more than one a second for each.
        assert!(reads < 90.0, "{reads}");
        assert!(longest.max(of_few) <= Duration::from_secs(1), "{longest:?}, {of_few:?}");
    }
}

/// Each that waits for the leader to leave may cost the store a connection.
#[test]
fn one_of_a_crowd_waits_for_the_leader_to_leave_and_leads_at_once() {
    for ttl in [15, 60].map(Duration::from_secs) {
        let left = Some(watch::Sender::default());
        let table = Stallable { is_mute: true, left, ..Stallable::default() };
        let (_, longest) = run(async { measured(table.clone(), 41, ttl).await });
        let most = table.most_waited.load(Ordering::Relaxed);
        println!("ttl {ttl:?}: {most} waited at once; at most {longest:?}");
        assert!(most <= 2, "{most} waited at once");
        assert!(longest < Duration::from_millis(250), "{longest:?}");
    }
}

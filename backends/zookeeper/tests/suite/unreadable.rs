//! Tests of answers that no sound server gives, and at which the client library panics.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, exit};
use std::{env, fs};

use elect_api::{Cell, Durability, Refreshed, Seat, Standing};
use elect_testkit::fault::{Frames, Garbling, Mode, Spoil};
use elect_testkit::run;

use crate::common::{TTL, now};
use crate::stage::ProxiedSeat;
use crate::support::{attempt, lead, lead_in_time, seat};

/// Long enough for each answer's header, and too short for a node's data or state.
const SHORT: usize = 20;
/// The number of times that the library may panic, at most.
const LIVES: usize = 32;

/// The number of library threads so far: each panic adds one.
fn threads() -> usize {
    let tasks = fs::read_dir("/proc/self/task").expect("procfs").filter_map(Result::ok);
    let names = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|name| name.trim_end() == "zookeeper").count()
}

impl ProxiedSeat {
    /// Makes the library panic over an answer to this seat, or to the stage's own.
    async fn stumble(&mut self, other: Option<&mut Box<dyn Seat>>) -> String {
        let spoil = Spoil::Short(SHORT);
        self.proxy.replies(Mode::Garble(Garbling { frames: Frames::Lengths, spoil }));
        let seat = other.unwrap_or(&mut self.seat);
        let cell = seat.read(now(), Cell::History).await;
        let error = cell.err().expect("an answer that cannot be read");
        assert!(!error.is_permanent(), "{error}");
        self.heal();
        std::error::Error::source(&error).map_or_else(String::new, ToString::to_string)
    }
}

/// Runs the test of this name in a separate process, and ends that. A thread that stands still in a panic keeps a lock
/// that the harness takes at its end.
#[expect(clippy::disallowed_methods, reason = "the harness would not come to its end")]
fn run_alone(name: &str, test: impl Future<Output = ()>) {
    const ALONE: &str = "ELECT_TEST_ALONE";
    if env::var_os(ALONE).is_some() {
        exit(i32::from(catch_unwind(AssertUnwindSafe(|| run(name, test))).is_err()));
    }
    let mut command = Command::new(env::current_exe().expect("this binary"));
    command.args([&format!("unreadable::{name}"), "--exact", "--nocapture"]).env(ALONE, "1");
    assert!(command.status().expect("this binary").success(), "see above");
}

/// Returns a leader that has written a cell, so that an answer contains it.
async fn leader() -> ProxiedSeat {
    let mut stage = ProxiedSeat::new().await;
    lead_in_time(stage.seat.as_mut(), TTL).await;
    stage.seat.write(now(), Cell::History, b"something", Durability::Usual).await.expect("a cell");
    stage
}

#[test]
fn a_leader_goes_on_in_its_session() {
    run_alone("a_leader_goes_on_in_its_session", async {
        let mut stage = leader().await;
        let before = lead(stage.seat.as_mut()).await;
        for falls in 1..4 {
            stage.stumble(None).await;
            let after = lead_in_time(stage.seat.as_mut(), TTL).await;
            assert_eq!(threads(), 1 + falls);
            assert_eq!(after.token, before.token);
        }
        stage.seat.resign(None).await.expect("a resign");
    });
}

#[test]
fn a_waiter_keeps_its_place_and_is_woken() {
    run_alone("a_waiter_keeps_its_place_and_is_woken", async {
        let mut stage = leader().await;
        let url = format!("zk://{}", stage.proxy.address());
        let mut waiter = seat(&url, "b", TTL).await;
        while !matches!(
            waiter.refresh(now()).await,
            Ok(Refreshed { standing: Standing::Waiting { ahead: 1, .. }, .. })
        ) {}
        stage.stumble(Some(&mut waiter)).await;
        let wake = loop {
            match attempt(waiter.as_mut(), TTL).await {
                Some(Ok(Standing::Waiting { wake, .. })) => break wake,
                Some(Ok(_)) => panic!("another standing"),
                _ => {}
            }
        };
        lead_in_time(stage.seat.as_mut(), TTL).await;
        stage.seat.resign(None).await.expect("a resign");
        wake.await;
        lead_in_time(waiter.as_mut(), TTL).await;
    });
}

#[test]
fn the_last_of_many_times_is_said() {
    run_alone("the_last_of_many_times_is_said", async {
        let mut stage = leader().await;
        for falls in 1..LIVES {
            stage.stumble(None).await;
            lead_in_time(stage.seat.as_mut(), TTL).await;
            assert_eq!(threads(), 1 + falls);
        }
        stage.stumble(None).await;
        let error = stage.seat.refresh(now()).await.err().expect("no answer");
        let why = std::error::Error::source(&error).expect("a cause").to_string();
        assert!(why.contains("start elect again"), "{why}");
        assert_eq!(threads(), LIVES);
    });
}

//! A process that was stopped while it held `enter` delays newcomers only. These tests also count
//! the waiting threads.

use elect_testkit::{Bench, Contender, LineUp, election, line_up, poll_n, run};

use crate::common::hold;
use crate::support::{bench, election_dir};

#[test]
fn a_stopped_newcomer_does_not_stop_entered_candidates() {
    run("a stopped newcomer", async {
        let (bench, disk) = bench();
        let mut line = Contender::in_line(&bench, &["a", "b"]).await;
        let stopped = disk.stall(&election()).await;
        line[0].lead().await;
        line[0].resign().await;
        line[1].lead().await;
        line[1].resign().await;
        drop(stopped);
    });
}

#[test]
fn a_newcomer_enters_as_soon_as_the_door_opens() {
    run("the door", async {
        let (bench, disk) = bench();
        let stopped = disk.stall(&election()).await;
        let mut newcomer = Contender::new(&bench, "a").await;
        // The lock of `enter` is released while the refresh is pending.
        let (_, ()) = tokio::join!(newcomer.lead(), async { drop(stopped) });
    });
}

#[test]
fn a_newcomer_that_gave_up_at_the_door_does_not_keep_it() {
    run("giving up", async {
        let (bench, disk) = bench();
        let stopped = disk.stall(&election()).await;
        let mut impatient = Contender::new(&bench, "impatient").await;
        impatient.refresh_cut(1).await;
        let after_one = threads();
        for _ in 0..20 {
            impatient.refresh_cut(1).await;
        }
        assert_eq!(threads(), after_one, "every attempt leaves a thread at the door");
        drop(stopped);
        let mut next = Contender::new(&bench, "next").await;
        next.wait_until_leading().await;
        assert_eq!(line_up(&bench).await, LineUp::led_by(&["next"]));
        impatient.wait_behind(1).await;
    });
}

#[test]
fn the_refresh_is_pending_while_the_door_is_shut() {
    run("a shut door", async {
        let (bench, disk) = bench();
        std::fs::create_dir_all(election_dir(&disk)).unwrap();
        let stopped = hold(&election_dir(&disk).join("enter"));
        let mut newcomer = Contender::new(&bench, "a").await;
        let now = bench.now();
        assert!(poll_n(1, newcomer.seat().refresh(now)).await.is_none());
        assert_eq!(line_up(&bench).await, LineUp::without_leader(&[]));
        drop(stopped);
        newcomer.wait_until_leading().await;
    });
}

#[test]
fn a_waiter_has_one_thread_however_often_it_asks() {
    run("threads", async {
        let (bench, _) = bench();
        let alone = threads();
        let mut line = Contender::in_line(&bench, &["a", "b"]).await;
        for _ in 0..20 {
            line[1].wait_behind(1).await;
        }
        assert_eq!(threads(), alone + 1);
        line[0].resign().await;
        line[1].lead().await;
    });
}

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").expect("/proc is mounted").count()
}

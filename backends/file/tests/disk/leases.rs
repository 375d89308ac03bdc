//! The lease is as long as its descriptors live, and says so when somebody deletes it by hand.

use std::fs;
use std::os::fd::OwnedFd;

use elect_api::{NoteName, Standing};
use elect_testkit::{Bench, Contender, LineUp, election, line_up, note, poll_n, run};
use nix::errno::Errno;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};

use crate::support::{bench, hall};

async fn copies(contender: &mut Contender) -> Vec<OwnedFd> {
    contender.lead().await;
    let holds = contender.seat().holds();
    holds.iter().map(|fd| fd.try_clone_to_owned().expect("a copy")).collect()
}

#[test]
fn the_lease_outlives_a_crash_as_long_as_the_tree_holds_it() {
    run("a crash", async {
        let (bench, _) = bench();
        let mut line = Contender::in_line(&bench, &["a", "b"]).await;
        let mut wake = line[1].sleep_behind(1).await;
        let tree = copies(&mut line[0]).await;
        line.remove(0).crash().await;
        assert!(poll_n(1, &mut wake).await.is_none(), "the next one woke up beside a living tree");
        line[0].wait_behind(1).await;
        assert_eq!(line_up(&bench).await, LineUp::led_by(&["a", "b"]));
        drop(tree);
        wake.await;
        line[0].lead().await;
    });
}

#[test]
fn an_escaped_copy_of_the_lock_alone_still_holds_the_lease() {
    run("an escaper", async {
        let (bench, _) = bench();
        let mut line = Contender::in_line(&bench, &["a", "b"]).await;
        let mut tree = copies(&mut line[0]).await;
        tree.truncate(1);
        line[0].resign().await;
        let wake = line[1].sleep_behind(1).await;
        assert_eq!(line_up(&bench).await, LineUp::without_leader(&["b"]));
        drop(tree);
        wake.await;
        line[1].lead().await;
    });
}

#[test]
fn a_leader_without_its_entry_is_evicted_and_still_alone() {
    run("evicted", async {
        let (bench, disk) = bench();
        let mut leader = Contender::new(&bench, "a").await;
        leader.lead().await;
        disk.evict(&election(), leader.candidate()).await;
        let mut newcomer = Contender::new(&bench, "b").await;
        let wake = newcomer.sleep_behind(1).await;
        assert!(matches!(leader.refresh().await, Standing::Evicted(why) if why.contains("queue")));
        leader.resign().await;
        wake.await;
        newcomer.lead().await;
    });
}

#[test]
fn a_leader_without_its_lock_is_gone() {
    run("gone", async {
        for moved in [false, true] {
            let (bench, disk) = bench();
            let mut leader = Contender::new(&bench, "a").await;
            let token = leader.lead().await;
            if moved {
                fs::rename(hall(&disk), disk.root().join("elsewhere")).unwrap();
            } else {
                fs::remove_dir_all(hall(&disk)).unwrap();
            }
            assert!(matches!(leader.refresh().await, Standing::Gone(why) if why.contains("lock")));
            let mut usurper = Contender::new(&bench, "b").await;
            assert!(usurper.lead().await > token);
            assert!(matches!(leader.refresh().await, Standing::Gone(_)));
            leader.resign().await;
            usurper.lead().await;
            leader.wait_behind(1).await;
        }
    });
}

#[test]
fn waiters_of_a_wiped_election_enter_it_anew() {
    run("wiped", async {
        let (bench, disk) = bench();
        let mut line = Contender::in_line(&bench, &["a", "b", "c"]).await;
        fs::remove_dir_all(hall(&disk)).unwrap();
        line[0].resign().await;
        line[2].lead().await;
        line[1].wait_behind(1).await;
        assert_eq!(line_up(&bench).await, LineUp::led_by(&["c", "b"]));
    });
}

#[test]
fn looking_creates_nothing() {
    run("looking", async {
        let (bench, disk) = bench();
        let store = bench.connect().await;
        store.survey(&election()).await.unwrap();
        store.elections().await.unwrap();
        assert!(!disk.root().exists());
        assert_eq!(store.profile().location, format!("file://{}", disk.root().display()));
    });
}

/// Many look out for orders: all would wake up at once, when the next one in the queue is to lead.
#[test]
fn whoever_looks_out_for_orders_sleeps_through_a_change_of_leaders() {
    run("look-outs", async {
        let (bench, disk) = bench();
        let mut line = Contender::in_line(&bench, &["a", "b", "c"]).await;
        line[0].resign_with("the first word makes a file").await;
        line[1].lead().await;
        let look_out = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK).unwrap();
        let renamed =
            AddWatchFlags::IN_MOVED_TO | AddWatchFlags::IN_DELETE | AddWatchFlags::IN_CREATE;
        look_out.add_watch(&hall(&disk), renamed).unwrap();
        line[1].resign_with("the second one").await;
        line[2].lead().await;
        assert_eq!(note(&bench, NoteName::HISTORY).await.as_deref(), Some("the second one"));
        line[2].resign().await;
        assert_eq!(look_out.read_events().err(), Some(Errno::EAGAIN));
    });
}

//! The lease lives as long as its descriptors, and is reported as lost if a person deletes its files.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use elect_api::{Cell, Scope, Standing};
use elect_testkit::{Bench, Contender, LineUp, cell, election, line_up, poll_n, run};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};

use crate::support::{bench, connect, election_dir, lead, seat};

const CHANGES: usize = 1000;

fn copies(fds: &[BorrowedFd<'_>]) -> Vec<OwnedFd> {
    fds.iter().map(|fd| fd.try_clone_to_owned().expect("a copy")).collect()
}

/// The descriptors that a leader's guardian has.
async fn guardian_of(contender: &mut Contender) -> Vec<OwnedFd> {
    contender.lead().await;
    let holds = contender.seat().holds();
    [copies(&holds.locks), copies(&holds.marks)].into_iter().flatten().collect()
}

/// The descriptors that a leader's command has.
async fn tree_of(contender: &mut Contender) -> Vec<OwnedFd> {
    contender.lead().await;
    copies(&contender.seat().holds().marks)
}

#[test]
fn the_lease_outlives_a_crash_as_long_as_the_guardian_holds_it() {
    run("a crash", async {
        let (bench, _) = bench();
        let mut line = Contender::in_line(&bench, &["a", "b"]).await;
        let mut wake = line[1].sleep_behind(1).await;
        let guardian = guardian_of(&mut line[0]).await;
        line.remove(0).crash().await;
        assert!(poll_n(1, &mut wake).await.is_none(), "the next one woke up beside a living tree");
        line[0].wait_behind(1).await;
        assert_eq!(line_up(&bench).await, LineUp::led_by(&["a", "b"]));
        drop(guardian);
        wake.await;
        line[0].lead().await;
    });
}

/// The kernel promises no order in which it closes the descriptors of a dead guardian.
#[test]
fn the_lease_ends_with_the_last_descriptor_in_whichever_order_they_go() {
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        run("an order", async {
            let (bench, _) = bench();
            let mut line = Contender::in_line(&bench, &["a", "b"]).await;
            let mut guardian =
                guardian_of(&mut line[0]).await.into_iter().map(Some).collect::<Vec<_>>();
            assert_eq!(guardian.len(), order.len());
            line.remove(0).crash().await;
            for place in order {
                line[0].wait_behind(1).await;
                guardian[place] = None;
            }
            line[0].wait_until_leading().await;
        });
    }
}

/// This also holds if several threads sleep on the mark, and come one after another.
#[test]
fn no_candidate_leads_beside_a_tree_that_outlived_its_guardian() {
    run("an orphan", async {
        let (bench, _) = bench();
        let mut line = Contender::in_line(&bench, &["a", "b"]).await;
        let wake = line[1].sleep_behind(1).await;
        let tree = tree_of(&mut line[0]).await;
        line.remove(0).crash().await;
        wake.await;
        let wakes = [line[0].sleep_behind(1).await, line[0].sleep_behind(1).await];
        assert_eq!(line_up(&bench).await, LineUp::led_by(&["a", "b"]));
        let survey = bench.connect().await.survey(&election()).await.expect("a survey");
        let leader = survey.leader.expect("a leader").entry;
        assert_eq!(leader.outlived_by, Some(vec![std::process::id()]));
        drop(tree);
        for wake in wakes {
            wake.await;
        }
        line[0].lead().await;
    });
}

/// At no instant does a win or a resignation look as if a tree had outlived its guardian.
#[test]
fn surveys_during_changes_of_leader_see_no_orphan() {
    let (_bench, disk) = bench();
    let root = election_dir(&disk).parent().expect("a root").to_owned();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            run("changes", async {
                let mut seat = seat(&root).await;
                for _ in 0..CHANGES {
                    lead(seat.as_mut()).await.expect("it leads");
                    seat.resign(None).await.expect("it resigns");
                }
            });
            is_over.store(true, Ordering::Relaxed);
        });
        run("looks", async {
            let store = connect(&root);
            let mut led = 0;
            while !is_over.load(Ordering::Relaxed) {
                let survey = store.survey(&election()).await.expect("a survey");
                if let Some(leader) = survey.leader {
                    let orphans = leader.entry.outlived_by;
                    assert_eq!(orphans, None, "after {led} looks at leaders");
                    led += 1;
                }
            }
            assert!(led > 0, "it saw none that leads");
        });
    });
}

#[test]
fn an_escaped_copy_of_the_mark_still_holds_the_lease() {
    run("an escaper", async {
        let (bench, _) = bench();
        let mut line = Contender::in_line(&bench, &["a", "b"]).await;
        let tree = tree_of(&mut line[0]).await;
        line[0].resign().await;
        let wake = line[1].sleep_behind(1).await;
        assert_eq!(line_up(&bench).await, LineUp::led_by(&["a", "b"]));
        drop(tree);
        wake.await;
        line[1].lead().await;
    });
}

#[test]
fn a_commands_descriptors_can_neither_unlock_nor_write() {
    run("a command", async {
        let (bench, disk) = bench();
        let mut leader = Contender::new(&bench, "a").await;
        let tree = tree_of(&mut leader).await;
        let said = fs::read(election_dir(&disk).join("tree")).expect("whose it is");
        for fd in tree {
            let mut file = File::from(fd);
            assert!(file.write_all(b"x").is_err() && file.set_len(0).is_err());
            let unlock = nix::libc::flock {
                l_type: nix::libc::F_UNLCK.try_into().expect("small"),
                l_whence: 0,
                l_start: 0,
                l_len: 0,
                l_pid: 0,
            };
            fcntl(&file, FcntlArg::F_OFD_SETLK(&unlock)).expect("unlocked");
        }
        assert_eq!(fs::read(election_dir(&disk).join("tree")).expect("whose it is"), said);
        let mut newcomer = Contender::new(&bench, "b").await;
        newcomer.wait_behind(1).await;
        assert_eq!(line_up(&bench).await, LineUp::led_by(&["a", "b"]));
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
                fs::rename(election_dir(&disk), disk.root().join("elsewhere")).unwrap();
            } else {
                fs::remove_dir_all(election_dir(&disk)).unwrap();
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
        fs::remove_dir_all(election_dir(&disk)).unwrap();
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
        store.list(Scope::Entered).await.unwrap();
        assert!(!disk.root().exists());
        assert_eq!(store.profile().location, format!("file://{}", disk.root().display()));
    });
}

/// Many processes watch the control cell. They would all wake at the moment when the next candidate is about
/// to lead.
#[test]
fn a_watch_of_the_control_cell_sleeps_through_a_change_of_leaders() {
    run("look-outs", async {
        let (bench, disk) = bench();
        let mut line = Contender::in_line(&bench, &["a", "b", "c"]).await;
        line[0].resign_with("the first word makes a file").await;
        line[1].lead().await;
        let look_out = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK).unwrap();
        let renamed =
            AddWatchFlags::IN_MOVED_TO | AddWatchFlags::IN_DELETE | AddWatchFlags::IN_CREATE;
        look_out.add_watch(&election_dir(&disk), renamed).unwrap();
        line[1].resign_with("the second one").await;
        line[2].lead().await;
        assert_eq!(cell(&bench, Cell::History).await.as_deref(), Some("the second one"));
        line[2].resign().await;
        assert_eq!(look_out.read_events().err(), Some(Errno::EAGAIN));
    });
}

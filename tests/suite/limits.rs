//! Descriptors and processes that run out: success or a clear error, never a hang or a remainder.

use std::fs;

use elect_testkit::fault::Limits;
use elect_testkit::program::{Elect, Ended, eventually, is_alive};
use elect_testkit::sim::{Kind, Options, SimServer};
use tempfile::TempDir;

use crate::support::Ground;
use crate::usage::as_nobody;

/// What must be true whatever ran out. Returns whether the command ran.
#[track_caller]
fn in_order(what: &str, ended: &Ended) -> bool {
    assert!(!ended.stderr.contains("panicked"), "{what}: {ended:?}");
    match ended.code() {
        0 => assert_eq!(ended.stdout, "ran\n", "{what}: {ended:?}"),
        125 => {
            assert_eq!(ended.stdout, "", "{what}: {ended:?}");
            let last = ended.stderr.lines().last().unwrap_or_default();
            // The latter where a slow attempt was still under way when the time was over.
            let clear =
                ["elect: error: cannot ", "elect: error: the store was not reached in time"];
            assert!(clear.iter().any(|text| last.starts_with(text)), "{what}: {ended:?}");
        }
        // Too little even for the C library or for the command to be loaded: not elect's word.
        127 => assert!(!ended.stderr.starts_with("elect:"), "{what}: {ended:?}"),
        code => panic!("{what}: exit {code}: {ended:?}"),
    }
    ended.code() == 0
}

#[test]
fn descriptors_run_out() {
    // Side by side, each in its own place: what may be over soon is tried again for a while.
    let runs: Vec<_> = (3..40)
        // From 100 on are the numbers that elect prefers for what it keeps.
        .chain(98..112)
        .map(|limit| {
            let ground = Ground::new();
            let limits = Limits::new().descriptors(limit);
            // A busy machine must not keep those who have enough from winning.
            let elect = ground.job().args(["-n", "sh", "-c", "echo ran"]).under(limits);
            (limit, elect.spawn(), ground)
        })
        .collect();
    let mut ran = Vec::new();
    for (limit, elect, ground) in runs {
        if in_order(&format!("{limit} descriptors"), &elect.wait()) {
            ran.push(limit);
        }
        assert!(ground.queue().is_empty(), "an entry is left with {limit} descriptors");
    }
    assert!((30..40).chain(98..112).all(|limit| ran.contains(&limit)), "ran with: {ran:?}");
}

#[test]
fn descriptors_run_out_under_a_waiter() {
    let ground = Ground::new();
    let leader = ground.leader();
    let mut waiters = Vec::new();
    for limit in (3..64).step_by(4) {
        let limits = Limits::new().descriptors(limit);
        let waiter = ground.job().args(["-w", "20ms", "sh", "-c", "echo ran"]).under(limits);
        waiters.push((limit, waiter.spawn()));
    }
    for (limit, waiter) in waiters {
        let ended = waiter.wait();
        assert!(!ended.stderr.contains("panicked"), "{ended:?}");
        assert!(matches!(ended.code(), 75 | 125 | 127), "{limit} descriptors: {ended:?}");
    }
    assert_eq!(ground.queue().len(), 1, "the leader's entry");
    drop(leader);
}

#[test]
fn processes_run_out() {
    let user = as_nobody();
    let folder = TempDir::new().unwrap();
    std::os::unix::fs::chown(folder.path(), Some(user.id), Some(user.id)).unwrap();
    let url = format!("file://{}", folder.path().join("state").display());
    let mut ran = false;
    for limit in 0..=6 {
        let elect = user.elect().args(["run", "-n", "-e", "job", "-b", &url]);
        let ended = elect.sh("echo ran").under(Limits::new().processes(limit)).run();
        ran = in_order(&format!("{limit} processes"), &ended);
        let queue = folder.path().join("state/job/queue");
        assert_eq!(fs::read_dir(queue).into_iter().flatten().count(), 0, "with {limit} processes");
        user.has_no_process_of("elect");
    }
    assert!(ran, "six processes are plenty");
}

/// The timer that kills the guardian takes one, where leases end by time.
#[test]
fn signals_run_out() {
    let server = SimServer::start(&Options::new(Kind::Queue));
    let run = |url: &str| {
        let elect =
            Elect::new(env!("CARGO_BIN_EXE_elect")).args(["run", "-n", "-e", "job", "-b", url]);
        elect.sh("echo ran").under(["prlimit", "--sigpending=0"]).run()
    };
    run(&server.url()).exits(125).prints("").says("cannot set a timer that kills");
    let ground = Ground::new();
    run(&format!("file://{}", ground.state().display())).exits(0).prints("ran\n");
}

#[test]
fn nothing_is_left_of_a_run() {
    let ground = Ground::new();
    let temporary = TempDir::new().unwrap();
    let mut elect = ground.job().env("TMPDIR", temporary.path()).sh(crate::usage::STAY).spawn();
    let (wrapper, guardian) = (elect.pid(), elect.guardian());
    let command: i32 = ground.said("started").parse().unwrap();
    elect.signal(nix::sys::signal::Signal::SIGTERM);
    elect.wait().exits(143);
    for pid in [wrapper, guardian, command] {
        eventually("the end of all processes", || (!is_alive(pid)).then_some(()));
    }
    assert!(fs::read_dir(temporary.path()).unwrap().next().is_none());
    let mut left: Vec<_> = fs::read_dir(ground.state().join("job"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["enter", "lock", "note-history", "queue", "token", "tree"]);
}

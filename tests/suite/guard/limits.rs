//! Descriptors and processes that run out: success or a clear error, never a hang or a remainder.

use elect_testkit::fault::Limits;
use elect_testkit::program::is_alive;
use elect_testkit::sim::{Kind, Options, SimServer};

use crate::prelude::*;
use crate::usage::other_user;

/// Asserts what must be true when any limit was reached. Returns true if the command ran.
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
    let weaker = "/proc does not list";
    assert!(!ended.stderr.contains(weaker), "{what} is no reason to hold less: {ended:?}");
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
    let user = other_user();
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
        let elect = Elect::new(ELECT).args(["run", "-n", "-e", "job", "-b", url]);
        elect.sh("echo ran").under(["prlimit", "--sigpending=0"]).run()
    };
    run(&server.url()).exits(125).prints("").says("cannot set a timer that kills");
    let ground = Ground::new();
    run(&format!("file://{}", ground.state().display())).exits(0).prints("ran\n");
}

/// Soft limits that elect lifts for itself, some by a right that not all have, with hard ones.
const LIFTED: [&str; 12] = [
    "prlimit",
    "--nofile=60:4000",
    "--nproc=5000:9000",
    "--sigpending=100:5000",
    "--as=40000000000:80000000000",
    "--data=40000000000:80000000000",
    "--memlock=4096:8192",
    "--fsize=1000000:2000000",
    "--cpu=50:100",
    "--rttime=50000:unlimited",
    "--core=4096:8192",
    "--stack=65536:8388608",
];
/// Fails once.
const TWICE: &str =
    "cat /proc/self/limits; [ -e \"$D/once\" ] && rm \"$D/once\" || { : >\"$D/once\"; exit 7; }";
const WITHOUT_RESOURCES: [&str; 6] =
    ["setpriv", "--bounding-set", "-sys_resource", "--inh-caps", "-sys_resource", "--"];

#[test]
fn commands_have_the_limits_that_elect_was_started_with() {
    let plain = Elect::new("cat").arg("/proc/self/limits").under(LIFTED).run().exits(0).stdout;
    for user in [None, Some(other_user())] {
        let folder = TempDir::new().unwrap();
        let id = user.as_ref().map(|user| user.id);
        std::os::unix::fs::chown(folder.path(), id, id).unwrap();
        let elect = match &user {
            Some(user) => user.elect(),
            None => Elect::new(ELECT),
        };
        let url = format!("file://{}", folder.path().join("state").display());
        for containment in ["scan", "group"] {
            let run = elect.clone().args(["run", "-b", &url, "-e", "job"]);
            let run = run.args(["--containment", containment, "--restart", "on-failure"]);
            let run = run.args(["--restart-delay", "10ms"]).env("D", folder.path());
            let ended = run.sh(TWICE).under(LIFTED).run().exits(0);
            assert_eq!(ended.stdout, plain.repeat(2), "{containment}, {id:?}");
        }
    }
}

#[test]
fn elect_lifts_its_own_soft_limits() {
    let ground = Ground::new();
    let mut elect = ground.job().sh(crate::usage::STAY).under(LIFTED).spawn();
    ground.said("started");
    for pid in [elect.pid(), elect.guardian()] {
        let text = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
        let soft_and_hard = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)).expect("a limit");
            let words: Vec<&str> = line.split_whitespace().take(2).collect();
            (words[0].to_owned(), words[1].to_owned())
        };
        for name in [
            "Max open files",
            "Max processes",
            "Max pending signals",
            "Max address space",
            "Max data size",
            "Max locked memory",
            "Max file size",
            "Max stack size",
            "Max cpu time",
            "Max realtime timeout",
        ] {
            let (soft, hard) = soft_and_hard(name);
            assert_eq!(soft, hard, "{name} of {pid}");
        }
    }
    elect.ended_by(Signal::SIGTERM).exits(143);
}

#[test]
fn elect_and_its_guardian_and_the_command_share_an_oom_score() {
    let ground = Ground::new();
    let elect = ground.job().sh(crate::usage::STAY).under(["choom", "-n", "300", "--"]);
    let mut elect = elect.spawn();
    let command = ground.said("started").parse().unwrap();
    for pid in [elect.pid(), elect.guardian(), command] {
        let score = fs::read_to_string(format!("/proc/{pid}/oom_score_adj")).unwrap();
        assert_eq!(score, "300\n");
    }
}

/// The kernel would kill a guardian that kills for long.
#[test]
fn too_little_time_is_refused_where_it_cannot_be_lifted() {
    let ground = Ground::new();
    let run = |limits: &[&str]| {
        let elect = ground.job().sh("echo ran").under(WITHOUT_RESOURCES);
        elect.under(limits).run()
    };
    run(&["prlimit", "--cpu=1"]).exits(125).prints("").says("ulimit -Ht").says("ulimit -St");
    run(&["prlimit", "--cpu=1:5"]).exits(0).prints("ran\n");
    let real_time = ["chrt", "-f", "5", "prlimit", "--rttime=20000"];
    run(&real_time).exits(125).prints("").says("LimitRTTIME=").says("ordinary priority");
    run(&["chrt", "-f", "5", "prlimit", "--rttime=20000:unlimited"]).exits(0).prints("ran\n");
    run(&real_time[3..]).exits(0).prints("ran\n");
}

/// Also where what it says goes to a file.
#[test]
fn files_that_may_not_grow_do_not_end_elect_by_a_signal() {
    let ground = Ground::new();
    let to_a_file = ["sh", "-c", "exec \"$@\" >\"$D/said\" 2>&1", "sh"];
    for words in [vec!["run"], vec!["run", "-e", "job", "true"], vec!["help", "run"]] {
        let elect = Elect::new(ELECT).args(words.iter()).env("D", ground.path()).under(to_a_file);
        elect.under(Limits::new().file_size(0)).run().exits(125);
    }
}

#[test]
fn nothing_is_left_of_a_run() {
    let ground = Ground::new();
    let temporary = TempDir::new().unwrap();
    let mut elect = ground.job().env("TMPDIR", temporary.path()).sh(crate::usage::STAY).spawn();
    let (wrapper, guardian) = (elect.pid(), elect.guardian());
    let command: i32 = ground.said("started").parse().unwrap();
    elect.ended_by(Signal::SIGTERM).exits(143);
    for pid in [wrapper, guardian, command] {
        eventually("the end of all processes", || (!is_alive(pid)).then_some(()));
    }
    assert!(fs::read_dir(temporary.path()).unwrap().next().is_none());
    let mut left: Vec<_> = fs::read_dir(ground.state().join("job"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["enter", "lock", "note-history", "queue", "spare", "token", "tree"]);
}

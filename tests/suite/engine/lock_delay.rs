//! `--lock-delay`, on each store: the successor of a leader that was cut short waits, and the successor of a clean end
//! does not.

use std::os::unix::fs::symlink;

use crate::cli::manual;
use crate::cli::see::{Arena, Ground, on_each_cluster, on_each_store};
use crate::prelude::*;
use crate::stage::{send, send_if_alive};
use crate::support::unstartable;

on_each_store! {
    a_clean_end_is_not_waited_for
    a_leader_that_was_cut_short_is
    a_delayed_leader_counts_as_leader_and_leaves_the_delay_to_the_next
    kills_at_any_moment_are_followed_by_the_wait
}

/// Longer than any test.
const NEVER: &str = "1h";
const DELAY: Duration = Duration::from_secs(1);
/// The clock that commands read shows hundredths of a second.
const HUNDREDTH: Duration = Duration::from_millis(10);

/// Leaves word of when it started.
const BRIEF: &str = "read up rest </proc/uptime; echo \"$up\" >>\"$RECORD.starts\"";

/// The same, and kills the wrapper with its first breath.
const DEADLY: &str = "read up rest </proc/uptime; echo \"$up\" >>\"$RECORD.starts\"
    read -r stat </proc/$PPID/stat; set -- ${stat##*) }; kill -9 \"$2\"; exec sleep 3600";

fn delaying(arena: &Arena, delay: &str) -> Elect {
    // A test that waits for the end of no lease has a long one.
    let ttl = if delay == NEVER { "15s" } else { "5s" };
    let timed = if arena.url().starts_with("file:") { &[][..] } else { &["--ttl", ttl] };
    let run = arena.elect("run").args(["-v", "-e", "job", "--lock-delay", delay]).args(timed);
    run.env("RECORD", arena.path("record"))
}

/// When commands started, in order.
fn starts(arena: &Arena) -> Vec<Boottime> {
    let text = fs::read_to_string(arena.path("record.starts")).unwrap_or_default();
    let at =
        |line: &str| Boottime::from_boot(Duration::from_secs_f64(line.parse().expect("seconds")));
    text.lines().map(at).collect()
}

/// Runs a command whose start is held back for the delay, counted from `since` at the earliest.
#[track_caller]
fn starts_late(arena: &Arena, since: Boottime) {
    let told = delaying(arena, "1s").sh(BRIEF).run().exits(0).says("starting nothing");
    let start = *starts(arena).last().expect("a start");
    assert!(start + HUNDREDTH >= since + DELAY, "{start:?} after {since:?}: {told:?}");
}

fn a_clean_end_is_not_waited_for(arena: &Arena) {
    for script in ["true", "exit 3", BRIEF] {
        let told = delaying(arena, NEVER).sh(script).run();
        assert!(!told.stderr.contains("starting nothing"), "{told:?}");
    }
    let told_to_end = delaying(arena, NEVER).sh(&format!("{BRIEF}; exec sleep 3600")).spawn();
    eventually("a start", || (starts(arena).len() == 2).then_some(()));
    let next = arena.candidate_with("next", 15, |run| run.args(["--lock-delay", NEVER]));
    arena.wait_for_waiter("next");
    told_to_end.ended_by(Signal::SIGTERM).exits(143);
    arena.wait_for_leader("next");
    arena.elect("resign").arg("job").run().exits(0);
    next.wait().exits(124);
    let script = unstartable(&arena.path(""), "/no/such");
    delaying(arena, NEVER).arg(script).run().exits(127);
    delaying(arena, NEVER).sh(BRIEF).run().exits(0);
}

fn a_leader_that_was_cut_short_is(arena: &Arena) {
    let crashes: [fn(i32, i32); 3] = [
        |wrapper, _| send(wrapper, Signal::SIGKILL),
        |_, guardian| send(guardian, Signal::SIGKILL),
        |wrapper, guardian| {
            send(wrapper, Signal::SIGKILL);
            send_if_alive(guardian, Signal::SIGKILL);
        },
    ];
    for crash in crashes {
        let count = starts(arena).len();
        let script = format!("{BRIEF}; exec sleep 3600");
        let mut leader = delaying(arena, "1s").sh(&script).spawn();
        eventually("a start", || (starts(arena).len() > count).then_some(()));
        let (wrapper, guardian, since) = (leader.pid(), leader.guardian(), now());
        crash(wrapper, guardian);
        leader.wait();
        starts_late(arena, since);
    }
    // A leader is killed before any candidate could have noticed that it runs.
    let since = now();
    delaying(arena, "1s").sh(DEADLY).run().exits(137);
    starts_late(arena, since);
    // A command that was killed had no chance to finish its work, even if other processes live on.
    let since = now();
    delaying(arena, "1s").sh("kill -9 $$").run().exits(137);
    starts_late(arena, since);
    delaying(arena, NEVER).sh(BRIEF).run().exits(0);
}

fn a_delayed_leader_counts_as_leader_and_leaves_the_delay_to_the_next(arena: &Arena) {
    delaying(arena, NEVER).sh("kill -9 $$").run().exits(137);
    for label in ["one", "two"] {
        let run = |run: Elect| run.args(["-n", "-v", "--lock-delay", NEVER]);
        let held_back = arena.candidate_with(label, 5, run);
        eventually("a leader that starts nothing", || {
            let leader = arena.status()["leader"]["id"].as_str()?.to_owned();
            leader.starts_with(label).then_some(())
        });
        // A run that does not wait for leadership is refused, and the lease outlasts its length.
        delaying(arena, NEVER).args(["-n", "true"]).run().exits(75);
        held_back.ended_by(Signal::SIGTERM).exits(143).says("starting nothing");
    }
    assert_eq!(arena.record(), []);
    starts_late(arena, now());
}

#[test]
fn the_manual_shows_a_call_that_works() {
    let arena = Arena::on(Ground::File);
    let bin = arena.path("bin");
    fs::create_dir(&bin).expect("a folder");
    symlink(ELECT, bin.join("elect")).expect("a link");
    symlink("/bin/true", arena.path("import")).expect("a link");
    let typed = manual::commands(&manual::block("fencing", "After a crash", "console"));
    let path = std::env::var("PATH").expect("a path");
    let bash = Elect::new("bash").args(["-c", &format!("cd \"$D\"; {typed}")]);
    let bash = bash.env("PATH", format!("{}:{path}", bin.display())).env("D", arena.path(""));
    bash.env("ELECT_BACKEND", arena.url()).run().exits(0).is_silent();
    let known = arena.elect("history").arg("importer").run().exits(0).stdout;
    assert!(known.contains("the command exited with code 0"), "{known}");
}

/// Otherwise the history might show the end of the leader before.
#[test]
fn the_history_written_before_a_start_outlasts_a_power_cut() {
    let arena = Arena::on(Ground::File);
    let log = arena.path("log");
    let strace = ["strace", "-y", "-e", "trace=pwrite64,fsync", "-o", log.to_str().expect("text")];
    delaying(&arena, NEVER).arg("true").under(strace).run().exits(0);
    let log = fs::read_to_string(log).expect("a log");
    let calls = log.lines().filter_map(|line| match line.split_once('(') {
        Some((call, rest)) if rest.contains("note-history>") => Some(call),
        Some(("fsync", rest)) if rest.contains("state/job>") => Some("fsync the directory"),
        _ => None,
    });
    let calls: Vec<_> = calls.skip_while(|call| *call != "pwrite64").collect();
    let for_good = ["pwrite64", "fsync", "pwrite64", "fsync", "fsync the directory", "pwrite64"];
    assert_eq!(calls, for_good, "{log}");
}

/// A damaged history, by a crashed machine or another program, may hide a leader that has not ended well.
#[test]
fn a_history_that_cannot_be_read_is_none_of_a_good_end() {
    let arena = Arena::on(Ground::File);
    delaying(&arena, "1s").arg("true").run().exits(0);
    let history = arena.path("state/job/note-history");
    for garbage in [&b"{\"leaderships\":[]"[..], b"?", &[0; 5000]] {
        fs::write(&history, garbage).expect("it is written");
        starts_late(&arena, now());
    }
}

/// The moments vary: before the win, before the history is written, in the middle of the command, at its end.
fn kills_at_any_moment_are_followed_by_the_wait(arena: &Arena) {
    const ROUNDS: usize = 24;
    let script = format!("{BRIEF}; sleep 0.03; echo end >>\"$RECORD.ends\"");
    let ends = || fs::read_to_string(arena.path("record.ends")).unwrap_or_default().lines().count();
    let (mut cut_short, mut kills) = (None, 0);
    for round in 0..ROUNDS {
        let (started, ended) = (starts(arena).len(), ends());
        let mut run = delaying(arena, "300ms").sh(&script).spawn();
        // Not to wait for anything: the moment of the kill is what varies.
        let wait = if cut_short.is_some() { 300 } else { 0 };
        thread::sleep(Duration::from_millis(wait + fastrand::u64(0..120)));
        let since = now();
        if run.is_running() {
            send(run.pid(), Signal::SIGKILL);
        }
        run.wait();
        let all = starts(arena);
        if let Some(&start) = all.get(started) {
            if let Some(before) = cut_short {
                assert!(start + HUNDREDTH >= before + Duration::from_millis(300), "round {round}");
            }
            cut_short = (ends() == ended).then_some(since);
            kills += usize::from(cut_short.is_some());
        }
    }
    println!("{kills} of {ROUNDS} were cut short after their start");
}

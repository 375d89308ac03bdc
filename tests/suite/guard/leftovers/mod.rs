//! The end of a command is not the end of its tree: what the command leaves running, and for how long.

mod stops;
mod table;

use std::fs;

use elect_testkit::program::{children, eventually, is_alive, name, state};
use nix::sys::signal::Signal;

use crate::stage::{send, stop, tell};
use crate::support::{Ground, installed};
use crate::usage::other_user;

/// Waits until what started this process has ended, and it is a guardian's child.
#[track_caller]
fn awaits_orphan(pid: i32) {
    eventually("a guardian to be the leftover's parent", || is_orphan(pid));
}

/// Returns `Some` if the parent of this process is a guardian.
fn is_orphan(pid: i32) -> Option<()> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    (name(parent.trim().parse().ok()?)? == "elect-guardian").then_some(())
}

/// A command that leaves a process which runs until there is a file "go", and then writes "orphan".
const LEAVING: &str = "(echo >\"$D/left\"; until [ -e \"$D/go\" ]; do sleep 0.01; done; \
                       echo >\"$D/orphan\") >/dev/null 2>&1 & \
                       echo $! >\"$D/pid\"; until [ -e \"$D/left\" ]; do sleep 0.01; done; exit 3";

#[test]
fn leftovers_of_the_command_are_killed() {
    let ground = Ground::new();
    for flags in [&[][..], &["--leftover", "kill"]] {
        ground.job().args(flags).sh(LEAVING).run().exits(3);
        let pid = ground.said("pid").parse().unwrap();
        assert!(!is_alive(pid), "the leftover is dead before elect exits");
        fs::remove_file(ground.path().join("left")).unwrap();
    }
}

#[test]
fn leftovers_of_the_command_are_awaited() {
    let ground = Ground::new();
    let elect = ground.job().args(["--leftover", "wait"]).sh(LEAVING).spawn();
    let pid: i32 = ground.said("pid").parse().unwrap();
    awaits_orphan(pid);
    ground.job().args(["-n", "true"]).run().exits(75);
    fs::write(ground.path().join("go"), "").unwrap();
    elect.wait().exits(3);
    assert!(ground.has("orphan"));
}

#[test]
fn a_leftover_that_is_awaited_is_told_to_stop_too() {
    let ground = Ground::new();
    let elect = ground.job().args(["--leftover", "wait"]).sh(LEAVING).spawn();
    let pid: i32 = ground.said("pid").parse().unwrap();
    awaits_orphan(pid);
    elect.ended_by(Signal::SIGTERM).exits(3);
    assert!(!ground.has("orphan") && !is_alive(pid));
}

/// The guardian lets a moment pass before it reaps a command whose processes live on. It gets the signal before that.
#[test]
fn a_leftover_gets_a_signal_that_comes_with_the_end_of_the_command() {
    let ground = Ground::new();
    let script = "setsid sh -c 'trap \"echo heard >\\\"$D/heard\\\"; exit\" USR1; echo $$ >\"$D/pid\"; \
                  while :; do sleep 0.01; done' & echo $$ >\"$D/command\"; wait";
    let mut elect = ground.job().args(["--leftover", "wait"]).sh(script).spawn();
    ground.said("pid");
    let command: i32 = ground.said("command").parse().unwrap();
    let guardian = elect.guardian();
    stop(guardian);
    send(command, Signal::SIGKILL);
    eventually("the command to end", || (state(command) == Some('Z')).then_some(()));
    tell(elect.pid(), Signal::SIGUSR1);
    send(guardian, Signal::SIGCONT);
    elect.wait().exits(137);
    assert!(ground.has("heard"));
}

/// Leaves 600 processes that end at once when there is a file "end", and one that runs until there is a file "go".
const LEAVING_MANY: &str = r#"
import os, time
folder = os.environ["D"]
def wait_for(name):
    while not os.path.exists(folder + "/" + name):
        time.sleep(0.01)
reading, writing = os.pipe()
for _ in range(600):
    if os.fork() == 0:
        os.close(writing)
        os.read(reading, 1)
        os._exit(0)
if os.fork() == 0:
    with open(folder + "/pid", "w") as file:
        print(os.getpid(), file=file)
    wait_for("end")
    os.close(writing)
    wait_for("go")
"#;

#[test]
fn all_of_many_dead_leftovers_are_reaped_beside_a_living_one() {
    let ground = Ground::new();
    let job = ground.job().args(["--leftover", "wait", "python3", "-c", LEAVING_MANY]);
    let mut elect = job.spawn();
    awaits_orphan(ground.said("pid").parse().unwrap());
    let guardian = elect.guardian();
    let count = |dead: bool| {
        children(guardian).into_iter().filter(|&pid| (state(pid) == Some('Z')) == dead).count()
    };
    eventually("the guardian to have reaped the command", || {
        (count(true) == 0 && count(false) == 601).then_some(())
    });
    stop(guardian);
    fs::write(ground.path().join("end"), "").unwrap();
    eventually("600 to be dead", || (count(true) == 600).then_some(()));
    send(guardian, Signal::SIGCONT);
    eventually("the dead to be reaped", || (count(true) == 0).then_some(()));
    assert_eq!(count(false), 1);
    fs::write(ground.path().join("go"), "").unwrap();
    elect.wait().exits(0);
}

/// A script whose output goes through a reader that it leaves behind, as in many a cron job.
const LOGGED: &str = "exec > >(cat >>\"$D/log\") 2>&1; echo begun; echo FATAL; exit 3";

#[test]
fn the_reader_of_a_scripts_output_reads_all_of_it() {
    let bash = installed(&["bash"], "bash");
    let ground = Ground::new();
    for _ in 0..20 {
        let run = ground.job().args(["--", bash, "-c", LOGGED]).run();
        run.exits(3).is_silent();
        let log = fs::read_to_string(ground.path().join("log")).expect("a log");
        assert_eq!(log, "begun\nFATAL\n");
        fs::remove_file(ground.path().join("log")).expect("our own");
    }
}

#[test]
fn a_reader_that_takes_its_time_has_it() {
    let bash = installed(&["bash"], "bash");
    let script = "exec > >(echo $BASHPID >\"$D/pid\"; until [ -e \"$D/go\" ]; do sleep 0.01; done; \
                  cat >\"$D/log\"); until [ -s \"$D/pid\" ]; do sleep 0.01; done; echo FATAL; exit 3";
    for restart in [&[][..], &["--restart", "on-failure", "--restart-delay", "1h"]] {
        let ground = Ground::new();
        let run = ground.job().args(["--leftover-grace", "1h"]).args(restart);
        let elect = run.args(["--", bash, "-c", script]).spawn();
        let pid = ground.said("pid").parse().expect("a number");
        awaits_orphan(pid);
        // elect leads meanwhile.
        ground.job().args(["-n", "true"]).run().exits(75);
        fs::write(ground.path().join("go"), "").expect("a flag");
        assert_eq!(ground.said("log"), "FATAL");
        if restart.is_empty() {
            elect.wait().exits(3).is_silent();
        }
    }
}

#[test]
fn a_deaf_leftover_is_killed_and_named_with_the_flags_for_it() {
    let ground = Ground::new();
    let script = "(trap '' TERM; echo $(exec sh -c 'echo $PPID') >\"$D/pid\"; exec sleep 3600) & \
                  until [ -s \"$D/pid\" ]; do sleep 0.01; done; exit 3";
    for user in [None, Some(other_user())] {
        let elect = match &user {
            None => ground.job(),
            Some(user) => {
                let state = ground.path().join("of-nobody");
                fs::create_dir(&state).expect("a folder");
                std::os::unix::fs::chown(&state, Some(user.id), Some(user.id))
                    .expect("we are root");
                let words = ["run", "-e", "job", "-b"];
                let url = format!("file://{}/state", state.display());
                user.elect().args(words).arg(url).env("D", state)
            }
        };
        let folder = if user.is_some() { "of-nobody/" } else { "" };
        let hasty = elect.args(["--leftover-grace", "10ms", "-k", "50ms"]);
        let ended = hasty.sh(script).run().exits(3);
        let pid = ground.said(&format!("{folder}pid"));
        let left = format!("sleep (process {pid})");
        let ended = ended.says(&format!("the command left {left} running: asking it to end"));
        let ended = ended.says("--leftover wait waits for it, --leftover-grace gives it longer");
        let killed = format!("killed {left}, which the command left running and TERM did not end");
        assert_eq!(ended.stderr.matches(&killed).count(), 1, "{ended:?}");
        assert_eq!(ended.stderr.matches(&pid).count(), 2, "once for each signal: {ended:?}");
        assert!(!is_alive(pid.parse().expect("a number")));
    }
}

#[test]
fn a_stopped_leftover_is_resumed_to_get_its_signal() {
    let ground = Ground::new();
    let script = "sh -c 'trap \"echo heard >\\\"$D/heard\\\"; exit\" TERM; echo $$ >\"$D/pid\"; \
                  kill -STOP $$; while :; do sleep 0.01; done' & \
                  until [ -s \"$D/pid\" ]; do sleep 0.01; done; exit 3";
    let run = ground.job().args(["--leftover-grace", "100ms", "-k", "1h"]);
    run.sh(script).run().exits(3).says("asking it to end");
    assert_eq!(ground.said("heard"), "heard");
}

/// Processes that a hook leaves get the same signals and the same time, and elect reports them.
#[test]
fn leftovers_of_a_hook_are_asked_before_they_are_killed() {
    for (flag, command) in
        [("--on-elected", "until [ -e $D/done ]; do sleep 0.01; done"), ("--on-lost", "true")]
    {
        let ground = Ground::new();
        let hook = "(trap 'echo heard >$D/heard; : >$D/done; exit' TERM; echo >$D/up; \
                    while :; do sleep 0.01; done) & until [ -e $D/up ]; do sleep 0.01; done";
        let hook = format!("sh -c \"{}\"", hook.replace('$', "\\$"));
        let run = ground.job().args([flag, &hook]).sh(command).run().exits(0);
        run.says(&format!("{flag}: ")).says("running, which elect ended");
        assert_eq!(ground.said("heard"), "heard");
    }
}

#[test]
fn a_grace_for_awaited_leftovers_is_refused() {
    let ground = Ground::new();
    let flags = ["--leftover", "wait", "--leftover-grace", "5s"];
    ground
        .job()
        .args(flags)
        .arg("true")
        .run()
        .exits(125)
        .says("--leftover-grace requires --leftover kill");
    ground
        .job()
        .args(["--leftover", "wait", "true"])
        .env("ELECT_LEFTOVER_GRACE", "5s")
        .run()
        .exits(0);
}

//! Signals to elect: before the win they end the wait, after it they are the command's.

use crate::prelude::*;
use crate::stage::tell;
use crate::support::unstartable;

const ENDS: [(Signal, &str, i32); 4] = [
    (Signal::SIGTERM, "TERM", 143),
    (Signal::SIGINT, "INT", 130),
    (Signal::SIGHUP, "HUP", 129),
    (Signal::SIGQUIT, "QUIT", 131),
];

/// However the tests were started: in the background of a script INT and QUIT are ignored.
const HEEDING: [&str; 2] = ["env", "--default-signal=TERM,INT,HUP,QUIT"];

/// A script that goes on with these traps until one of them ends it.
fn trapping(traps: &str) -> String {
    format!("{traps}; echo $$ >\"$D/started\"; while :; do sleep 3600 & wait; done")
}

#[track_caller]
fn started(ground: &Ground, elect: &Elect) -> Running {
    let running = elect.spawn();
    ground.said("started");
    running
}

#[test]
fn a_waiter_leaves_the_queue() {
    let ground = Ground::new();
    let _leader = ground.leader();
    for (signal, _, code) in ENDS {
        let waiter = ground.job().sh("echo ran").under(HEEDING).spawn();
        ground.awaits(1);
        waiter.ended_by(signal).exits(code).is_silent();
        assert_eq!(ground.queue().len(), 1, "the leader's entry");
        ground.awaits(0);
    }
}

#[test]
fn a_waiter_takes_no_notice_of_other_signals() {
    let ground = Ground::new();
    let leader = ground.leader();
    let mut waiter = ground.job().sh("echo ran").spawn();
    ground.awaits(1);
    // Whatever comes once it leads is for its command.
    for signal in [Signal::SIGUSR1, Signal::SIGUSR2, Signal::SIGWINCH, Signal::SIGCONT] {
        tell(waiter.pid(), signal);
    }
    drop(leader);
    waiter.wait().exits(0).prints("ran\n");
}

#[test]
fn a_command_may_trap_forwarded_signals() {
    for (signal, name, _) in ENDS {
        let ground = Ground::new();
        let script = trapping(&format!("trap 'echo {name}; exit 5' {name}"));
        let elect = started(&ground, &ground.job().sh(&script).under(HEEDING));
        elect.ended_by(signal).exits(5).prints(&format!("{name}\n"));
        ground.is_left_empty();
    }
}

#[test]
fn a_command_without_traps_ends_by_the_signal() {
    for (signal, _, code) in ENDS {
        let ground = Ground::new();
        let elect = ground.job().sh("ulimit -c 0; echo $$ >\"$D/started\"; exec sleep 3600");
        let elect = started(&ground, &elect.under(HEEDING));
        elect.ended_by(signal).exits(code).is_silent();
        ground.is_left_empty();
    }
}

#[test]
fn signals_with_a_meaning_of_the_commands_own_are_passed_on() {
    for (signal, name) in [
        (Signal::SIGUSR1, "USR1"),
        (Signal::SIGUSR2, "USR2"),
        (Signal::SIGWINCH, "WINCH"),
        (Signal::SIGCONT, "CONT"),
    ] {
        let ground = Ground::new();
        let elect = started(&ground, &ground.job().sh(&trapping(&format!("trap 'exit 5' {name}"))));
        elect.ended_by(signal).exits(5);
    }
}

/// Counts TERM, and exits with the count on WINCH, which the kernel and the shell deliver after TERM.
const COUNTING: &str =
    "n=0; trap 'n=$((n+1)); echo $n >\"$D/count\"' TERM HUP; trap 'exit $n' WINCH";

#[test]
fn the_same_request_delivered_twice_counts_once() {
    let ground = Ground::new();
    let mut elect = started(&ground, &ground.job().sh(&trapping(COUNTING)));
    tell(elect.pid(), Signal::SIGTERM);
    tell(elect.pid(), Signal::SIGTERM);
    assert_eq!(ground.said("count"), "1");
    elect.ended_by(Signal::SIGWINCH).exits(1);
}

#[test]
fn a_second_request_counts_a_second_later() {
    let ground = Ground::new();
    let mut elect = started(&ground, &ground.job().sh(&trapping(COUNTING)));
    elect.signal(Signal::SIGTERM);
    assert_eq!(ground.said("count"), "1");
    eventually("the second TERM", || {
        elect.signal(Signal::SIGTERM);
        (ground.said("count") == "2").then_some(())
    });
    elect.ended_by(Signal::SIGWINCH).exits(2);
}

#[test]
fn every_hang_up_counts() {
    let ground = Ground::new();
    let mut elect = started(&ground, &ground.job().sh(&trapping(COUNTING)));
    elect.signal(Signal::SIGHUP);
    assert_eq!(ground.said("count"), "1");
    elect.signal(Signal::SIGHUP);
    eventually("the second HUP", || (ground.said("count") == "2").then_some(()));
    elect.ended_by(Signal::SIGWINCH).exits(2);
}

/// With TERM blocked, as a parent may leave it behind.
const BLOCKING: [&str; 3] = [
    "python3",
    "-c",
    "import os, signal, sys\n\
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGUSR1])\n\
    os.execvp(sys.argv[1], sys.argv[1:])",
];
const IGNORING: [&str; 3] = ["sh", "-c", "trap '' TERM; exec \"$0\" \"$@\""];
const BLOCKED: &str = "SigBlk:\t0000000000004200\n";

#[test]
fn a_signal_blocked_by_a_parent_ends_elect_but_not_the_command() {
    let ground = Ground::new();
    let look = ["grep", "SigBlk", "/proc/self/status"];
    ground.job().args(look).under(BLOCKING).run().exits(0).prints(BLOCKED);
    let fence = ground.elect("fence").args(["-e", "job", "--token", "1", "disk"]);
    fence.args(look).under(BLOCKING).run().exits(0).prints(BLOCKED);
    let leader = ground.leader();
    // One that reads signals, and one that leaves them to the kernel.
    let waiter = ground.job().sh("echo ran").under(BLOCKING).spawn();
    ground.awaits(1);
    waiter.ended_by(Signal::SIGTERM).exits(143).prints("");
    let mut looker = ground.elect("wait").args(["job", "--for", "vacant"]).under(BLOCKING).spawn();
    eventually("elect to be there", || {
        let pid = looker.pid();
        (elect_testkit::program::name(pid).as_deref() == Some("elect")).then_some(())
    });
    looker.ended_by(Signal::SIGTERM).exits(143);
    drop(leader);
}

#[test]
fn a_blocked_request_to_end_gives_a_warning() {
    let ground = Ground::new();
    let blocked = ground.job().arg("true").under(BLOCKING).run().exits(0);
    blocked.says("blocks or ignores SIGTERM").says("--stop-timeout");
    // With that it ends.
    let run = ground.job().args(["--stop-timeout", "50ms", "sh", "-c"]);
    let run = run.arg("echo $$ >\"$D/started\"; exec sleep 3600").under(BLOCKING);
    let elect = started(&ground, &run);
    elect.ended_by(Signal::SIGTERM).exits(137).says("killed sleep (process ");
}

/// A script's trap has left that behind; `nohup` and shells arrange it for other signals.
#[test]
fn term_ends_elect_though_its_parent_ignored_it() {
    let ground = Ground::new();
    let look = ["grep", "SigIgn", "/proc/self/status"];
    let inherited = ground.job().args(look).under(IGNORING).run().exits(0);
    let given = Command::new(IGNORING[0]).args(&IGNORING[1..]).args(look).output();
    inherited
        .says("blocks or ignores SIGTERM")
        .prints(&String::from_utf8_lossy(&given.unwrap().stdout));
    let run = ground.job().args(["--stop-timeout", "50ms", "sh", "-c"]);
    let run = run.arg("echo $$ >\"$D/started\"; exec sleep 3600").under(IGNORING);
    let leader = started(&ground, &run);
    let waiter = ground.job().sh("echo ran").under(IGNORING).spawn();
    ground.awaits(1);
    waiter.ended_by(Signal::SIGTERM).exits(143).prints("");
    leader.ended_by(Signal::SIGTERM).exits(137).says("killed sleep (process ");
}

#[test]
fn under_timeout_the_command_is_told_once() {
    let ground = Ground::new();
    let script = trapping("trap 'echo got; exit 3' TERM");
    let elect = ground.job().sh(&script).under(["timeout", "3600"]);
    let timeout = started(&ground, &elect);
    // The signals that `timeout` sends when its time is over: to its child, then to the whole group.
    timeout.ended_by(Signal::SIGTERM).exits(3).prints("got\n").is_quiet();
}

#[test]
fn timeout_itself_ends_a_command_in_good_order() {
    let ground = Ground::new();
    let script = trapping("trap 'echo got; exit 3' TERM");
    let elect = ground.job().sh(&script).under(["timeout", "--preserve-status", "3600"]);
    let timeout = started(&ground, &elect);
    // So the kernel tells it that its time is over.
    timeout.ended_by(Signal::SIGALRM).exits(3).prints("got\n").is_quiet();
    ground.is_left_empty();
}

#[test]
fn the_stop_timeout_escalates() {
    for (signal, name) in
        [(Signal::SIGTERM, "TERM"), (Signal::SIGINT, "INT"), (Signal::SIGQUIT, "QUIT")]
    {
        let ground = Ground::new();
        let elect = ground.job().args(["--stop-timeout", "50ms"]).under(HEEDING);
        let elect = started(&ground, &elect.sh(&trapping(&format!("trap '' {name}"))));
        elect.ended_by(signal).exits(137);
        ground.is_left_empty();
    }
}

#[test]
fn a_hang_up_starts_no_countdown() {
    let ground = Ground::new();
    let traps = "trap 'echo >\"$D/hup\"' HUP; trap 'exit 4' USR1";
    let elect = ground.job().args(["--stop-timeout", "0"]);
    let mut elect = started(&ground, &elect.sh(&trapping(traps)));
    elect.signal(Signal::SIGHUP);
    ground.said("hup");
    elect.ended_by(Signal::SIGUSR1).exits(4);
}

#[test]
fn a_stopped_command_can_obey() {
    let ground = Ground::new();
    let elect = started(&ground, &ground.job().sh(&trapping("trap 'exit 5' TERM")));
    let command: i32 = ground.said("started").parse().unwrap();
    nix::sys::signal::kill(Pid::from_raw(command), Signal::SIGSTOP).unwrap();
    eventually("a stopped command", || {
        (elect_testkit::program::state(command) == Some('T')).then_some(())
    });
    elect.ended_by(Signal::SIGTERM).exits(5);
}

#[test]
fn nohup_goes_for_elect_and_for_the_command() {
    let ground = Ground::new();
    let elect = ground.job().sh(&trapping("trap 'exit 4' USR1")).under(["nohup"]);
    let mut elect = started(&ground, &elect);
    elect.signal(Signal::SIGHUP);
    let mut waiter = ground.job().sh("echo ran").under(["nohup"]).spawn();
    ground.awaits(1);
    waiter.signal(Signal::SIGHUP);
    // Both are told something they do heed, and of a lower number first.
    elect.ended_by(Signal::SIGUSR1).exits(4);
    waiter.wait().exits(0).prints("ran\n");
}

#[test]
fn a_parent_that_ignores_its_children_does_no_harm() {
    let ground = Ground::new();
    let ignoring = ["env", "--ignore-signal=CHLD"];
    ground.job().sh("true & exit 7").under(ignoring).run().exits(7);
    let script = unstartable(ground.path(), "/no/such");
    ground.job().arg(script).under(ignoring).run().exits(127);
    ground.is_left_empty();
}

/// Returns the signal lines of `/proc` for a command that is run like this.
fn signals_of(elect: &Elect) -> String {
    let Ended { stdout, .. } = elect
        .clone()
        .args(["grep", "-E", "Sig(Blk|Ign)|NoNewPrivs", "/proc/self/status"])
        .run()
        .exits(0);
    stdout
}

#[test]
fn the_command_gets_the_signals_as_elect_found_them() {
    let ground = Ground::new();
    for start in [
        &["env", "--default-signal"][..],
        &["env", "--ignore-signal=INT", "--ignore-signal=HUP"],
        &["env", "--ignore-signal=CHLD"],
        &["env", "--ignore-signal=PIPE"],
        &["env", "--block-signal=TERM", "--block-signal=USR1"],
    ] {
        let with = signals_of(&ground.job().under(start));
        assert_eq!(with, signals_of(&Elect::new("env").under(start)), "{start:?}");
    }
}

#[test]
fn a_command_without_a_reader_ends_by_the_broken_pipe() {
    let ground = Ground::new();
    let script = "\"$@\" | head -n 1; echo $? >\"$D/status\"";
    let elect = ground.job().arg("yes").under(["bash", "-c", script, "bash"]);
    elect.run().exits(0).prints("y\n").is_quiet();
}

#[test]
fn the_signals_of_a_wait_leave_a_running_command_alone() {
    // A signal that reached elect before the command was there is not passed on later.
    let ground = Ground::new();
    let leader = ground.leader();
    let mut waiter = ground.job().sh(&trapping(COUNTING)).spawn();
    ground.awaits(1);
    // Whatever comes once it leads is for its command.
    tell(waiter.pid(), Signal::SIGUSR1);
    fs::remove_file(ground.path().join("started")).unwrap();
    drop(leader);
    ground.said("started");
    waiter.ended_by(Signal::SIGWINCH).exits(0);
}

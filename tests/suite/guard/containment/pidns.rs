//! A command in a pid namespace of its own is in all else a command as any other.

use elect_testkit::program::{Elect, children, eventually, is_alive, state};
use nix::sys::signal::Signal;

use super::{Runner, children_by_name};
use crate::guard::escape::leftovers_are_awaited;
use crate::guard::terminal::{does, goes_on, shell, wrapper};
use crate::stage::{Stage, send};
use crate::support::{Ground, unstartable};
use crate::usage::STAY;

impl Ground {
    /// `elect run` in a pid namespace, whose command finds the test's folder as `$D`.
    fn walled(&self) -> Elect {
        self.job().args(["--containment", "pidns"])
    }
}

#[test]
fn exit_codes_and_streams_are_the_commands() {
    let ground = Ground::new();
    ground
        .walled()
        .sh("cat; echo out; echo err >&2; exit 7")
        .run()
        .exits(7)
        .prints("out\n")
        .says("err");
    for (script, code) in [("kill -TERM $$", 143), ("kill -KILL $$", 137), ("exit 255", 255)] {
        ground.walled().sh(script).run().exits(code).is_silent();
    }
    for (interpreter, code) in [("/no/such", 127), ("/etc", 126)] {
        let script = unstartable(ground.path(), interpreter);
        ground.walled().arg(&script).run().exits(code).says(&script.display().to_string());
    }
    ground.is_left_empty();
}

#[test]
fn the_command_is_the_second_process_and_hears_signals() {
    for (script, code) in [
        ("trap 'exit 5' TERM; echo $$ >\"$D/started\"; while :; do sleep 3600 & wait; done", 5),
        (STAY, 143),
    ] {
        let ground = Ground::new();
        let mut elect = ground.walled().sh(script).spawn();
        assert_eq!(ground.said("started"), "2", "the first would not heed TERM");
        let guardian = elect.guardian();
        let (init, command) = children_by_name(guardian);
        assert!(init.is_some() && command.len() == 1, "{init:?} {command:?}");
        elect.ended_by(Signal::SIGTERM).exits(code);
        for pid in [guardian, init.unwrap(), command[0]] {
            assert!(!is_alive(pid), "{pid} is left");
        }
    }
}

#[test]
fn its_lease_can_be_checked_and_its_containment_seen() {
    for runner in [Runner::root(), Runner::ordinary()] {
        if !runner.can_have("pidns") {
            continue;
        }
        let program = runner.copy_of(env!("CARGO_BIN_EXE_elect").as_ref(), "elect");
        let run = runner
            .run()
            .args(["-v", "--containment", "pidns"])
            .env("E", &program)
            .env("B", runner.url());
        let ended =
            run.sh("\"$E\" check && \"$E\" status -b \"$B\" -o json job && id -u").run().exits(0);
        assert!(ended.stdout.starts_with("leading, no time limit\n"), "{ended:?}");
        assert!(ended.stdout.contains("\"containment\": \"pidns\""), "{ended:?}");
        let id = runner.user.as_ref().map_or(0, |user| user.id);
        assert!(ended.stdout.ends_with(&format!("\n{id}\n")), "{ended:?}");
        ended.says("containment pidns");
    }
}

#[test]
fn orphans_are_reaped_while_it_runs() {
    let ground = Ground::new();
    let script = "i=0; while [ $i -lt 10 ]; do (setsid true & ) ; i=$((i+1)); done; \
                  echo >\"$D/started\"; exec sleep 3600";
    let mut elect = ground.walled().sh(script).spawn();
    ground.said("started");
    let (init, _) = children_by_name(elect.guardian());
    eventually("the end of all orphans", || children(init.unwrap()).is_empty().then_some(()));
}

#[test]
fn leftovers_in_a_pid_namespace_are_awaited_on_request() {
    let stage = Stage::new();
    let end = stage.oracle.flag("end");
    let stamper = stage.stamper("A").daemons(1).groups(1).children(1).until(&end);
    let (mut a, _) = stage.lead(&["--containment", "pidns", "--leftover", "wait"], &stamper, "A");
    let b = stage.wait_in_line(&stage.brief("B"), 0);
    let (_, command) = children_by_name(a.guardian());
    send(command[0], Signal::SIGKILL);
    eventually("the command's end", || (!is_alive(command[0])).then_some(()));
    leftovers_are_awaited(&stage, a, b, &end);
}

#[test]
fn leftovers_get_signals_and_are_killed_when_their_time_ends() {
    for (trap, time) in [("trap 'echo >\"$D/heard\"; exit' TERM", "1h"), ("trap '' TERM", "200ms")]
    {
        let ground = Ground::new();
        let script = format!(
            "(setsid sh -c '{}; echo >\"$D/left\"; while :; do sleep 0.01; done' &); \
             until [ -e \"$D/left\" ]; do sleep 0.01; done; echo $$ >\"$D/started\"; exit 3",
            trap.replace('\'', "'\\''")
        );
        let flags = ["--leftover", "wait", "--stop-timeout", time];
        let mut elect = ground.walled().args(flags).sh(&script).spawn();
        ground.said("started");
        let guardian = elect.guardian();
        eventually("the command's end", || children_by_name(guardian).1.is_empty().then_some(()));
        elect.ended_by(Signal::SIGTERM).exits(3);
        assert_eq!(ground.has("heard"), trap.contains("heard"));
        ground.is_left_empty();
    }
}

/// Elsewhere elect could not find the daemon, and would wait for it.
#[test]
fn a_daemon_is_killed_where_children_are_not_listed() {
    let empty = ["unshare", "-m", "sh", "-c", "mount -t tmpfs none /proc && exec \"$@\"", "sh"];
    let foreign = ["unshare", "-pf", "--kill-child"];
    for elsewhere in [&empty[..], &foreign] {
        let ground = Ground::new();
        let script = "setsid sleep 3600 >/dev/null 2>&1 & exit 3";
        ground.walled().arg("-n").sh(script).under(elsewhere).run().exits(3).is_silent();
    }
}

#[test]
fn a_kill_of_its_init_ends_the_command() {
    let ground = Ground::new();
    let mut elect = ground.walled().sh(STAY).spawn();
    ground.said("started");
    let (init, _) = children_by_name(elect.guardian());
    send(init.unwrap(), Signal::SIGKILL);
    elect.wait().exits(128 + 9);
    ground.is_left_empty();
}

/// The door dies when it forks the command: the init is there, and no process was told of it.
#[test]
fn a_door_that_is_killed_halfway_leaves_nothing() {
    let ground = Ground::new();
    let inject = "inject=clone3:signal=KILL:when=2";
    let strace = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", inject];
    let ended = ground.walled().env("MARK", ground.path()).sh("echo ran").under(strace).run();
    ended.exits(125).prints("").says("guardian");
    ground.is_left_empty();
    let own = format!("MARK={}", ground.path().display());
    eventually("the end of all", || {
        let all = std::fs::read_dir("/proc").ok()?.flatten();
        let mut environments =
            all.filter_map(|entry| std::fs::read(entry.path().join("environ")).ok());
        (!environments.any(|text| String::from_utf8_lossy(&text).contains(&own))).then_some(())
    });
}

/// As on kernels that are older than that system call.
#[test]
fn it_runs_where_descriptors_cannot_be_closed_by_range() {
    let ground = Ground::new();
    let inject = "inject=close_range:error=ENOSYS";
    let strace =
        ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=close_range", "-e", inject];
    ground.walled().sh("exit 3").under(strace).run().exits(3).is_silent();
}

#[test]
fn in_the_first_process_of_a_container_it_is_as_elsewhere() {
    let ground = Ground::new();
    let container = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"];
    ground.walled().sh("echo $$; exit 7").under(container).run().exits(7).prints("2\n");
    let mut unshare = ground.walled().sh(STAY).under(container).spawn();
    let parent = unshare.pid();
    ground.said("started");
    send(children(parent)[0], Signal::SIGTERM);
    unshare.wait().exits(143);
    ground.is_left_empty();
}

#[test]
fn one_inside_another_ends_with_it() {
    let ground = Ground::new();
    let inner = "\"$E\" run -b \"$B\" -e inner --containment pidns sh -c 'echo $$ >\"$D/started\"; exec sleep 3600'";
    let url = format!("file://{}", ground.state().display());
    let outer = ground.walled().env("E", env!("CARGO_BIN_EXE_elect")).env("B", &url).sh(inner);
    let elect = outer.spawn();
    ground.said("started");
    elect.ended_by(Signal::SIGTERM).exits(143);
    ground.elect("status").arg("inner").run().exits(1);
}

#[test]
fn one_inside_another_has_a_lease_of_its_own_to_check() {
    for runner in [Runner::root(), Runner::ordinary()] {
        if !runner.can_have("pidns") {
            continue;
        }
        let program = runner.copy_of(env!("CARGO_BIN_EXE_elect").as_ref(), "elect");
        for tier in ["auto", "pidns"] {
            let inner = "\"$E\" run -b \"$B\" -e inner --containment \"$T\" \"$E\" check";
            let run = runner.run().args(["--containment", "pidns"]);
            let run = run.env("E", &program).env("B", runner.url()).env("T", tier);
            run.sh(inner).run().exits(0).prints("leading, no time limit\n");
        }
    }
}

#[test]
fn keys_in_the_terminal_work_as_usual() {
    let ground = Ground::new();
    let mut terminal = shell(&ground);
    let elect = "$E run -q --containment pidns -e job sh -c";
    terminal.types(&format!("{elect} 'echo asking; read x; echo \"got $x\"; exit 3'\r"));
    terminal.shows("asking");
    let pid = wrapper(&mut terminal);
    for _ in 0..2 {
        terminal.types("\x1a").shows("Stopped").shows("READY> ");
        eventually("elect to be stopped", || (state(pid) == Some('T')).then_some(()));
        assert!(does(&mut terminal, "(exit 9)").ends_with("status=9"), "the shell reads");
        terminal.types("fg\r").shows("run -q");
        goes_on(&mut terminal);
    }
    terminal.types("hello\r").shows("got hello").shows("READY> ");
    assert!(does(&mut terminal, "(exit $?)").ends_with("status=3"));
    terminal.types(&format!("{elect} 'echo asking; exec sleep 3600'\r")).shows("asking");
    terminal.types("\x03").shows("READY> ");
    assert!(does(&mut terminal, "(exit $?)").ends_with("status=130"));
    // A shell with job control of its own in it.
    let script = "set -m; sleep 3600 & kill -STOP $!; wait $! 2>/dev/null; kill -9 $!; exit 4";
    let shown =
        does(&mut terminal, &format!("$E run -q --containment pidns -e job bash -c '{script}'"));
    assert!(shown.ends_with("status=4"), "{shown}");
}

#[test]
fn in_the_background_the_terminal_stays_the_shells() {
    let ground = Ground::new();
    let mut terminal = shell(&ground);
    let script = "echo >$D/started; until [ -e $D/go ]; do sleep 0.01; done; read x; exit 3";
    terminal.types(&format!("$E run -q --containment pidns -e job sh -c '{script}' &\r"));
    terminal.shows("READY> ");
    ground.said("started");
    assert!(does(&mut terminal, "(exit 9)").ends_with("status=9"), "the shell reads");
    does(&mut terminal, "echo >$D/go");
    let elect = wrapper(&mut terminal);
    eventually("a stopped job", || (state(elect) == Some('T')).then_some(()));
    terminal.types("fg\r").shows("run -q").types("hello\r").shows("READY> ");
    assert!(does(&mut terminal, "(exit $?)").ends_with("status=3"));
}

/// The entry is given up by a process that the guardian starts, outside of the namespaces.
#[cfg(feature = "sim")]
#[test]
fn a_leader_that_is_killed_hands_over_at_once() {
    use elect_testkit::sim::{Kind, Options, SimServer};
    for runner in [Runner::root(), Runner::ordinary()] {
        if !runner.can_have("pidns") {
            continue;
        }
        let server = SimServer::start(&Options::new(Kind::Queue));
        server.open_to_all();
        let run = || {
            let run =
                runner.elect().args(["run", "-e", "job", "--ttl", "10m", "-b", &server.url()]);
            run.args(["--containment", "pidns"])
        };
        let mut leader = run().sh(STAY).spawn();
        elect_testkit::program::line_of(&runner.path("started"));
        leader.signal(Signal::SIGKILL);
        run().sh("exit 3").run().exits(3);
    }
}

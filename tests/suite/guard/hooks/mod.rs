//! Hooks, on each store: what they are told, and that one that hangs holds nothing up and outlives no leadership.

mod ends;
mod restarts;

use std::fs;

use elect_testkit::fault::Traced;
use elect_testkit::program::{Elect, Running, children, eventually, name};
use nix::sys::signal::Signal;

use crate::cli::manual;
use crate::cli::see::{Arena, Ground, on_each_cluster, on_each_store};
use crate::stage::{send, send_if_alive, stop, tell as tell_signal};
use crate::support::unstartable;
use crate::web::{Application, WELL};

on_each_store! {
    hooks_are_told_who_leads
    a_hook_that_hangs_is_dead_before_another_candidate_leads
    a_hook_that_hangs_beside_a_rest_is_dead_before_another_leads
    a_hook_at_the_end_keeps_no_candidate_from_leading
    a_sidecar_has_hooks
}

/// Of leases that are to end by themselves.
pub(crate) const TTL: u32 = 8;

/// Writes what it finds to a file of its name.
const TELL: &str = r#"sh -c 'echo "$ELECT_TOKEN $ELECT_LEADER_ID" >>"$RECORD.$0"' "#;

/// Hangs with a child, and does not listen.
pub(crate) const HANG: &str =
    r#"sh -c 'trap "" TERM; sleep 3600 & echo "$$ $!" >"$RECORD.hook"; while :; do wait; done'"#;

pub(crate) fn lines(arena: &Arena, name: &str) -> Vec<String> {
    let text = fs::read_to_string(arena.path(&format!("record.{name}"))).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// A hook that leaves word of who it is, and fails.
const FAILING: &str = "sh -c 'echo $$ >\"$D/hook\"; exit 1'";

fn tell(name: &str) -> String {
    format!("{TELL}{name}")
}

fn hooks_are_told_who_leads(arena: &Arena) {
    let hooked =
        |run: Elect| run.args(["--on-elected", &tell("elected"), "--on-lost", &tell("lost")]);
    let first = arena.candidate_with("first", 15, hooked);
    let id = arena.wait_for_leader("first");
    let told = format!("{} {id}", arena.record()[0].0);
    eventually("a word of the hook", || (lines(arena, "elected") == [told.clone()]).then_some(()));
    let second =
        arena.candidate_with("second", 15, |run| run.args(["--on-change", &tell("changed")]));
    eventually("a word of the other", || (lines(arena, "changed") == [told.clone()]).then_some(()));
    assert_eq!(lines(arena, "lost"), [""; 0]);
    arena.wait_for_waiter("second");
    first.ended_by(Signal::SIGTERM).exits(143);
    assert_eq!(lines(arena, "lost"), [told]);
    let id = arena.wait_for_leader("second");
    eventually("word of the change", || {
        lines(arena, "changed").last()?.ends_with(&id).then_some(())
    });
    drop(second);
    // A nested one has its own.
    let nested = arena.elect("run").args(["-e", "outer"]).env("ELECT_ON_LOST", tell("nested"));
    let nested = nested.env("RECORD", arena.path("record")).env("E", env!("CARGO_BIN_EXE_elect"));
    nested.sh("exec \"$E\" run -b \"$ELECT_LEADER_BACKEND\" true").run().exits(0);
    assert_eq!(lines(arena, "nested").len(), 1);
    // Only the last hook is told how the command ended.
    let run =
        arena.elect("run").args(["-e", "ends", "--on-lost", "sh -c 'echo $ELECT_EXIT_CODE >&2'"]);
    run.args(["sh", "-c", "kill -9 $$"]).run().exits(137).says("137");
    let run = arena.elect("run").args([
        "-e",
        "ends",
        "--on-lost",
        "sh -c 'echo code $ELECT_EXIT_CODE >&2'",
    ]);
    run.clone().args(["sh", "-c", "exit 7"]).run().exits(7).says("code 7");
    for (interpreter, code) in [("/no/such", 127), ("/etc", 126)] {
        let script = unstartable(&arena.path(""), interpreter);
        run.clone().arg(&script).run().exits(code).says(&format!("code {code}"));
    }
    // A command that obeys and exits with 0 has not done its work.
    let script = "trap : HUP; trap 'exit 0' TERM; : >\"$READY\"; while :; do sleep 0.01; done";
    let mut stopped = run.env("READY", arena.path("ready")).sh(script).spawn();
    eventually("the traps", || arena.path("ready").exists().then_some(()));
    // On which daemons reload: it asks for no end.
    tell_signal(stopped.pid(), Signal::SIGHUP);
    arena.elect("resign").arg("ends").run().exits(0);
    stopped.wait().exits(124).says("code 124");
    // A hook that fails is reported, and changes nothing.
    let run =
        arena.elect("run").args(["-e", "other", "--on-elected", FAILING, "--on-lost", "/dev/null"]);
    // It ends after its hook.
    let script = "until [ -s \"$D/hook\" ] && ! [ -e \"/proc/$(cat \"$D/hook\")\" ]; do sleep 0.01; done; exit 7";
    let ended = run.env("D", arena.path("")).sh(script).run().exits(7);
    ended
        .says("--on-elected: sh exited with code 1")
        .says("--on-lost: /dev/null cannot be executed");
    let run = arena.elect("run").args(["-e", "other", "--hook-timeout", "100ms"]);
    let run = run.args(["--on-lost", "sleep 3600"]).arg("true");
    run.run().exits(0).says("--on-lost: sleep did not end within 100ms");
}

/// The fate of a leader whose hook hangs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    ToldToEnd,
    WrapperKilled,
    GuardiansKilled,
    AllKilled,
    WrapperStopped,
    /// The guardian of the hook cannot kill it, and the process that gives up a dead wrapper's entry could do so at
    /// once.
    HooksGuardianHeldAndWrapperKilled,
}

/// The state of the command beside the hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beside {
    /// It stays.
    Runs,
    /// It has ended, and waits to be started again.
    Rests,
}

fn leader_whose_hook_hangs(arena: &Arena, label: &str, beside: Beside) -> Running {
    let hooked = |run: Elect| run.args(["--hook-timeout", "1h", "--on-elected", HANG]);
    let running = match beside {
        Beside::Runs => arena.candidate_with(label, TTL, hooked),
        Beside::Rests => {
            let rests = ["--restart", "always", "--restart-delay", "1h"];
            let script = "echo \"$ELECT_TOKEN $ELECT_LEADER_ID\" >>\"$RECORD\"";
            arena.run_with(label, TTL, |run| hooked(run).args(rests), script)
        }
    };
    arena.wait_for_leader(label);
    eventually("a hook that hangs", || (!lines(arena, "hook").is_empty()).then_some(()));
    running
}

pub(crate) fn hooks_guardian(arena: &Arena) -> i32 {
    let pids = lines(arena, "hook").pop().expect("a hook");
    let pid = pids.split(' ').next().expect("a process id");
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it lives");
    let (_, fields) = stat.rsplit_once(") ").expect("a state");
    fields.split(' ').nth(1).and_then(|parent| parent.parse().ok()).expect("a parent")
}

/// As the first thing that it does, the next command looks whether the hook lives.
pub(crate) const LOOK: &str = r#"read -r pids <"$RECORD.hook"
    for pid in $pids; do
        read -r stat 2>/dev/null </proc/$pid/stat || continue
        set -- ${stat##*) }
        [ "$1" = Z ] || echo "$pid $stat" >>"$RECORD.alive"
    done; echo seen >>"$RECORD.seen""#;

fn a_hook_that_hangs_is_dead_before_another_candidate_leads(arena: &Arena) {
    outlives_no_leadership(arena, Beside::Runs);
}

fn a_hook_that_hangs_beside_a_rest_is_dead_before_another_leads(arena: &Arena) {
    outlives_no_leadership(arena, Beside::Rests);
}

/// The fates of leaders, each in an arena of its own.
fn outlives_no_leadership(arena: &Arena, beside: Beside) {
    // If leases have no end, a stopped leader leads on.
    let stops = [Fate::WrapperStopped, Fate::HooksGuardianHeldAndWrapperKilled];
    let all = [Fate::ToldToEnd, Fate::WrapperKilled, Fate::GuardiansKilled, Fate::AllKilled];
    let all = all.into_iter().chain(stops.into_iter().filter(|_| arena.has_server()));
    arena.each(all.map(|fate| (fate, beside)), |arena, (fate, beside)| {
        let mut leader = leader_whose_hook_hangs(arena, "leader", beside);
        let next = arena.run_with("next", TTL, |run| run, LOOK);
        // On a machine that is busy enough the leader loses its lease by itself: then that is its fate.
        let is_next = eventually("next to wait, or to have led", || {
            let waits = arena.status()["waiting"].as_array().is_some_and(|all| !all.is_empty());
            (waits || !lines(arena, "seen").is_empty()).then_some(waits)
        });
        let held = meet(if is_next { fate } else { Fate::ToldToEnd }, arena, &mut leader);
        next.wait().exits(0);
        assert_eq!(lines(arena, "seen").len(), 1, "{fate:?}");
        assert_eq!(lines(arena, "alive"), [""; 0], "{fate:?}");
        drop((leader, held));
    });
}

/// Has a leader meet its fate. What is returned has to be kept until the next one has led.
fn meet(fate: Fate, arena: &Arena, leader: &mut Running) -> Option<Traced> {
    let wrapper = leader.pid();
    let guardians = || {
        let all = children(wrapper).into_iter();
        all.filter(|&child| name(child).as_deref() == Some("elect-guardian"))
    };
    match fate {
        Fate::ToldToEnd => send_if_alive(wrapper, Signal::SIGTERM),
        Fate::WrapperKilled => leader.signal(Signal::SIGKILL),
        Fate::GuardiansKilled => guardians().for_each(|pid| send(pid, Signal::SIGKILL)),
        Fate::AllKilled => {
            let guardians: Vec<i32> = guardians().collect();
            leader.signal(Signal::SIGKILL);
            // They may be done before.
            for pid in guardians {
                send_if_alive(pid, Signal::SIGKILL);
            }
        }
        Fate::WrapperStopped => stop(wrapper),
        Fate::HooksGuardianHeldAndWrapperKilled => {
            let held = Traced::hold(hooks_guardian(arena));
            leader.signal(Signal::SIGKILL);
            return Some(held);
        }
    }
    None
}

fn a_hook_at_the_end_keeps_no_candidate_from_leading(arena: &Arena) {
    let hooked = |run: Elect| run.args(["--hook-timeout", "1h", "--on-lost", HANG]);
    let mut first = arena.candidate_with("first", 15, hooked);
    arena.wait_for_leader("first");
    let next = arena.candidate("next", 15);
    arena.wait_for_waiter("next");
    first.signal(Signal::SIGTERM);
    arena.wait_for_leader("next");
    eventually("a hook that hangs", || (!lines(arena, "hook").is_empty()).then_some(()));
    assert!(first.is_running());
    drop(next);
}

fn a_sidecar_has_hooks(arena: &Arena) {
    let sidecar = arena.elect("sidecar").args(["-e", "web", "--grace", "100ms"]);
    let sidecar = sidecar.args(["--on-elected", &tell("elected"), "--on-lost", &tell("lost")]);
    let sidecar = sidecar.args(["--on-change", &tell("changed")]);
    let sidecar = sidecar.env("RECORD", arena.path("record")).spawn();
    for name in ["elected", "changed"] {
        eventually(name, || {
            let last = lines(arena, name).pop()?;
            last.split_once(' ').filter(|(token, id)| *token != "0" && !id.is_empty()).map(drop)
        });
    }
    sidecar.ended_by(Signal::SIGTERM).exits(0);
    assert_eq!(lines(arena, "lost"), lines(arena, "elected"));
}

#[test]
fn the_manual_shows_calls_that_work() {
    let arena = Arena::on(Ground::File);
    let bin = arena.path("bin");
    fs::create_dir(&bin).expect("a folder");
    let link = std::os::unix::fs::symlink::<&str, std::path::PathBuf>;
    link(env!("CARGO_BIN_EXE_elect"), bin.join("elect")).expect("a link");
    let programs = [
        // Stands for the one that changes addresses, and says what it was told.
        (bin.join("ip"), "echo ip \"$@\" >&2; : >\"$D/told\""),
        // The first call may come before there is a leader.
        (bin.join("sh"), "/bin/sh \"$@\"; [ -z \"$ELECT_LEADER_ID\" ] || : >\"$D/changed\""),
        // It ends after the hook: the hook of the first call, and then the hook of the second.
        (
            arena.path("server"),
            "awaited=told; [ -e \"$D/ran\" ] && awaited=changed
             until [ -e \"$D/$awaited\" ]; do sleep 0.01; done; : >\"$D/ran\"",
        ),
    ];
    for (program, script) in programs {
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("a program");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(program, mode).expect("mine");
    }
    let typed = manual::commands(&manual::block("hooks", "Hooks", "console"));
    let path = std::env::var("PATH").expect("a path");
    let bash = Elect::new("bash").args(["-ec", &format!("cd \"$D\"; {typed}")]);
    let bash = bash.env("PATH", format!("{}:{path}", bin.display())).env("D", arena.path(""));
    let ended = bash.env("ELECT_BACKEND", arena.url()).run().exits(0);
    ended.says("ip addr add 10.0.0.9/24").says("ip addr del 10.0.0.9/24").says("led by ");
}

/// A monitor is told of the start and of the end, also of one that was a failure.
#[test]
fn a_monitor_is_told_as_the_manual_has_it() {
    let arena = Arena::on(Ground::File);
    let monitor = Application::start(WELL);
    let programs = [
        ("ping", manual::block("monitors", "Ping a monitor", "sh")),
        (
            "nightly",
            "#!/bin/sh\nuntil [ -e \"end$CODE\" ]; do sleep 0.01; done\nexit $CODE\n".to_owned(),
        ),
    ];
    for (name, text) in programs {
        fs::write(arena.path(name), text).expect("a program");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(arena.path(name), mode).expect("mine");
    }
    let typed = manual::commands(&manual::block("monitors", "Ping a monitor", "console"));
    let line = typed.replace("elect run", "\"$E\" run");
    for code in [0, 7] {
        let bash = Elect::new("bash").args(["-ec", &format!("cd \"$D\"; {line}")]);
        let bash = bash.env("D", arena.path("")).env("E", env!("CARGO_BIN_EXE_elect"));
        let bash = bash.env("ELECT_BACKEND", arena.url()).env("CODE", code.to_string());
        let bash = bash.env("MONITOR", format!("http://{}", monitor.address())).spawn();
        let told =
            |word: String| monitor.asked().starts_with(&format!("GET /{word} ")).then_some(());
        eventually("word of the start", || told("start".to_owned()));
        fs::write(arena.path(&format!("end{code}")), "").expect("a file");
        bash.wait().exits(code);
        assert_eq!(told(code.to_string()), Some(()), "{}", monitor.asked());
    }
}

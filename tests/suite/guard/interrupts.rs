//! Keys that end programs: the command gets them, and a script or a loop around elect fares as it would
//! without elect.

use std::os::unix::process::ExitStatusExt;

use elect_testkit::program::{children, eventually, is_alive, name};
use elect_testkit::terminal::Terminal;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getpgid};

use crate::guard::terminal::{does, goes_on, shell, wrapper};
use crate::support::Ground;

/// Ends by Ctrl-C.
const PLAIN: &str = "echo asking; exec sleep 3600";
/// Takes Ctrl-C for a word of its own.
const CATCHING: &str = "trap 'echo caught; exit 0' INT; echo asking; while :; do sleep 0.01; done";

fn quoted(script: &str) -> String {
    script.replace('"', "\\\"").replace('$', "\\$")
}

#[test]
fn ctrl_c_ends_a_loop_of_the_shell() {
    let ground = Ground::new();
    let mut terminal = shell(&ground);
    terminal.types(&format!("while :; do $E run -q -e job sh -c '{PLAIN}'; done\r"));
    terminal.shows("asking").types("\x03");
    let shown = terminal.until("READY> ");
    assert!(!shown.contains("asking"), "{shown}");
    // And while there is nothing but waiting.
    let _leader = ground.leader();
    terminal.types("while :; do $E run -q -e job true; done\r");
    ground.awaits(1);
    terminal.types("\x03").shows("READY> ");
    ground.awaits(0);
}

#[test]
fn ctrl_c_ends_a_script_unless_the_command_caught_it() {
    for interpreter in ["bash", "sh"] {
        let ground = Ground::new();
        let mut terminal = shell(&ground);
        let elect = |script| format!("$E run -q -e job sh -c \"{}\"", quoted(script));
        let line = format!("{interpreter} -c 'while :; do {}; echo again; done'", elect(PLAIN));
        terminal.types(&format!("{line}; echo \"status=$?;\"\r")).shows("asking").types("\x03");
        let shown = terminal.until("READY> ");
        assert!(!shown.contains("again"), "{interpreter}: {shown}");
        let catching = elect(CATCHING).replace('\'', "'\\''");
        terminal.types(&format!("{interpreter} -c '{catching}; echo after=$?'\r")).shows("asking");
        terminal.types("\x03").shows("caught").shows("after=0").shows("READY> ");
    }
}

/// The elect that the shell has started, and its process in the command's group.
#[track_caller]
fn witness(terminal: &mut Terminal) -> (i32, i32) {
    let elect = wrapper(terminal);
    let witness = eventually("what hears keys, in the foreground", || {
        let mut below = children(elect).into_iter();
        let foreground = Pid::from_raw(terminal.foreground());
        below.find(|&pid| {
            name(pid).as_deref() == Some("elect-keys")
                && getpgid(Some(Pid::from_raw(pid))) == Ok(foreground)
        })
    });
    (elect, witness)
}

/// The kernel tells the command alone of a key.
#[test]
fn a_key_that_the_command_survives_leaves_its_once_key_open() {
    let ground = Ground::new();
    let mut terminal = shell(&ground);
    let caught = "trap 'echo caught; exit 0' INT QUIT; echo asking; while :; do sleep 0.01; done";
    let run = |script: &str| format!("$E run -e job --once today sh -c \"{}\"\r", quoted(script));
    does(&mut terminal, "ulimit -c 0");
    for (key, code, name) in [("\x03", 130, "SIGINT"), ("\x1c", 131, "SIGQUIT")] {
        terminal.types(&run(caught)).shows("asking");
        witness(&mut terminal);
        terminal.types(key).shows("caught");
        terminal.shows(&format!("told to end by {name} before the command had done its work"));
        terminal.shows("READY> ");
        assert!(does(&mut terminal, "(exit $?)").ends_with(&format!("status={code}")));
        assert!(does(&mut terminal, "$E done job today").ends_with("status=1"));
    }
    // A stop is no end, and a KILL of the command's whole group says nothing of keys.
    terminal.types(&run("echo asking; read x")).shows("asking").types("\x1a").shows("Stopped");
    terminal.shows("READY> ").types("fg\r");
    goes_on(&mut terminal);
    terminal.types("hello\r").shows("READY> ");
    assert!(does(&mut terminal, "$E done job today").ends_with("status=0"));
    assert!(
        does(&mut terminal, "$E run -q -e job --once more sh -c 'kill -9 0'")
            .ends_with("status=137")
    );
}

/// It is in the command's group, holds no lease, and is gone when elect is.
#[test]
fn the_witness_of_keys_ends_with_elect() {
    let ground = Ground::new();
    let mut terminal = shell(&ground);
    terminal.types("$E run -q -e job --once today sh -c 'echo asking; exec sleep 3600'\r");
    terminal.shows("asking");
    let (elect, witness) = witness(&mut terminal);
    crate::stage::send(elect, Signal::SIGKILL);
    terminal.shows("READY> ");
    eventually("the end of what hears keys", || (!is_alive(witness)).then_some(()));
    assert!(does(&mut terminal, "$E run -q -n -e job true").ends_with("status=0"));
}

#[test]
fn the_quit_key_ends_a_script_as_well() {
    let ground = Ground::new();
    let mut terminal = shell(&ground);
    does(&mut terminal, "ulimit -c 0");
    terminal.types(&format!("sh -c '$E run -q -e job sh -c \"{}\"; echo after'\r", quoted(PLAIN)));
    terminal.shows("asking").types("\x1c");
    let shown = terminal.until("READY> ");
    assert!(!shown.contains("after"), "{shown}");
}

/// An INT that another process sends to elect, or to the command, was not meant for a script.
#[test]
fn an_interrupt_from_elsewhere_is_not_passed_to_a_script() {
    let ground = Ground::new();
    let mut terminal = shell(&ground);
    let script =
        "bash -c '$E run -q -e job sh -c \"echo asking; exec sleep 3600\"; echo after=$?'\r";
    terminal.types(script).shows("asking");
    let bash = eventually("the script", || children(terminal.session().pid()).into_iter().next());
    let elect = eventually("elect", || children(bash).into_iter().next());
    crate::stage::send(elect, Signal::SIGINT);
    terminal.shows("after=130").shows("READY> ");
}

#[test]
fn elect_ends_by_the_interrupt_that_ended_its_command() {
    let heeding = ["env", "--default-signal=INT,QUIT"];
    for signal in [Signal::SIGINT, Signal::SIGQUIT] {
        let ground = Ground::new();
        let record = ground.path().join("outcome");
        let elect = ground.job().arg("--outcome").arg(&record);
        let elect =
            elect.sh("ulimit -c 0; echo >\"$D/started\"; exec sleep 3600").under(heeding).spawn();
        ground.said("started");
        let ended = elect.ended_by(signal);
        assert_eq!(ended.status.signal(), Some(signal as i32));
        assert!(!ended.status.core_dumped());
        let record = std::fs::read_to_string(record).unwrap();
        assert!(record.contains(&format!("\"exit_code\":{}", 128 + signal as i32)), "{record}");
    }
    // A process that ignores INT cannot end by it.
    let ground = Ground::new();
    let ignoring = ["env", "--ignore-signal=INT"];
    let script = "exec env --default-signal=INT sh -c 'kill -INT $$'";
    let ended = ground.job().sh(script).under(ignoring).run();
    assert_eq!(ended.status.code(), Some(130));
}

#[test]
fn ctrl_z_stops_a_script_around_elect_and_fg_continues_it() {
    let ground = Ground::new();
    let mut terminal = shell(&ground);
    let elect = "$E run -q -e job sh -c \"echo asking; read x; echo got \\$x\"";
    terminal.types(&format!("sh -c '{elect}; echo after=$?'\r")).shows("asking");
    for _ in 0..3 {
        terminal.types("\x1a").shows("Stopped").shows("READY> ");
        assert!(does(&mut terminal, "(exit 9)").ends_with("status=9"), "the shell reads");
        terminal.types("fg\r").shows("sh -c");
        goes_on(&mut terminal);
    }
    terminal.types("hello\r").shows("got hello").shows("after=0").shows("READY> ");
}

#[test]
fn a_word_from_the_background_stops_the_job_where_the_user_wants_that() {
    let ground = Ground::new();
    let mut terminal = shell(&ground);
    let script =
        "echo >$D/started; until [ -e $D/go ]; do sleep 0.01; done; x=wo; echo ${x}rd; exit 3";
    terminal.types(&format!("stty tostop; $E run -v -e job sh -c '{script}' &\r")).shows("READY> ");
    ground.said("started");
    let elect = wrapper(&mut terminal);
    does(&mut terminal, "echo >$D/go");
    eventually("a stopped job", || {
        (elect_testkit::program::state(elect) == Some('T')).then_some(())
    });
    let shown = does(&mut terminal, "jobs");
    assert!(shown.contains("Stopped") && !shown.contains("word"), "{shown}");
    terminal.types("fg\r").shows("word").shows("READY> ");
    assert!(does(&mut terminal, "(exit $?)").ends_with("status=3"));
}

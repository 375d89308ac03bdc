//! elect in a terminal, under a shell with job control, as a person sees it.

use elect_testkit::program::{children, is_alive, name, state};
use elect_testkit::terminal::Terminal;

use crate::cli::manual;
use crate::prelude::*;

/// A terminal with bash in it, in which `elect` is a function that runs the program in the election
/// "job" of the ground.
pub(crate) fn shell(ground: &Ground) -> Terminal {
    let mut bash = Command::new("bash");
    bash.args(["--norc", "--noprofile", "-i"]);
    // Other variables might matter: with `CI`, every terminal is taken for one with colours.
    for (name, _) in std::env::vars_os() {
        if !["HOME", "PATH", "TMPDIR"].iter().any(|needed| name == *needed) {
            bash.env_remove(name);
        }
    }
    bash.env("PS1", "READY> ").env("TERM", "xterm").env("HISTFILE", "/dev/null");
    bash.env("ELECT_BACKEND", format!("file://{}", ground.state().display()));
    bash.env("E", ELECT).env("D", ground.path());
    // No echo: what is shown is what programs write.
    let mut terminal = Terminal::start(&mut bash);
    terminal.shows("READY> ");
    terminal.types("bind 'set enable-bracketed-paste off'; stty -echo; set +o history\r");
    terminal.shows("READY> ");
    terminal
}

/// Types a line for the shell and waits until it asks for the next one; what came before is returned.
#[track_caller]
pub(crate) fn does(terminal: &mut Terminal, line: &str) -> String {
    terminal.types(&format!("{line}; echo \"status=$?;\"\r"));
    let shown = terminal.until("status=");
    let code = terminal.until(";");
    terminal.shows("READY> ");
    format!("{shown}status={code}")
}

/// A person's first line, without the words that have cargo build elect first.
#[test]
fn the_first_line_of_readme_prints_the_lines_below_it() {
    let ground = Ground::new();
    let mut terminal = shell(&ground);
    let block = manual::block("README", "Try it", "console");
    let (typed, shown) = block.split_once('\n').expect("a line, and what it prints");
    let line = typed.strip_prefix("$ cargo run --release -- ").expect("a line of cargo's");
    let printed = does(&mut terminal, &format!("LC_ALL=C TZ=UTC $E {line}"));
    // Each number and each name of a day or month may be another. Some days have one digit.
    let kind = |text: &str| -> Vec<String> {
        let is_word = |word: &str| word.len() == 3 && word.starts_with(char::is_uppercase);
        let mask = |word: &str| {
            if is_word(word) {
                "Xxx".to_owned()
            } else if word.len() == 1 {
                word.replace(|c: char| c.is_ascii_digit(), "00")
            } else {
                word.replace(|c: char| c.is_ascii_digit(), "0")
            }
        };
        text.split_whitespace().map(mask).collect()
    };
    assert_eq!(kind(&printed), kind(&format!("{shown}status=0")));
}

#[test]
fn the_command_reads_the_terminal_and_the_shell_gets_it_back() {
    let ground = Ground::new();
    let mut terminal = shell(&ground);
    terminal.types("$E run -e job sh -c 'echo asking; read x; echo \"got $x\"; exit 3'\r");
    terminal.shows("asking").types("hello\r").shows("got hello").shows("READY> ");
    assert!(does(&mut terminal, "(exit 9)").ends_with("status=9"), "the shell reads again");
    assert!(does(&mut terminal, "$E run -q -e job sh -c 'exit 3'").ends_with("status=3"));
    assert!(does(&mut terminal, "$E run -q -e job no-such-command").ends_with("status=127"));
    assert!(does(&mut terminal, "(exit 9)").ends_with("status=9"), "the shell reads again");
}

/// As it happens, and not again at the end.
#[test]
fn the_end_of_a_leadership_is_told_once() {
    let ground = Ground::new();
    let queue = ground.state().join("job/queue");
    let evict = format!("rm {}/*; exec sleep 3600", queue.display());
    for (script, told, why) in [
        (evict.as_str(), "leadership is lost, stopping the command: ", "lost"),
        ("$E resign job --reason enough & exec sleep 3600", "giving leadership up: ", ": enough"),
    ] {
        let mut terminal = shell(&ground);
        let shown = does(&mut terminal, &format!("$E run -e job sh -c '{script}'"));
        assert!(shown.contains(told) && shown.ends_with("status=124"), "{shown}");
        assert_eq!(shown.matches(why).count(), 1, "{shown}");
    }
}

#[test]
fn a_script_without_job_control_gets_the_terminal_back() {
    let ground = Ground::new();
    let mut terminal = shell(&ground);
    let elect = "$E run -q -e job sh -c \"echo asking; read x\"";
    terminal.types(&format!("sh -c '{elect}; echo again; read x; echo \"got $x\"'\r"));
    terminal.shows("asking").types("one\r").shows("again").types("two\r").shows("got two");
    terminal.shows("READY> ");
}

#[test]
fn ctrl_c_reaches_the_command_once() {
    let ground = Ground::new();
    let mut terminal = shell(&ground);
    let script = "n=0; trap \"n=\\$((n+1)); echo int \\$n\" INT; trap \"exit 5\\$n\" USR1; \
                  echo asking; while :; do read x && exit 40; done";
    terminal.types(&format!("$E run -q -e job sh -c '{script}'; echo \"status=$?;\"\r"));
    terminal.shows("asking").types("\x03").shows("int 1");
    // The next signal that it gets is USR1. A second INT would have come before.
    let wrapper = wrapper(&mut terminal);
    nix::sys::signal::kill(Pid::from_raw(wrapper), Signal::SIGUSR1).unwrap();
    terminal.shows("status=51;").shows("READY> ");
}

/// The elect that the shell has started.
#[track_caller]
pub(crate) fn wrapper(terminal: &mut Terminal) -> i32 {
    let shell = terminal.session().pid();
    eventually("elect under the shell", || {
        children(shell).into_iter().find(|&child| name(child).as_deref() == Some("elect"))
    })
}

/// Waits until the command that elect runs below the shell has the terminal, and goes on: before that the
/// shell, and then elect, still have a continuation to send, which would take a new stop away.
#[track_caller]
pub(crate) fn goes_on(terminal: &mut Terminal) {
    let shell = terminal.session().pid();
    eventually("the command in the foreground", || {
        let mut below = children(shell);
        let mut next = 0;
        while let Some(&pid) = below.get(next) {
            below.extend(children(pid));
            next += 1;
        }
        let is_guardian = |pid: &i32| name(*pid).as_deref() == Some("elect-guardian");
        let of_guardian = children(below.into_iter().find(is_guardian)?);
        let command = terminal.foreground();
        (of_guardian.contains(&command) && state(command) != Some('T')).then_some(())
    });
}

#[test]
fn ctrl_c_ends_a_command_without_traps_and_a_wait() {
    let ground = Ground::new();
    let mut terminal = shell(&ground);
    terminal.types("$E run -q -e job sh -c 'echo asking; exec sleep 3600'\r").shows("asking");
    terminal.types("\x03").shows("READY> ");
    assert!(does(&mut terminal, "(exit $?)").ends_with("status=130"));
    let _leader = ground.leader();
    terminal.types("$E run -e job true\r");
    ground.awaits(1);
    terminal.types("\x03").shows("READY> ");
    assert!(does(&mut terminal, "(exit $?)").ends_with("status=130"));
    ground.awaits(0);
}

#[test]
fn ctrl_z_stops_the_job_and_fg_continues_it() {
    let ground = Ground::new();
    let mut terminal = shell(&ground);
    terminal.types("$E run -q -e job sh -c 'echo asking; read x; echo \"got $x\"; exit 3'\r");
    terminal.shows("asking");
    let elect = wrapper(&mut terminal);
    for _ in 0..3 {
        terminal.types("\x1a").shows("Stopped").shows("READY> ");
        eventually("elect to be stopped", || (state(elect) == Some('T')).then_some(()));
        assert!(does(&mut terminal, "(exit 9)").ends_with("status=9"), "the shell reads");
        terminal.types("fg\r").shows("run -q -e job");
        goes_on(&mut terminal);
    }
    terminal.types("hello\r").shows("got hello").shows("READY> ");
    assert!(does(&mut terminal, "(exit $?)").ends_with("status=3"));
}

/// A second CONT, a little later, would undo a stop that comes at once. The kernel drops a CONT that no
/// handler has seen yet when a stop comes, so the next stop waits for the command's word.
#[test]
fn fg_continues_the_command_once() {
    let ground = Ground::new();
    let mut terminal = shell(&ground);
    let script = r#"trap "n=x\$n; echo again \$n" CONT; echo asking; until read x && test "$x"; do :; done; echo "$n $x""#;
    terminal.types(&format!("$E run -q -e job sh -c '{script}'\r")).shows("asking");
    for continued in ["again x", "again xx", "again xxx"] {
        terminal.types("\x1a").shows("Stopped").shows("READY> ").types("fg\r");
        terminal.shows("run -q -e job");
        goes_on(&mut terminal);
        terminal.shows(continued);
    }
    terminal.types("hello\r").shows("xxx hello").shows("READY> ");
}

#[test]
fn ctrl_z_stops_a_waiter_too() {
    let ground = Ground::new();
    let leader = ground.leader();
    let mut terminal = shell(&ground);
    terminal.types("$E run -q -e job sh -c 'echo ran; exit 3'\r");
    ground.awaits(1);
    terminal.types("\x1a").shows("Stopped").shows("READY> ");
    drop(leader);
    terminal.types("fg\r").shows("ran").shows("READY> ");
    assert!(does(&mut terminal, "(exit $?)").ends_with("status=3"));
}

#[test]
fn in_the_background_the_terminal_stays_the_shells() {
    let ground = Ground::new();
    let mut terminal = shell(&ground);
    terminal.types("$E run -q -e job sh -c 'echo $$ >$D/started; until [ -e $D/go ]; do sleep 0.01; done; read x; exit 3' &\r");
    terminal.shows("READY> ");
    let command = ground.said("started").parse().unwrap();
    assert!(does(&mut terminal, "(exit 9)").ends_with("status=9"), "the shell reads");
    // It wants the terminal: it is stopped for that, and gets it with fg.
    does(&mut terminal, "echo >$D/go");
    let elect = wrapper(&mut terminal);
    for process in [command, elect] {
        eventually("a stopped job", || (state(process) == Some('T')).then_some(()));
    }
    assert!(does(&mut terminal, "(exit 9)").ends_with("status=9"), "the shell reads");
    terminal.types("fg\r").shows("run -q -e job").types("hello\r").shows("READY> ");
    assert!(does(&mut terminal, "(exit $?)").ends_with("status=3"));
}

#[test]
fn in_a_pipeline_the_terminal_is_taken_when_it_is_needed() {
    let ground = Ground::new();
    let mut terminal = shell(&ground);
    let own = "ps -o tpgid=,pgid= -p $$ | (read t p; test $t != $p && echo behind)";
    assert!(
        does(&mut terminal, &format!("$E run -q -e job sh -c '{own}' | cat")).contains("behind")
    );
    terminal.types("$E run -q -e job sh -c 'echo asking; read x; echo \"got $x\"' | cat\r");
    terminal.shows("asking").types("hello\r").shows("got hello").shows("READY> ");
    assert!(does(&mut terminal, "(exit 9)").ends_with("status=9"), "the shell reads again");
}

#[test]
fn a_line_shows_the_wait_and_goes() {
    let ground = Ground::new();
    let leader = ground.job().args(["--id", "first"]).sh(crate::usage::STAY).spawn();
    ground.said("started");
    let mut terminal = shell(&ground);
    terminal.types("$E run -e job sh -c 'echo ran'; echo \"status=$?;\"\r");
    let before = terminal.until("place 1 of 1, led by first-");
    assert!(before.contains("elect: waiting") && before.contains("for job"), "{before:?}");
    drop(leader);
    let after = terminal.until("ran");
    // Back to the start of the line, and all of it erased, before anything else is written.
    assert!(after.contains("\r\u{1b}[2K"), "{after:?}");
    let rest = &after[after.rfind("\u{1b}[2K").unwrap()..];
    assert!(!rest.contains("waiting"), "{rest:?}");
    terminal.shows("status=0;");
    // Off a terminal, quiet, or in JSON there is none.
    let _leader =
        ground.job().args(["--id", "second"]).sh("echo >\"$D/again\"; exec sleep 3600").spawn();
    ground.said("again");
    for flags in ["-q", "--log-format json"] {
        let shown = does(&mut terminal, &format!("$E run {flags} -w 50ms -e job true"));
        assert!(!shown.contains("place") && shown.ends_with("status=75"), "{shown:?}");
    }
    let shown = does(&mut terminal, "$E run -w 50ms -e job true 2>$D/err; cat $D/err");
    assert!(!shown.contains("place") && shown.contains("another candidate leads"), "{shown:?}");
}

#[test]
fn a_narrow_terminal_still_shows_the_leader() {
    let ground = Ground::new();
    let _leader = ground.job().args(["--id", "first"]).sh(crate::usage::STAY).spawn();
    ground.said("started");
    let mut terminal = shell(&ground);
    does(&mut terminal, "stty cols 40");
    terminal.types("$E run -e job sh -c 'echo ran'\r");
    let before = terminal.until("led by first-");
    assert!(!before.contains("for job") && !before.contains("place"), "{before:?}");
    terminal.types("\x03").shows("READY> ");
}

#[test]
fn a_table_is_no_wider_than_the_terminal() {
    let ground = Ground::new();
    let _leader = ground.job().args(["--id", "first"]).sh(crate::usage::STAY).spawn();
    ground.said("started");
    let mut terminal = shell(&ground);
    eventually("word of it in the history", || {
        let history = ground.elect("history").arg("job").run().exits(0).stdout;
        history.contains("first-").then_some(())
    });
    let whole = does(&mut terminal, "$E status job | cat");
    assert!(whole.contains("CONTAINMENT") && whole.contains("scan"), "{whole:?}");
    for (columns, gone) in [(80, "CONTAINMENT"), (60, "HOST"), (40, "COMMAND")] {
        does(&mut terminal, &format!("stty cols {columns}"));
        for table in ["status job", "history job"] {
            let shown = does(&mut terminal, &format!("$E {table}"));
            let is_head = |line: &str| line.split_whitespace().any(|word| word == "ID");
            let rows: Vec<&str> = shown.lines().skip_while(|line| !is_head(line)).collect();
            let rows = &rows[..rows.len() - 1];
            assert!(rows.len() >= 2, "{shown:?}");
            let fits = |row: &&str| row.trim_end_matches('\r').chars().count() <= columns;
            assert!(rows.iter().all(fits) && !shown.contains(gone), "{columns}: {shown:?}");
            assert!(rows[1].contains("first-"), "{shown:?}");
            // Off a terminal all of it is there.
            let piped = does(&mut terminal, &format!("$E {table} | cat"));
            assert!(piped.contains("TOKEN") && !piped.contains('…'), "{piped:?}");
        }
    }
}

#[test]
fn a_terminal_that_goes_away_ends_the_command() {
    let ground = Ground::new();
    let mut terminal = shell(&ground);
    terminal.types("$E run -q -e job sh -c 'echo asking; exec sleep 3600'\r").shows("asking");
    let elect = wrapper(&mut terminal);
    drop(terminal);
    eventually("the end of elect", || (!is_alive(elect)).then_some(()));
    ground.is_left_empty();
}

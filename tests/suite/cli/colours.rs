//! Colours, and the line that shows the waiting: where a person can see them and wants them.

use std::fs;

use elect_testkit::terminal::Terminal;

use crate::guard::terminal::{does, shell};
use crate::support::Ground;

const ESCAPE: char = '\u{1b}';

/// Returns what the terminal shows of a complaint of elect's, and of a complaint about the command line.
fn complaints(terminal: &mut Terminal, variables: &str) -> [String; 2] {
    ["$E run -q -e job no-such-command", "$E run --bogus"]
        .map(|line| does(terminal, &format!("{variables} {line}")))
}

#[test]
fn complaints_are_red_where_a_person_reads_them() {
    let ground = Ground::new();
    let mut terminal = shell(&ground);
    for variables in ["", "CLICOLOR=1", "NO_COLOR="] {
        for shown in complaints(&mut terminal, variables) {
            assert!(shown.contains("\u{1b}[31merror:"), "{variables}: {shown:?}");
        }
    }
    for variables in ["NO_COLOR=1", "TERM=dumb", "CLICOLOR=0", "env -u TERM"] {
        for shown in complaints(&mut terminal, variables) {
            assert!(shown.contains("error:") && !shown.contains(ESCAPE), "{variables}: {shown:?}");
        }
    }
    let _leader = ground.leader();
    let shown = does(&mut terminal, "$E run -n -e job true");
    assert!(shown.contains("\u{1b}[33mwarning:"), "{shown:?}");
}

#[test]
fn off_a_terminal_nothing_is_coloured_unless_it_is_forced() {
    let ground = Ground::new();
    let mut terminal = shell(&ground);
    for (variables, is_coloured) in
        [("", false), ("CLICOLOR_FORCE=1", true), ("CLICOLOR_FORCE=1 NO_COLOR=1", false)]
    {
        for line in ["$E run -q -e job no-such-command", "$E run --bogus"] {
            does(&mut terminal, &format!("{variables} {line} 2>$D/err"));
            let said = fs::read_to_string(ground.path().join("err")).unwrap();
            assert_eq!(said.contains(ESCAPE), is_coloured, "{variables} {line}: {said:?}");
        }
    }
    // Programs get no colours, whatever is forced.
    let json = "CLICOLOR_FORCE=1 $E run -q --log-format json -e job no-such-command 2>$D/err";
    does(&mut terminal, json);
    assert!(!fs::read_to_string(ground.path().join("err")).unwrap().contains(ESCAPE));
}

#[test]
fn the_line_that_shows_the_waiting_needs_a_terminal_that_can_erase_it() {
    let ground = Ground::new();
    let _leader = ground.leader();
    let mut terminal = shell(&ground);
    // The line has no colours, so a user who wants none may still see it.
    for variables in ["", "NO_COLOR=1", "CLICOLOR=0"] {
        terminal.types(&format!("{variables} $E run -e job true\r")).shows("place 1 of 1, led by ");
        terminal.types("\x03").shows("READY> ");
    }
    for variables in ["TERM=dumb", "TERM=", "env -u TERM", "CLICOLOR_FORCE=1 TERM=dumb"] {
        let shown = does(&mut terminal, &format!("{variables} $E run -w 1s -e job true"));
        assert!(!shown.contains("place") && shown.ends_with("status=75"), "{variables}: {shown:?}");
    }
    let forced = "CLICOLOR_FORCE=1 $E run -w 1s -e job true 2>$D/err; cat $D/err";
    let shown = does(&mut terminal, forced);
    assert!(!shown.contains("place") && shown.contains("another candidate leads"), "{shown:?}");
}

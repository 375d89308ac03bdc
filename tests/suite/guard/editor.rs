//! Programs that want the whole terminal, and what they leave behind in it.

use crate::guard::terminal::{does, goes_on, shell};
use crate::prelude::*;
use crate::stage::send;
use crate::support::installed;

/// The editor of Debian's `vim-tiny`, or of a larger package.
fn vim() -> &'static str {
    installed(&["vim.tiny", "vim"], "vim-tiny")
}

#[test]
fn an_editor_owns_the_terminal_and_comes_back_after_ctrl_z() {
    let ground = Ground::new();
    let file = ground.path().join("note");
    let mut terminal = shell(&ground);
    let before = does(&mut terminal, "stty -a");
    terminal.types(&format!("$E run -e job {} -u NONE -i NONE -n $D/note\r", vim())).shows("[New");
    let raw = terminal.modes();
    terminal.types("ione\x1b").types(":w\r");
    eventually("what was typed", || (fs::read_to_string(&file).ok()? == "one\n").then_some(()));
    terminal.types("\x1a").shows("Stopped").shows("READY> ");
    assert_eq!(does(&mut terminal, "stty -a"), before, "the shell has its modes back");
    terminal.types("fg\r");
    goes_on(&mut terminal);
    eventually("the editor's modes", || (terminal.modes() == raw).then_some(()));
    terminal.types("otwo\x1b:wq\r").shows("READY> ");
    assert_eq!(fs::read_to_string(&file).unwrap(), "one\ntwo\n");
    assert_eq!(does(&mut terminal, "stty -a"), before);
    ground.is_left_empty();
}

/// A program that wants other modes and knows nothing of stops.
const RAW: &str = "stty -icanon -echo -iexten; echo $$ >$D/started; echo asking; exec sleep 3600";

#[test]
fn a_command_that_is_killed_leaves_the_terminal_as_it_was() {
    let ground = Ground::new();
    let mut terminal = shell(&ground);
    let before = does(&mut terminal, "stty -a");
    terminal.types(&format!("$E run -q -e job sh -c '{RAW}'\r")).shows("asking");
    send(ground.said("started").parse().unwrap(), Signal::SIGKILL);
    terminal.shows("READY> ");
    assert!(does(&mut terminal, "(exit $?)").ends_with("status=137"));
    assert_eq!(does(&mut terminal, "stty -a"), before);
}

#[test]
fn a_command_that_was_stopped_finds_its_modes_again() {
    let ground = Ground::new();
    let mut terminal = shell(&ground);
    terminal.types(&format!("$E run -q -e job sh -c '{RAW}'\r")).shows("asking");
    let raw = terminal.modes();
    for key in ["intr ^C", "intr ^G"] {
        terminal.types("\x1a").shows("Stopped").shows("READY> ");
        assert_ne!(terminal.modes(), raw);
        does(&mut terminal, &format!("stty {key}"));
        terminal.types("fg\r");
        goes_on(&mut terminal);
        eventually("its modes", || (terminal.modes() == raw).then_some(()));
    }
    // The shell keeps the terminal settings that were changed meanwhile.
    send(ground.said("started").parse().unwrap(), Signal::SIGKILL);
    terminal.shows("READY> ");
    assert!(does(&mut terminal, "stty -a").contains("intr = ^G"));
}

#[test]
fn modes_that_a_command_sets_on_purpose_stay() {
    let ground = Ground::new();
    let mut terminal = shell(&ground);
    does(&mut terminal, "$E run -q -e job stty quit ^A");
    assert!(does(&mut terminal, "stty -a").contains("quit = ^A"));
}

#[test]
fn a_window_that_changes_its_size_tells_the_command() {
    let ground = Ground::new();
    let mut terminal = shell(&ground);
    let script = "trap \"stty size; exit 5\" WINCH; echo asking; while :; do sleep 0.01; done";
    terminal.types(&format!("$E run -q -e job sh -c '{script}'\r")).shows("asking");
    let shell = terminal.session().pid();
    let device = fs::read_link(format!("/proc/{shell}/fd/0")).unwrap();
    let mut stty = Command::new("stty");
    assert!(stty.arg("-F").arg(device).args(["rows", "33"]).status().unwrap().success());
    terminal.shows("33 ").shows("READY> ");
    assert!(does(&mut terminal, "(exit $?)").ends_with("status=5"));
}

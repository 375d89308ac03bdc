//! The manual's words about looking on, as they are written.

use super::arena::{Arena, Ground};
use super::watch::{end, shell, start_line};
use crate::cli::manual;
use crate::guard::terminal::does;

#[test]
fn its_commands_look_on_as_they_are_written() {
    let arena = Arena::on(Ground::File);
    let mut terminal = shell(&arena);
    does(&mut terminal, "elect() { \"$E\" \"$@\"; }");
    let commands = manual::commands(&manual::block("operating", "Look at it", "console"));
    let commands: Vec<&str> = commands.lines().collect();
    let [status, observe, wait, history] = commands[..] else { panic!("{commands:?}") };
    start_line(&mut terminal, status);
    end(&mut terminal);
    terminal.types(&format!("{observe}\r")).shows("vacant").types("\x03").shows("READY> ");
    assert!(does(&mut terminal, "(exit $?)").ends_with("status=0"));
    for command in [wait, history] {
        terminal.types(&format!("{command}\r")).shows("READY> ");
        assert!(does(&mut terminal, "(exit $?)").ends_with("status=0"));
    }
}

//! In a terminal.

use crate::guard::terminal::{does, shell};
use crate::support::Ground;

#[test]
fn a_line_shows_how_far_it_is_and_goes() {
    let ground = Ground::new();
    let mut terminal = shell(&ground);
    let shown = does(&mut terminal, "$E selftest");
    assert!(shown.contains("elect: check ") && shown.contains(" of 10: "), "{shown}");
    assert!(shown.contains("lost replies") && shown.contains("status=0"), "{shown}");
}

#[test]
fn ctrl_c_ends_it() {
    let ground = Ground::new();
    let mut terminal = shell(&ground);
    terminal.types("$E selftest\r").shows("elect: check ").types("\u{3}").shows("READY> ");
    assert!(does(&mut terminal, "(exit $?)").contains("status=130"));
    assert!(!ground.state().exists());
}

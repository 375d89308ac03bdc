//! Terminals that go away.

use std::fs;

use elect_testkit::program::{Elect, eventually, is_alive};

use crate::guard::terminal::{shell, wrapper};
use crate::support::Ground;

/// A window with nothing in it but a program: closed once a file says so.
const WINDOW: &str = "
import os, pty, sys, time
pid, window = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
while not os.path.exists(os.environ['D'] + '/close'):
    time.sleep(0.01)
os.close(window)
_, status = os.waitpid(pid, 0)
print(os.waitstatus_to_exitcode(status))
";

fn in_a_window(elect: Elect) -> Elect {
    elect.under(["python3", "-c", WINDOW])
}

fn close(ground: &Ground) {
    fs::write(ground.path().join("close"), "").unwrap();
}

#[test]
fn a_window_that_is_closed_ends_a_wait() {
    let ground = Ground::new();
    let _leader = ground.leader();
    let window = in_a_window(ground.job().sh("echo >\"$D/ran\"")).spawn();
    ground.awaits(1);
    close(&ground);
    window.wait().exits(0).prints("129\n");
    ground.awaits(0);
    assert!(!ground.has("ran"));
}

#[test]
fn a_window_that_is_closed_ends_the_command() {
    let ground = Ground::new();
    let window = in_a_window(ground.job().sh(crate::usage::STAY)).spawn();
    ground.said("started");
    close(&ground);
    window.wait().exits(0).prints("129\n");
    ground.is_left_empty();
}

#[test]
fn a_command_that_outlives_its_window_leads_on() {
    let ground = Ground::new();
    let script = "trap 'echo >\"$D/hup\"' HUP; echo >\"$D/started\"; \
                  until [ -e \"$D/end\" ]; do sleep 0.01; done; exit 3";
    let window = in_a_window(ground.job().arg("-v").sh(script)).spawn();
    ground.said("started");
    close(&ground);
    ground.said("hup");
    ground.job().args(["-n", "true"]).run().exits(75);
    fs::write(ground.path().join("end"), "").unwrap();
    window.wait().exits(0).prints("3\n");
    ground.is_left_empty();
}

#[test]
fn a_shell_that_dies_ends_a_wait() {
    let ground = Ground::new();
    let _leader = ground.leader();
    let mut terminal = shell(&ground);
    terminal.types("$E run -e job true\r");
    ground.awaits(1);
    let elect = wrapper(&mut terminal);
    drop(terminal);
    eventually("the end of elect", || (!is_alive(elect)).then_some(()));
    ground.awaits(0);
}

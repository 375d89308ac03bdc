//! Stops and goings-on of a job, where they are not what they seem.

use std::fs;
use std::time::Duration;

use elect_testkit::oracle::now;
use elect_testkit::program::state;
use elect_testkit::terminal::Terminal;
use nix::sys::signal::Signal;

use crate::stage::{send, stop, tell};
use crate::support::Ground;

/// As in `xterm -e elect ...` and `ssh -t host elect ...`: there is no shell to say `fg` in.
#[test]
fn ctrl_z_without_a_shell_is_no_end_of_the_job() {
    let ground = Ground::new();
    let script = "echo asking; read x; echo \"got $x\"; read x; echo \"got $x\"; exit 3";
    let mut terminal = Terminal::start(&mut ground.job().arg("-q").sh(script).command());
    terminal.shows("asking");
    for word in ["one", "two"] {
        terminal.types("\x1a");
        terminal.types(&format!("{word}\r"));
        terminal.shows(&format!("got {word}"));
    }
    terminal.wait().exits(3);
}

/// The terminal's stop is for elect and the command alike. Where the command ignores it, neither stops;
/// a later stop of the command, by somebody else's hand, is not the one that was meant.
#[test]
fn a_stop_that_the_command_ignored_is_forgotten_when_the_job_goes_on() {
    for later in [Signal::SIGSTOP, Signal::SIGTSTP] {
        let ground = Ground::new();
        // The shell stays the leader of the session; elect is in the background of it.
        let script = "trap '' TSTP; echo $$ >\"$D/started\"; until [ -e \"$D/deaf\" ]; do sleep 0.01; \
                      done; trap - TSTP; echo >\"$D/hears\"; exec sleep 3600";
        let elect = ground.job().arg("-q").sh(script).under([
            "sh",
            "-mc",
            "\"$@\" & echo $! >\"$D/elect\"; \
                                                             read x; kill -9 $!",
            "sh",
        ]);
        let mut terminal = Terminal::start(&mut elect.command());
        let wrapper: i32 = ground.said("elect").parse().unwrap();
        let command: i32 = ground.said("started").parse().unwrap();
        tell(wrapper, Signal::SIGTSTP);
        tell(wrapper, Signal::SIGCONT);
        fs::write(ground.path().join("deaf"), "").unwrap();
        ground.said("hears");
        if later == Signal::SIGSTOP {
            stop(command);
        } else {
            send(command, later);
        }
        let end = now() + Duration::from_millis(300);
        while now() < end {
            assert_ne!(state(wrapper), Some('T'), "elect stopped itself after {later}");
        }
        send(command, Signal::SIGKILL);
        terminal.types("\r");
    }
}

//! A `/proc` that hides from the user who runs elect what is not dumpable (`hidepid`).

use std::os::unix::fs::PermissionsExt as _;

use elect_testkit::program::is_alive;

use super::Runner;
use crate::prelude::*;
use crate::stage::{send, stop};

const HIDING: &str = "mount -t proc -o hidepid=2 proc /proc && exec \"$@\"";
/// The number of tries, as chance decides if the guardian or its children are gone first.
const TRIES: usize = 5;

/// Strikes the wrapper and the guardian, by their process ids.
fn hides_from(runner: &Runner, strike: fn(i32, i32)) {
    let oracle = Oracle::new();
    oracle.open_to_all();
    let stamper = oracle.stamper("A").sessions(1).daemons(2).hiding().deaf();
    let run =
        runner.run().args(["--stop-timeout", "100ms", "--"]).args(runner.command_of(&stamper));
    let mut elect = run.under(["unshare", "-m", "sh", "-c", HIDING, "sh"]).spawn();
    let run = oracle.wait_for_run("A");
    let guardian = elect.guardian();
    strike(elect.pid(), guardian);
    assert_ne!(elect.wait().code(), 0);
    assert_eq!(oracle.living(), [0; 0], "{run} was left");
    eventually("the end of the guardian", || (!is_alive(guardian)).then_some(()));
    // Nothing is in the way of the next one.
    runner.run().args(["-n", "true"]).run().exits(0);
}

#[test]
fn a_hidden_process_is_dead_before_elect_is() {
    for runner in [Runner::ordinary(), Runner::root()] {
        for _ in 0..TRIES {
            hides_from(&runner, |wrapper, guardian| {
                stop(guardian);
                send(wrapper, Signal::SIGTERM);
            });
            hides_from(&runner, |wrapper, _| send(wrapper, Signal::SIGTERM));
            hides_from(&runner, |_, guardian| send(guardian, Signal::SIGKILL));
        }
    }
}

/// A child that elect had before is hidden as well, and none of its tree.
#[test]
fn a_hidden_child_of_before_is_left_alone() {
    let runner = Runner::ordinary();
    let user = runner.user.as_ref().expect("an ordinary user");
    let unreadable = runner.copy_of(Path::new("/bin/sleep"), "unreadable");
    fs::set_permissions(&unreadable, fs::Permissions::from_mode(0o111)).expect("our own");
    let beside = "\"$D/unreadable\" 3600 >/dev/null 2>&1 & echo $! >\"$D/beside\"; exec \"$@\"";
    let id = user.id.to_string();
    let elect =
        Elect::new("setpriv").args(["--reuid", &id, "--regid", &id, "--clear-groups", "--"]);
    let elect = elect.args(["sh", "-c", beside, "sh"]).arg(user.program());
    let elect = elect.args(["run", "-e", "job", "-b", &runner.url()]).sh("kill -9 $PPID");
    let elect = elect.env("D", runner.folder.path());
    elect.under(["unshare", "-m", "sh", "-c", HIDING, "sh"]).run().exits(125);
    let beside = fs::read_to_string(runner.path("beside")).expect("it was started");
    let beside: i32 = beside.trim().parse().expect("a process id");
    assert!(is_alive(beside), "it was killed with the command");
    send(beside, Signal::SIGKILL);
}

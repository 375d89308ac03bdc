//! If `/proc` does not list children, as `strace` pretends here, only the command's process group can be killed. elect
//! does not find processes that left it, but waits for them.

use elect_testkit::program::children;

use crate::prelude::*;
use crate::stage::{Stage, send};

const LIST: &str = "/proc/thread-self/children";

fn without_list(run: Elect) -> Elect {
    let inject = "inject=stat,statx,newfstatat,openat:error=ENOENT";
    run.under(["strace", "-f", "-qq", "-o", "/dev/null", "-P", LIST, "-e", inject])
}

/// A leads in that tier, B waits. Returns the wrapper's process id beside them.
pub(crate) fn start(stage: &Stage, stamper: &Stamper) -> (Running, i32, Running) {
    let flags = ["-v", "--stop-timeout", "50ms"];
    let mut a = without_list(stage.run_with(&flags, stamper)).spawn();
    stage.oracle.wait_for_run("A");
    let tracer = a.pid();
    let wrapper = eventually("the wrapper", || children(tracer).first().copied());
    let b = stage.wait_in_line(&stage.brief("B"), 0);
    (a, wrapper, b)
}

#[test]
fn a_group_that_will_not_end_is_killed() {
    let stage = Stage::new();
    let stamper = stage.stamper("A").children(2).depth(2).deaf().stopped();
    let (a, wrapper, b) = start(&stage, &stamper);
    send(wrapper, Signal::SIGTERM);
    b.wait().exits(0);
    stage.assert_runs(&["A", "B"]);
    a.wait().exits(128 + 9).says("containment group");
}

#[test]
fn a_process_that_left_the_group_is_waited_for() {
    let stage = Stage::new();
    let end = stage.oracle.flag("end");
    let stamper = stage.stamper("A").children(1).daemons(1).groups(1).deaf().until(&end);
    let (a, wrapper, b) = start(&stage, &stamper);
    send(wrapper, Signal::SIGTERM);
    eventually("the end of the group", || {
        let run = stage.oracle.newest("A").expect("it ran");
        (run.processes.iter().filter(|process| process.is_alive).count() == 2).then_some(())
    });
    stage.oracle.wait_for_stamps("A", Duration::from_millis(60));
    assert!(stage.oracle.newest("B").is_none(), "B started beside A");
    end.raise();
    b.wait().exits(0);
    stage.assert_runs(&["A", "B"]);
    a.wait().exits(128 + 9);
}

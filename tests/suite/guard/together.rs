//! Signals that are meant for the whole job at once. One is a KILL for elect's process group, as `kill -9 %1` sends it.
//! Others are for a command that is in another group than elect put it in.

use std::os::unix::process::CommandExt;

use nix::sys::signal::killpg;

use crate::prelude::*;
use crate::stage::Stage;

#[test]
fn a_kill_of_elects_whole_group_leaves_nothing_beside_the_next() {
    let stage = Stage::new();
    let stamper = stage.stamper("A").children(1).daemons(1).closing_descriptors();
    let mut command = stage.run(&stamper).command();
    command.stdin(Stdio::null()).process_group(0);
    let mut a = Running::new(command.spawn().expect("elect starts"));
    stage.oracle.wait_for_run("A");
    let b = stage.wait_in_line(&stage.brief("B"), 0);
    killpg(Pid::from_raw(a.pid()), Signal::SIGKILL).expect("it lives");
    b.wait().exits(0);
    let runs = stage.assert_runs(&["A", "B"]);
    assert!(!runs[0].is_alive(), "{} is not gone", runs[0]);
    a.wait().exits(128 + 9);
}

#[test]
fn a_command_that_left_its_group_is_told_to_end() {
    let stage = Stage::new();
    let stamper = stage.stamper("A").joining_its_parents_group();
    let (a, _) = stage.lead(&[], &stamper, "A");
    a.ended_by(Signal::SIGTERM).exits(128 + 15);
}

#[test]
fn a_command_that_left_its_group_is_killed_where_only_groups_can_be() {
    let stage = Stage::new();
    let stamper = stage.stamper("A").joining_its_parents_group().deaf();
    let (a, wrapper, b) = crate::guard::group_tier::start(&stage, &stamper);
    crate::stage::send(wrapper, Signal::SIGTERM);
    b.wait().exits(0);
    stage.assert_runs(&["A", "B"]);
    a.wait().exits(128 + 9).says("containment group");
}

//! The process that must kill a health command cannot, and elect is dead.

use elect_testkit::fault::Traced;
use elect_testkit::program::{Elect, eventually};
use nix::sys::signal::Signal;

use crate::cli::see::{Arena, Ground, on_each_cluster};
use crate::guard::hooks::{HANG, LOOK, TTL, hooks_guardian, lines};

on_each_cluster! {
    no_candidate_leads_before_a_check_is_dead
}

fn no_candidate_leads_before_a_check_is_dead(arena: &Arena) {
    let looks = ["--health-interval", "50ms", "--health-timeout", "1h", "--health-cmd", HANG];
    let mut leader = arena.candidate_with("leader", TTL, |run: Elect| run.args(looks));
    arena.wait_for_leader("leader");
    eventually("a check that hangs", || (!lines(arena, "hook").is_empty()).then_some(()));
    let next = arena.run_with("next", TTL, |run| run, LOOK);
    arena.wait_for_waiter("next");
    let held = Traced::hold(hooks_guardian(arena));
    leader.signal(Signal::SIGKILL);
    next.wait().exits(0);
    assert_eq!(lines(arena, "seen").len(), 1);
    assert_eq!(lines(arena, "alive"), [""; 0]);
    drop((leader, held));
}

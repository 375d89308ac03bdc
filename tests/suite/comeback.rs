//! Leadership that is lost in an outage of the store, and won again after it.

use std::thread::sleep;
use std::time::Duration;

use elect_testkit::program::eventually;
use nix::sys::signal::Signal;

use crate::see::{Arena, Ground, on_each_cluster};

on_each_cluster! {
    alone: whoever_has_led_sits_an_outage_out_that_no_newcomer_would
}

fn whoever_has_led_sits_an_outage_out_that_no_newcomer_would(arena: &Arena) {
    let mut elect = arena.candidate_with("one", 5, |it| it.args(["--after-loss", "campaign"]));
    arena.wait_for_leader("one");
    let silence = arena.silence();
    arena.candidate("two", 5).wait().exits(125);
    // It began when the other was losing its leadership at the latest, and is as patient as a newcomer.
    let mut last = arena.candidate("three", 5);
    while last.is_running() {
        assert!(elect.is_running(), "it has given up");
        sleep(Duration::from_millis(50));
    }
    drop(silence);
    eventually("it to lead again", || (arena.record().len() == 2).then_some(()));
    elect.signal(Signal::SIGTERM);
    elect.wait().exits(143);
}

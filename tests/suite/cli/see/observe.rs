//! `elect observe`: a line for each change, and none for what was not.

use elect_testkit::fault::{Mode, TcpProxy};

use super::arena::{Arena, Ground, crash};
use super::observer::Observer;
use super::{on_each_cluster, on_each_store};
use crate::prelude::*;

on_each_store! {
    changes_are_told_in_their_order
}

mod outage {
    use super::{
        Arena, Ground, after_an_outage_the_difference_is_told,
        an_unchanged_state_is_not_reported_again, on_each_cluster,
    };
    on_each_cluster! {
        alone: after_an_outage_the_difference_is_told
        an_unchanged_state_is_not_reported_again
    }
}

fn observer(arena: &Arena) -> Observer {
    Observer::start(&arena.elect("observe"), arena.path("observed"))
}

/// Drops two kinds of lines. Between two leaders there may be a moment without one, and on the disk the first candidate
/// is there for a moment before it leads.
fn without_moments(told: &[String]) -> Vec<&str> {
    told.iter()
        .map(String::as_str)
        .filter(|told| !["vacant", "joined one"].contains(told))
        .collect()
}

fn changes_are_told_in_their_order(arena: &Arena) {
    let observer = observer(arena);
    assert_eq!(observer.told(), ["vacant"]);
    let one = arena.leader("one", 15);
    observer.wait_for_last("leader one");
    let two = arena.candidate("two", 15);
    observer.wait_for_last("joined two");
    crash(one);
    arena.wait_for_leader("two");
    observer.wait_for("two to lead", |told| told.iter().any(|told| told == "leader two"));
    two.ended_by(Signal::SIGTERM).exits(143);
    observer.wait_for_last("vacant");
    let expected = ["leader one", "joined two", "left one", "leader two", "left two"];
    assert_eq!(without_moments(&observer.told()), expected);
    assert_eq!(observer.leaders(), arena.record());
    // An observer that comes later is told the present state first.
    let _three = arena.leader("three", 15);
    let _four = arena.candidate("four", 15);
    arena.wait_for_waiter("four");
    let late = Observer::start(&arena.elect("observe"), arena.path("late"));
    late.wait_for("how it stands", |told| told == ["leader three", "joined four"]);
    let lines = late.lines();
    for key in ["time", "election", "id", "host", "pid", "command", "token"] {
        assert!(!lines[0][key].is_null(), "{key} in {}", lines[0]);
    }
    assert!(lines[1]["token"].is_null() && lines[1]["reason"].is_null(), "{}", lines[1]);
    late.end(Signal::SIGTERM);
    observer.end(Signal::SIGINT);
}

/// The observer alone is cut off, while leaders come and go.
fn after_an_outage_the_difference_is_told(arena: &Arena) {
    let proxy = TcpProxy::start(arena.address());
    let one = arena.leader("one", 15);
    let two = arena.candidate("two", 15);
    arena.wait_for_waiter("two");
    let url = arena.url_through(proxy.address());
    let elect = Elect::new(ELECT).args(["observe", "-b", &url]);
    let observer = Observer::start(&elect, arena.path("observed"));
    observer.wait_for_last("joined two");
    proxy.both(Mode::Hold);
    crash(one);
    arena.wait_for_leader("two");
    let _three = arena.candidate("three", 15);
    arena.wait_for_waiter("three");
    crash(two);
    arena.wait_for_leader("three");
    observer.wait_for_last("outage");
    proxy.both(Mode::Pass);
    observer.wait_for_last("leader three");
    let expected =
        ["leader one", "joined two", "outage", "recovered", "left one", "left two", "leader three"];
    assert_eq!(observer.told(), expected);
    let lines = observer.lines();
    assert!(lines[2]["reason"].is_string() && lines[3]["reason"].is_null(), "{lines:?}");
    observer.end(Signal::SIGTERM);
}

fn an_unchanged_state_is_not_reported_again(arena: &Arena) {
    let observer = observer(arena);
    for _ in 0..2 {
        let silence = arena.silence();
        observer.wait_for_last("outage");
        drop(silence);
        observer.wait_for_last("recovered");
    }
    let one = arena.leader("one", 15);
    observer.wait_for_last("leader one");
    crash(one);
    observer.wait_for_last("vacant");
    let expected = [
        "vacant",
        "outage",
        "recovered",
        "outage",
        "recovered",
        "leader one",
        "left one",
        "vacant",
    ];
    assert_eq!(observer.told(), expected);
    observer.end(Signal::SIGTERM);
}

#[test]
fn an_observer_without_a_reader_ends() {
    let arena = Arena::on(Ground::File);
    for form in ["table", "json", "yaml"] {
        let script = "\"$@\" | head -n 1; echo \"status ${PIPESTATUS[0]}\"";
        let elect = arena.elect("observe").args(["-o", form, "job"]);
        let ended = elect.under(["bash", "-c", script, "bash"]).run().exits(0);
        assert!(ended.stdout.ends_with("\nstatus 0\n"), "{ended:?}");
    }
    let full = arena.elect("observe").arg("job").under(["bash", "-c", "\"$@\" >/dev/full", "bash"]);
    full.run().exits(125).says("cannot write to stdout");
    assert!(!arena.path("state").exists(), "a look creates nothing");
}

/// A reader that does not read does not keep a signal from ending it.
#[test]
fn a_reader_that_does_not_read_keeps_no_signal_away() {
    let arena = Arena::on(Ground::File);
    let fifo: PathBuf = arena.path("fifo");
    // A pipe that is full before elect starts. A process that the shell forks blocks TERM too, until it executes
    // another program.
    let script = "mkfifo \"$F\"; exec 3<>\"$F\"; dd if=/dev/zero of=\"$F\" oflag=nonblock bs=4096 count=4096 2>/dev/null; \
                  env --default-signal \"$@\" >&3 & \
                  until grep -q '^Name:.elect' /proc/$!/status && grep -q '^SigBlk:.*[4-7c-f]...$' /proc/$!/status; \
                  do sleep 0.01; done; \
                  kill -TERM $!; wait $!";
    let elect = arena.elect("observe").arg("job").env("F", &fifo);
    elect
        .under(["bash", "-c", script, "bash"])
        .run()
        .exits(0)
        .prints("")
        .says("no election job at ");
}

//! `elect put` and `elect fence` themselves stand still at each of their requests, while another leads and comes.

use elect_testkit::program::{Elect, Running, eventually};

use super::stopping::Stopped;
use crate::cli::see::{Arena, Ground, on_each_cluster};

on_each_cluster! {
    a_put_that_is_stopped_at_any_request_writes_nothing_under_another_leader
    a_fence_stopped_at_any_request_lets_no_smaller_token_pass
}

const ELECT: &str = env!("CARGO_BIN_EXE_elect");

/// Whatever sends something to a server.
const SENDS: &str = "sendto,sendmsg,writev,write";

/// More than either makes.
const MOST: usize = 60;

/// A leader, and its token.
fn leader(arena: &Arena, turn: usize) -> (Running, u64) {
    let running = arena.leader(&format!("one{turn}"), 15);
    let token = arena.record().last().expect("a leader").0;
    (running, token)
}

fn put(arena: &Arena, token: u64, value: &str) -> Elect {
    let put = arena.elect("put").args(["-e", "job", "--token", &token.to_string()]);
    put.args(["cursor", value])
}

fn fence(arena: &Arena, token: usize) -> Elect {
    arena.elect("fence").args(["-e", "job", "--token", &token.to_string(), "disk"])
}

/// Another leads, and does this.
fn other(arena: &Arena, words: &str) -> Elect {
    let run = arena.elect("run").args(["-e", "job", "--id", "other"]);
    run.env("E", ELECT).sh(&format!("\"$E\" {words}"))
}

/// Another leads, and puts something.
fn replace(arena: &Arena, value: &str) -> Elect {
    other(arena, &format!("put cursor {value}"))
}

fn value(arena: &Arena) -> String {
    arena.elect("get").args(["-e", "job", "cursor"]).run().exits(0).stdout
}

fn a_put_that_is_stopped_at_any_request_writes_nothing_under_another_leader(arena: &Arena) {
    let mut refused = 0;
    for nth in 1..MOST {
        let (one, token) = leader(arena, nth);
        put(arena, token, "first").run().exits(0);
        let stopped = Stopped::at(put(arena, token, "late"), SENDS, nth, &arena.path(""));
        if stopped.is_over() {
            stopped.go_on().exits(0);
            break;
        }
        drop(one);
        let seen = other(arena, "get cursor").run().exits(0).stdout;
        match (stopped.go_on().code(), seen.as_str()) {
            // Stopped for long it asks once more, and hears then that it leads no more; it may have written.
            (124, _) => refused += 1,
            // It had been written before the other led.
            (0, "late") => {}
            (code, _) => panic!("{seen:?} was there, and it exits with {code}, stopped at {nth}"),
        }
        assert_eq!(value(arena), seen, "stopped at {nth}");
    }
    assert!(refused > 1, "refused {refused} times");
}

fn a_fence_stopped_at_any_request_lets_no_smaller_token_pass(arena: &Arena) {
    let mut refused = 0;
    for nth in 1..MOST {
        let (old, new) = (2 * nth, 2 * nth + 1);
        let stopped = Stopped::at(fence(arena, old).arg("true"), SENDS, nth, &arena.path(""));
        let is_over = stopped.is_over();
        if !is_over {
            fence(arena, new).arg("true").run().exits(0);
            fence(arena, old).arg("true").run().exits(124);
        }
        match stopped.go_on().code() {
            124 => refused += 1,
            // The put had come before the other.
            0 => {}
            code => panic!("it exits with {code}, stopped at {nth}"),
        }
        if is_over {
            break;
        }
        // It has put nothing in the place of the greater one.
        fence(arena, old).arg("true").run().exits(124);
        fence(arena, new).arg("true").run().exits(0);
    }
    assert!(refused > 1, "refused {refused} times");
}

/// The system calls of a put on the disk that open, check or write files.
const CALLS: &str = "openat,fstatfs,newfstatat,fcntl,fsync,renameat";

/// Between its look at who leads and the value itself it makes this call.
const FLUSH: &str = "fsync";

/// On the disk no candidate begins to lead while a put is about to write, wherever that put stands still.
#[test]
fn on_the_disk_the_next_leader_waits_for_a_put_that_is_stopped() {
    let arena = Arena::on(Ground::File);
    let (one, token) = leader(&arena, 0);
    put(&arena, token, "first").run().exits(0);
    let stopped = Stopped::at(put(&arena, token, "late"), FLUSH, 1, &arena.path(""));
    assert!(!stopped.is_over());
    drop(one);
    let mut two = replace(&arena, "new").spawn();
    arena.wait_for_waiter("other");
    assert_eq!(value(&arena), "first");
    assert!(two.is_running());
    stopped.go_on().exits(0);
    two.wait().exits(0);
    assert_eq!(value(&arena), "new");
    // And not for one that was killed.
    let (one, token) = leader(&arena, 1);
    let killed = Stopped::at(put(&arena, token, "late"), FLUSH, 1, &arena.path(""));
    drop(one);
    let three = replace(&arena, "newer").spawn();
    arena.wait_for_waiter("other");
    killed.kill();
    three.wait().exits(0);
    assert_eq!(value(&arena), "newer");
}

/// Wherever else it stands still, it is refused once another has led, and otherwise that one waits for it.
#[test]
fn on_the_disk_a_put_that_is_stopped_anywhere_writes_nothing_under_another_leader() {
    let arena = Arena::on(Ground::File);
    let mut refused = 0;
    for nth in 1..MOST {
        let (one, token) = leader(&arena, nth);
        put(&arena, token, "first").run().exits(0);
        let stopped = Stopped::at(put(&arena, token, "late"), CALLS, nth, &arena.path(""));
        if stopped.is_over() {
            stopped.go_on().exits(0);
            break;
        }
        drop(one);
        let mut other = other(&arena, "get cursor").spawn();
        eventually("the other to be done, or to wait", || {
            let waits = || arena.status()["waiting"].as_array().is_some_and(|all| !all.is_empty());
            (!other.is_running() || waits()).then_some(())
        });
        let code = stopped.go_on().code();
        assert!(matches!(code, 0 | 124), "it exits with {code}, stopped at {nth}");
        refused += u32::from(code == 124);
        let seen = other.wait().exits(0).stdout;
        assert_eq!(seen, if code == 0 { "late" } else { "first" }, "stopped at {nth}");
        assert_eq!(value(&arena), seen, "stopped at {nth}");
    }
    assert!(refused > 1, "refused {refused} times");
}

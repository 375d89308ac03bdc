//! A lock around a fence: on one machine, a writer that has passed keeps the next leader out until it has written.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use elect_testkit::program::{Elect, eventually, state};

use super::escapee::{Escapee, Successor};
use super::example::Example;
use crate::cli::see::{Arena, Ground};

/// In the place of `mv`: it stands still before it writes, if it is to, and says so; and that it has written.
const MV: &str = r#"#!/bin/sh
[ "$STAND" ] && echo $$ >passed && kill -STOP $$
/bin/mv "$@" && echo "$ELECT_TOKEN" >>moved
"#;

/// Returns true if a process waits for the lock on this file.
fn is_awaited(file: &std::path::Path) -> bool {
    let Ok(file) = fs::metadata(file) else { return false };
    let inode = format!(":{} ", file.ino());
    let locks = fs::read_to_string("/proc/locks").expect("/proc/locks");
    locks.lines().any(|line| line.contains("-> FLOCK") && line.contains(&inode))
}

#[test]
fn a_leader_that_stood_still_behind_the_fence_writes_before_the_next_one() {
    let arena = Arena::on(Ground::File);
    let example = Example::new("Keep a stale leader out", "sh", arena.path("report"));
    let mv = arena.path("bin/mv");
    fs::write(&mv, MV).expect("a file");
    fs::set_permissions(&mv, Permissions::from_mode(0o755)).expect("our own");
    let there = |it: Elect| example.around(it).env("D", example.folder());
    let passed = arena.path("passed");
    let stands_still = |_| {
        let pid = fs::read_to_string(&passed).ok().filter(|text| text.ends_with('\n'));
        pid.is_some_and(|pid| state(pid.trim().parse().expect("a process id")) == Some('T'))
    };
    let words = "cd \"$D\"; ./report; echo \"$?\" >>\"$RECORD.late\"";
    let one = Escapee::of_a_leader(&arena, |it| there(it).env("STAND", "1"), words, stands_still);
    let mut two = Successor::start(&arena, there, "cd \"$D\"; ./report");
    eventually("it to wait", || is_awaited(&arena.path("report.lock")).then_some(()));
    assert!(!arena.path("moved").exists() && !arena.path("report.txt").exists());
    let (late, said) = one.go_on();
    assert_eq!(late, "124\ndone\n", "{said}");
    assert!(said.contains("cursor is not written"), "{said}");
    let two = two.has_done();
    let moved = fs::read_to_string(arena.path("moved")).expect("what was done");
    assert!(moved.ends_with(&format!("\n{two}")) && moved.lines().count() == 2, "{moved}{two}");
}

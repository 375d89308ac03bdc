//! A leader that was replaced, and does not know it.

use elect_testkit::program::{Elect, state};

use super::escapee::{Escapee, Successor};
use crate::cli::see::{Arena, Ground, on_each_cluster, on_each_store};

on_each_store! {
    a_replaced_leader_is_refused
    a_leader_that_stood_still_between_its_check_and_its_write_is_refused
}

fn with_token(arena: &Arena, subcommand: &str, token: u64) -> Elect {
    arena.elect(subcommand).args(["-e", "job", "--token", &token.to_string()])
}

fn a_replaced_leader_is_refused(arena: &Arena) {
    let one = arena.leader("one", 15);
    let old = arena.record()[0].0;
    with_token(arena, "put", old).args(["cursor", "old"]).run().exits(0).is_silent();
    with_token(arena, "fence", old).args(["disk", "true"]).run().exits(0).is_silent();
    drop(one);
    let _two = arena.leader("two", 15);
    let new = arena.record()[1].0;
    let refused = with_token(arena, "put", old).args(["cursor", "late"]).run().exits(124);
    refused.says("cursor is not written").says(&old.to_string()).prints("");
    // Before the new leader writes, the resource knows no newer token.
    with_token(arena, "fence", old).args(["disk", "true"]).run().exits(0);
    with_token(arena, "fence", new).args(["disk", "true"]).run().exits(0);
    let ran = arena.path("ran");
    for _ in 0..2 {
        let late =
            with_token(arena, "fence", old).args(["disk", "touch"]).arg(&ran).run().exits(124);
        late.says(&format!("token {old} is stale: {new} has passed the fence of disk")).prints("");
    }
    assert!(!ran.exists());
    // Another resource has not seen the new one.
    with_token(arena, "fence", old).args(["other", "true"]).run().exits(0);
    arena.elect("get").args(["-e", "job", "cursor"]).run().exits(0).prints("old");
    with_token(arena, "put", new).args(["cursor", "new"]).run().exits(0);
    arena.elect("get").args(["-e", "job", "cursor"]).run().exits(0).prints("new");
}

/// It stands still between its check and its write.
const WRITES: &str = r#"
    kill -STOP $$
    "$E" fence disk touch "$RECORD.ran"; echo "fence $?" >>"$RECORD.late"
    "$E" put cursor late; echo "put $?" >>"$RECORD.late""#;

fn a_leader_that_stood_still_between_its_check_and_its_write_is_refused(arena: &Arena) {
    let is_stopped = |pid| state(pid) == Some('T');
    let one = Escapee::of_a_leader(arena, |it| it, WRITES, is_stopped);
    let words = "\"$E\" fence disk true && \"$E\" put cursor new";
    let mut two = Successor::start(arena, |it| it, words);
    two.has_done();
    let (late, said) = one.go_on();
    assert_eq!(late, "fence 124\nput 124\ndone\n", "{said}");
    assert!(said.contains("is stale") && said.contains("cursor is not written"), "{said}");
    assert!(!arena.path("record.ran").exists());
    arena.elect("get").args(["-e", "job", "cursor"]).run().exits(0).prints("new");
}

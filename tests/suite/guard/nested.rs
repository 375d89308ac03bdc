//! `elect run` inside the command of another `elect run`.

use elect_testkit::program::Elect;

use crate::support::Ground;

const ELECT: &str = env!("CARGO_BIN_EXE_elect");

/// `elect run` with these flags and, as its command, the rest.
fn inside(ground: &Ground, levels: &[&[&str]], script: &str) -> Elect {
    let first = ground.elect("run").args(levels[0]);
    let url = format!("file://{}", ground.state().display());
    let nest = |elect: Elect, flags: &&[&str]| elect.args([ELECT, "run", "-b", &url]).args(*flags);
    levels[1..].iter().fold(first, nest).sh(script)
}

#[test]
fn with_another_election_it_works() {
    let ground = Ground::new();
    let script = "echo $ELECT_LEADER_ELECTION; exit 3";
    inside(&ground, &[&["-e", "a"], &["-e", "b"]], script).run().exits(3).prints("b\n").is_quiet();
    inside(&ground, &[&["-e", "a"], &["-e", "b"], &["-e", "c"]], script).run().prints("c\n");
}

#[test]
fn each_level_has_a_token_and_a_lease_of_its_own() {
    let ground = Ground::new();
    let url = format!("file://{}", ground.state().display());
    let script = format!(
        "echo $ELECT_TOKEN; echo $ELECT_LEASE; {ELECT} run -b {url} -e b sh -c \
         'echo $ELECT_TOKEN; echo $ELECT_LEASE; {ELECT} check'"
    );
    let text = ground.elect("run").args(["-e", "a"]).sh(&script).run().exits(0).stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines.len(), lines[4]), (5, "leading, no time limit"), "{text}");
    assert!(lines[0] != lines[2] && lines[1] != lines[3], "{text}");
}

#[test]
fn with_its_own_parents_election_it_says_that_it_would_wait_for_itself() {
    let ground = Ground::new();
    let twice = inside(&ground, &[&["-e", "a"], &["-e", "a"]], "echo ran").run();
    twice.exits(125).prints("").says("it would wait for itself").says("-e");
    let between = inside(&ground, &[&["-e", "a"], &["-e", "b"], &["-e", "a"]], "echo ran").run();
    between.exits(125).prints("").says("it would wait for itself");
    // Also when the variables that tell are gone on the way.
    let url = format!("file://{}", ground.state().display());
    let script = format!("exec env -i {ELECT} run -b {url} -e a true");
    ground.elect("run").args(["-e", "a"]).sh(&script).run().exits(125).says("wait for itself");
}

#[test]
fn without_waiting_it_is_simply_not_acquired() {
    let ground = Ground::new();
    let ended = inside(&ground, &[&["-e", "a"], &["-n", "-e", "a"]], "echo ran").run();
    ended.exits(75).prints("").says("another candidate leads");
    inside(&ground, &[&["-e", "a"], &["-n", "-E0", "-e", "a"]], "echo ran")
        .run()
        .exits(0)
        .is_silent();
}

#[test]
fn in_the_only_slot_or_shard_it_says_so_too() {
    for flag in ["--slots", "--shards"] {
        let ground = Ground::new();
        let level = ["-e", "a", flag, "1"];
        let twice = inside(&ground, &[&level, &level], "echo ran").run();
        twice.prints("").says("it would wait for itself").says("-e");
    }
}

#[test]
fn the_outer_elections_name_is_not_taken_over() {
    let ground = Ground::new();
    let script = format!("{ELECT} run true");
    let url = format!("file://{}", ground.state().display());
    let elect = Elect::new(ELECT).arg("run").env("ELECT_BACKEND", url).env("ELECT_ELECTION", "a");
    elect.sh(&script).run().exits(0).is_quiet();
    assert!(ground.state().join("true").is_dir(), "the inner election is named after its command");
}

#[test]
fn a_nested_run_behind_another_waiter_is_refused() {
    // A leads; a stranger waits; the nested one would come third: it, too, waits for its parent.
    let ground = Ground::new();
    let url = format!("file://{}", ground.state().display());
    let script = format!(
        "until [ \"$({ELECT} status -b {url} -o json job | grep -c '\"place\"')\" = 1 ]; do :; done; \
         {ELECT} run -b {url} -e job true"
    );
    let leader = ground.job().sh(&script).spawn();
    crate::usage::led(&ground);
    let waiter = ground.job().sh("echo waiter").spawn();
    leader.wait().exits(125).says("it would wait for itself");
    waiter.wait().exits(0).prints("waiter\n");
}

//! A hook of a leadership lives on when the command is started again.

use elect_testkit::program::eventually;

use super::lines;
use crate::cli::see::{Arena, Ground};

/// Ends once it may.
const WAIT: &str = r#"sh -c 'echo begun >>"$RECORD.hook"
    until [ -e "$RECORD.go" ]; do sleep 0.02; done; echo done >>"$RECORD.hook"'"#;

/// Fails until its third start, which lets the hook go on and waits for that.
const SCRIPT: &str = r#"echo "$ELECT_TOKEN $ELECT_LEADER_ID" >>"$RECORD"
    until [ -e "$RECORD.hook" ]; do sleep 0.02; done
    [ $(wc -l <"$RECORD") -ge 3 ] || exit 1
    touch "$RECORD.go"
    for i in $(seq 1500); do
        case $(cat "$RECORD.hook") in *done) exit 0;; esac
        sleep 0.02
    done"#;

#[test]
fn a_hook_goes_on_while_the_command_is_started_again_and_is_run_once() {
    let arena = Arena::on(Ground::File);
    let flags = ["--restart", "on-failure", "--restart-delay", "20ms", "--hook-timeout", "1h"];
    let elect =
        arena.run_with("us", 15, |run| run.args(flags).args(["--on-elected", WAIT]), SCRIPT);
    let ended = elect.wait().exits(0);
    assert_eq!(lines(&arena, "hook"), ["begun", "done"]);
    assert!(!ended.stderr.contains("--on-elected"), "{}", ended.stderr);
    assert_eq!(arena.record().len(), 3);
}

#[test]
fn a_hook_that_ends_in_a_pause_keeps_nothing_up() {
    let arena = Arena::on(Ground::File);
    let flags = ["--restart", "always", "--restart-delay", "1h", "--hook-timeout", "1h"];
    let script = "echo \"$ELECT_TOKEN $ELECT_LEADER_ID\" >>\"$RECORD\"";
    let elect =
        arena.run_with("us", 15, |run| run.args(flags).args(["--on-elected", WAIT]), script);
    arena.wait_for_leader("us");
    eventually("a hook", || (lines(&arena, "hook") == ["begun"]).then_some(()));
    std::fs::write(arena.path("record.go"), "").expect("a file");
    eventually("its end", || (lines(&arena, "hook") == ["begun", "done"]).then_some(()));
    arena.elect("resign").arg("job").run().exits(0);
    elect.wait().exits(124);
}

use crate::support::Ground;

#[test]
fn a_command_runs_with_its_output_and_exit_code() {
    let ground = Ground::new();
    ground
        .run()
        .args(["sh", "-c", "echo out; echo err >&2; exit 7"])
        .run()
        .exits(7)
        .prints("out\n")
        .says("err");
}

#[test]
fn files_that_may_not_grow_are_an_error_and_no_end_without_a_word() {
    let ground = Ground::new();
    let limited = ground.run().arg("true").under(["prlimit", "--fsize=0"]);
    limited.run().exits(125).says("File too large");
}

/// Of a few kilobytes, as a service may have it.
#[test]
fn files_of_limited_size_hold_the_history() {
    let ground = Ground::new();
    for count in 1..=3 {
        ground.run().arg("true").under(["prlimit", "--fsize=16384"]).run().exits(0);
        let known = ground.elect("history").args(["job", "-o", "json"]).run().exits(0).stdout;
        assert_eq!(known.matches("\"token\"").count(), count, "{known}");
    }
}

#[test]
fn an_old_outcome_is_never_taken_for_this_ones() {
    let ground = Ground::new();
    let path = ground.path().join("outcome");
    std::fs::write(&path, "old").expect("written");
    let outcome = format!("--outcome={}", path.display());
    ground.elect("run").args([outcome.as_str(), "-e", "a/b", "true"]).run().exits(125);
    assert_eq!(std::fs::read_to_string(&path).expect("readable"), "");
}

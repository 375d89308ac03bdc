use crate::support::Ground;

#[test]
fn a_variable_close_to_one_of_elect_gives_a_warning() {
    let ground = Ground::new();
    let run = ground.run().env("ELECT_BACKND", "etcd://10.0.0.1");
    let said = "the variable ELECT_BACKND means nothing to elect: did you mean ELECT_BACKEND?";
    run.args(["true"]).run().exits(0).says(said);
}

#[test]
fn variables_of_other_subcommands_and_programs_give_no_warning() {
    let ground = Ground::new();
    // Of another subcommand; of a backend; of nobody.
    let run = ground.run().env("ELECT_HEALTH_INTERVAL", "1s").env("ELECT_USER", "me");
    let run = run.env("ELECT_TEST_WITHOUT", "").env("ELECT_SERVICE_HOST", "10.0.0.1");
    // The machine's own store does not matter here.
    let run = run.env("ELECT_BACKEND", format!("file://{}", ground.state().display()));
    run.args([env!("CARGO_BIN_EXE_elect"), "status"]).run().exits(0).is_quiet();
}

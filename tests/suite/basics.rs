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

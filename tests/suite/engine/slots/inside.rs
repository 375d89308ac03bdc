//! The command's environment with slots, and its use.

use elect_testkit::program::Elect;
use serde_json::Value;

use super::arena::{SlotsArena, on_each_store};
use crate::store::real::Brand;

on_each_store! {
    the_command_leads_an_election_that_is_its_slot
    a_command_that_is_started_again_stays_in_its_slot
}

const ELECT: &str = env!("CARGO_BIN_EXE_elect");

fn run(arena: &SlotsArena) -> Elect {
    let run = arena.elect("run").args(["-e", "job", "--slots", "2"]).env("E", ELECT);
    run.env("D", arena.path("").display().to_string())
}

fn the_command_leads_an_election_that_is_its_slot(brand: Option<Brand>) {
    let arena = SlotsArena::on(brand);
    let script = r#"
        echo "$ELECT_SLOT $ELECT_LEADER_ELECTION ${ELECT_SLOTS-no}"
        "$E" check >/dev/null && "$E" put cursor "of $ELECT_SLOT" && "$E" get cursor && echo
        "$E" fence disk sh -c 'echo "fenced $ELECT_LEADER_ELECTION"'
        [ "$ELECT_SLOT" = 1 ] || "$E" run -b "$ELECT_LEADER_BACKEND" -e job --slots 2 -v -- sh -c '
            echo "$ELECT_SLOT $ELECT_LEADER_ELECTION"; "$E" put cursor "of the second"'
    "#;
    let hook =
        format!("echo \"$ELECT_SLOT $ELECT_LEADER_ELECTION\" >{}", arena.path("hook").display());
    let outcome = arena.path("outcome");
    let outcome = outcome.to_str().expect("text");
    let run = run(&arena).env("ELECT_SLOTS", "2").args([
        "-v",
        "--on-elected",
        &hook,
        "--outcome",
        outcome,
    ]);
    let ended = run.sh(script).run().exits(0);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(lines, ["0 job:0 no", "of 0", "fenced job:0", "1 job:1"], "{}", ended.stderr);
    for (slot, text) in [("job:0", "of 0"), ("job:1", "of the second")] {
        arena.elect("get").args(["-e", slot, "cursor"]).run().exits(0).prints(text);
    }
    let history = arena.elect("history").args(["-o", "json", "job:1"]).run().exits(0).stdout;
    assert!(history.contains("exited with code 0"), "{history}");
    let whole = arena.elect("history").arg("job").run().exits(0);
    whole.says("job has 2 slots, each with its own history: see job:0");
    ended.says("leading job:0, token ").says("leading job:1, token ");
    let text = std::fs::read_to_string(outcome).expect("an outcome");
    let outcome: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((&outcome["election"], &outcome["slot"]), (&"job".into(), &0.into()));
}

fn a_command_that_is_started_again_stays_in_its_slot(brand: Option<Brand>) {
    let arena = SlotsArena::on(brand);
    let script =
        "echo \"$ELECT_LEADER_ELECTION\"; [ -e \"$D/again\" ] || { >\"$D/again\"; exit 3; }";
    let restart = ["--restart", "on-failure", "--restart-delay", "10ms", "--lock-delay", "10ms"];
    run(&arena).args(restart).sh(script).run().exits(0).prints("job:0\njob:0\n");
}

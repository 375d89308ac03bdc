//! In the command of an `elect run`, which finds all that is needed.

use elect_testkit::program::Elect;

use crate::cli::see::{Arena, Ground, on_each_cluster, on_each_store};

on_each_store! {
    a_command_needs_to_name_nothing
    a_value_that_was_put_is_there_for_the_next_leader
    the_store_that_leads_beats_the_one_that_was_left_in_the_environment
}

const ELECT: &str = env!("CARGO_BIN_EXE_elect");

fn run(arena: &Arena, script: &str) -> Elect {
    arena.elect("run").args(["-e", "job"]).env("E", ELECT).env("RECORD", arena.path("")).sh(script)
}

fn a_command_needs_to_name_nothing(arena: &Arena) {
    let script = r#"
        "$E" fence disk sh -c 'echo "in with $ELECT_TOKEN of $ELECT_LEADER_ELECTION"' && echo "$ELECT_TOKEN"
        "$E" get cursor; echo "none: $?"
        "$E" put cursor 4711 && "$E" get cursor && echo
        printf 'a\0b\n' | "$E" put cursor && "$E" get cursor | od -An -c
        printf %s - | "$E" put cursor - && "$E" get cursor && echo
        "$E" put cursor '' && "$E" get cursor && echo "empty: $?"
        "$E" fence disk sh -c 'exit 7'; echo "$?""#;
    let ended = run(arena, script).run().exits(0).is_quiet();
    let lines: Vec<&str> = ended.stdout.lines().collect();
    let token: u64 = lines[1].parse().expect("a token");
    assert_eq!(lines[0], format!("in with {token} of job"));
    let bytes: Vec<&str> = lines[4].split_whitespace().collect();
    assert_eq!(bytes, ["a", "\\0", "b", "\\n"]);
    assert_eq!(
        [lines[2], lines[3], lines[5], lines[6], lines[7]],
        ["none: 1", "4711", "-", "empty: 0", "7"]
    );
    // Only in the command is it known which election is meant.
    arena.elect("get").arg("cursor").run().exits(125).says("-e NAME");
}

fn a_value_that_was_put_is_there_for_the_next_leader(arena: &Arena) {
    run(arena, "\"$E\" put cursor one").run().exits(0);
    run(arena, "\"$E\" get cursor; \"$E\" put cursor two").run().exits(0).prints("one");
    // No candidate is in the election now. Its name and store are enough to read.
    arena.elect("get").args(["-e", "job", "cursor"]).run().exits(0).prints("two");
    arena.elect("get").args(["-e", "job", "place"]).run().exits(1).is_silent();
    let unknown = arena.elect("get").args(["-e", "jo", "cursor"]).run().exits(1).prints("");
    unknown.says("no election jo at ").says("did you mean job?");
    let names = arena.elect("status").args(["-o", "json"]).run().exits(0).stdout;
    assert!(!names.contains("cursor") && !names.contains("\".data\""), "{names}");
}

fn the_store_that_leads_beats_the_one_that_was_left_in_the_environment(arena: &Arena) {
    let elsewhere = format!("file://{}", arena.path("elsewhere").display());
    let script = "\"$E\" put cursor here && \"$E\" fence disk true && \"$E\" get cursor";
    run(arena, script).env("ELECT_BACKEND", &elsewhere).run().exits(0).prints("here");
    assert!(!arena.path("elsewhere").exists());
    // A user who names another store at the call means it.
    let script = format!("\"$E\" put -b '{elsewhere}' cursor there");
    run(arena, &script).run().exits(124).says("cursor is not written");
}

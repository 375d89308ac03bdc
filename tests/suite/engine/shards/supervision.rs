//! Commands that are started again, are sick, or have hooks: each shard by itself.

use std::ffi::OsString;
use std::fs;

use elect_testkit::program::eventually;

use super::{Arena, Ground, Picture, Troop, on_each_cluster, on_each_store};

on_each_store! {
    slow: a_command_that_is_started_again_disturbs_no_other
    a_command_that_is_sick_disturbs_no_other
    hooks_are_those_of_a_shard
}

/// A line of shell before the command of a shard.
fn after(script: &str, command: Vec<OsString>) -> Vec<OsString> {
    let script = format!("{script}\nexec \"$@\"");
    ["sh", "-c", &script, "sh"].into_iter().map(OsString::from).chain(command).collect()
}

fn lines(arena: &Arena, name: &str) -> Vec<String> {
    let text = fs::read_to_string(arena.path(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn is_running_but_1(picture: &Picture) -> bool {
    [0, 2, 3].iter().all(|shard| picture.run(*shard).is_some())
}

fn a_command_that_is_started_again_disturbs_no_other(arena: &Arena) {
    let mut troop = Troop::new(arena, 4);
    let script = "[ $ELECT_SHARD != 1 ] || { echo $ELECT_TOKEN >>\"$STARTS\"; exit 3; }";
    let words = after(script, troop.stamper("a").command());
    let restart = ["--restart", "always", "--restart-delay", "20ms", "--restart-max-delay", "40ms"];
    let starts = arena.path("starts");
    troop.join_with("a", |it| it.args(restart).env("STARTS", starts), words);
    let before = troop.wait_until("the others to run", is_running_but_1);
    let seen = lines(arena, "starts").len();
    eventually("some starts", || (lines(arena, "starts").len() > seen + 4).then_some(()));
    let tokens = lines(arena, "starts");
    assert!(tokens.iter().all(|token| *token == tokens[0]), "{tokens:?}");
    assert!(before.changed(&troop.picture()).is_empty());
    troop.oracle.assert_sound();
}

fn a_command_that_is_sick_disturbs_no_other(arena: &Arena) {
    let mut troop = Troop::new(arena, 4);
    let words = troop.stamper("a").command();
    let check = "sh -c 'test $ELECT_SHARD != 1 || ! test -e $ILL'";
    let health = ["--health-cmd", check, "--health-interval", "50ms", "--health-threshold", "1"];
    let ill = arena.path("ill");
    troop.join_with("a", |it| it.args(health).env("ILL", &ill), words);
    let before = troop.wait_for_even(&["a"]);
    fs::write(&ill, "").expect("a file");
    let (_, token) = before.run(1).expect("it runs");
    troop.wait_until("another run of shard 1", |picture| {
        picture.run(1).is_some_and(|(_, now)| now > token)
    });
    fs::remove_file(&ill).expect("a file");
    let after = troop.wait_for_even(&["a"]);
    assert_eq!(before.changed(&after).into_iter().collect::<Vec<_>>(), [1]);
    troop.oracle.assert_sound();
}

fn hooks_are_those_of_a_shard(arena: &Arena) {
    let mut troop = Troop::new(arena, 3);
    let words = troop.stamper("a").command();
    let hook = |name: &str| format!("sh -c 'echo {name} $ELECT_SHARD $ELECT_TOKEN >>$HOOKS'");
    let flags = ["--on-elected", &hook("elected"), "--on-lost", &hook("lost")].map(str::to_owned);
    let hooks = arena.path("hooks");
    troop.join_with("a", |it| it.args(flags).env("HOOKS", &hooks), words);
    let picture = troop.wait_for_even(&["a"]);
    let line = |name: &str, shard: u32| {
        let (_, token) = picture.run(shard).expect("it runs");
        format!("{name} {shard} {token}")
    };
    let mut expected: Vec<String> = (0..3).map(|shard| line("elected", shard)).collect();
    let hooked = |expected: &[String]| {
        eventually(&format!("{expected:?}"), || {
            let mut lines = lines(arena, "hooks");
            lines.sort_unstable();
            (lines == *expected).then_some(())
        });
    };
    hooked(&expected);
    arena.elect("resign").args(["job:2", "--timeout", "0"]).run();
    let after = troop.wait_until("another run of shard 2", |now| {
        now.run(2).is_some_and(|(_, token)| picture.run(2).is_some_and(|(_, last)| token > last))
    });
    let (_, token) = after.run(2).expect("it runs");
    expected.extend([format!("elected 2 {token}"), line("lost", 2)]);
    expected.sort_unstable();
    hooked(&expected);
}

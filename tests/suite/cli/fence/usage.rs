//! The calls of the fence commands, and the refusals.

use elect_testkit::program::Elect;

use crate::support::Ground;

fn fence(ground: &Ground) -> Elect {
    ground.elect("fence").args(["-e", "job", "--token", "7"])
}

#[test]
fn a_fence_becomes_its_command() {
    let ground = Ground::new();
    fence(&ground)
        .args(["disk", "--"])
        .sh("echo out; echo err >&2; exit 7")
        .run()
        .exits(7)
        .prints("out\n");
    fence(&ground).args(["disk", "sh", "-c", "kill -9 $$"]).run().exits(137);
    // The flags may come behind the resource, and what is behind the command is its own.
    let fence_of =
        ground.elect("fence").args(["disk", "-e", "job", "--token", "7", "echo", "--token", "8"]);
    fence_of.run().exits(0).prints("--token 8\n");
    let script = "[ \"$PPID\" = \"$SHELL_PID\" ] && echo the same";
    let ended = Elect::new("sh").args(["-c", "export SHELL_PID=$$; \"$@\"; true", "sh"]);
    let elect = env!("CARGO_BIN_EXE_elect");
    let state = format!("file://{}", ground.state().display());
    let words =
        [elect, "fence", "-b", &state, "-e", "job", "--token", "7", "disk", "sh", "-c", script];
    ended.args(words).run().exits(0).prints("the same\n");
}

#[test]
fn a_command_that_cannot_be_executed_is_told_as_by_run() {
    let ground = Ground::new();
    fence(&ground).args(["disk", "no-such-command"]).run().exits(127).says("in no folder of PATH");
    fence(&ground)
        .args(["disk", "/etc/passwd"])
        .run()
        .exits(126)
        .says("cannot execute /etc/passwd");
    // A script that names no interpreter is the shell's.
    let script = ground.path().join("script");
    std::fs::write(&script, "echo \"$1\"\n").unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    fence(&ground).arg("disk").arg(&script).arg("word").run().exits(0).prints("word\n");
}

#[test]
fn its_command_has_the_token_and_the_pipe_signal_as_they_are_meant() {
    let ground = Ground::new();
    let said = fence(&ground).env("ELECT_TOKEN", "3").args(["disk", "printenv", "ELECT_TOKEN"]);
    said.run().exits(0).prints("7\n");
    let ignored = "grep SigIgn /proc/self/status";
    let plain = Elect::new("sh").args(["-c", ignored]).run().exits(0).stdout;
    fence(&ground).args(["disk", "sh", "-c", ignored]).run().exits(0).prints(&plain);
}

#[test]
fn a_missing_or_wrong_name_is_refused_with_a_way_out() {
    let ground = Ground::new();
    let refused = |words: &[&str], says: &str| {
        let ended = ground.elect(words[0]).args(&words[1..]).run().exits(125);
        ended.says(says).prints("");
    };
    refused(&["fence", "disk", "true"], "-e NAME");
    refused(&["fence", "-e", "job", "disk", "true"], "--token");
    refused(&["put", "-e", "job", "a", "b"], "ELECT_TOKEN is not set");
    refused(
        &["fence", "-e", "job", "--token", "7", "a/b", "true"],
        "\"a/b\" cannot name a resource",
    );
    refused(&["put", "-e", "job", "--token", "7", ".a", "x"], "letters, digits and");
    refused(&["get", "-e", "job", ""], "cannot name a key");
    refused(&["fence", "-e", "job", "--token", "x", "disk", "true"], "--token");
    refused(&["fence", "-e", "job", "--token", "7", "disk"], "COMMAND");
    refused(&["get", "-e", "0", "a"], "must not be a number");
    assert!(!ground.state().exists());
}

#[test]
fn the_token_of_one_election_is_not_taken_to_another() {
    let ground = Ground::new();
    let inside = |words: &str| {
        let script = format!("\"$E\" {words}");
        ground.run().env("E", env!("CARGO_BIN_EXE_elect")).sh(&script).run()
    };
    inside("fence -e other disk true").exits(125).says("of the election job, not of other");
    inside("put -e other a b").exits(125).says("give the one of that election");
    inside("fence -e other --token 7 disk echo in").exits(0).prints("in\n");
    inside("get -e other a").exits(1);
}

#[test]
fn values_have_a_greatest_length() {
    let ground = Ground::new();
    let script = "head -c 65536 /dev/zero | \"$E\" put a && \"$E\" get a | wc -c
        head -c 65537 /dev/zero | \"$E\" put a; echo $?; \"$E\" get a | wc -c";
    let run = ground.run().env("E", env!("CARGO_BIN_EXE_elect")).sh(script);
    run.run().exits(0).prints("65536\n125\n65536\n").says("of more than 65536 bytes is not kept");
}

#[test]
fn a_damaged_fence_lets_no_token_pass() {
    let ground = Ground::new();
    fence(&ground).args(["disk", "true"]).run().exits(0);
    let mark = ground.state().join("job/fence-disk");
    assert_eq!(std::fs::read_to_string(&mark).unwrap(), "7");
    std::fs::write(&mark, "x").unwrap();
    let refused = fence(&ground).args(["disk", "echo", "in"]).run().exits(125);
    refused.says("holds no token").says("the command was not run").prints("");
}

#[test]
fn a_password_is_not_handed_on_to_the_command() {
    let ground = Ground::new();
    // The local disk has none: what is left of the URL shows what would be.
    let found = ground.run().args(["printenv", "ELECT_LEADER_BACKEND"]).run().exits(0).stdout;
    assert_eq!(found, format!("file://{}\n", ground.state().display()));
}

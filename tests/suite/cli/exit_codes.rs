//! elect's exit codes, and its messages with them.

use std::os::unix::fs::PermissionsExt;

use crate::prelude::*;

#[test]
fn the_commands_own_code_is_kept() {
    let ground = Ground::new();
    for code in [0, 7, 75, 124, 125, 255] {
        ground.job().sh(&format!("exit {code}")).run().exits(code).is_silent();
    }
}

#[test]
fn a_command_ended_by_a_signal_gives_128_and_its_number() {
    let ground = Ground::new();
    for (name, code) in [("TERM", 143), ("KILL", 137), ("USR1", 138), ("SEGV", 139)] {
        ground.job().sh(&format!("ulimit -c 0; kill -{name} $$")).run().exits(code).is_silent();
    }
}

#[test]
fn a_command_that_cannot_be_executed_gives_126() {
    let ground = Ground::new();
    let plain = ground.path().join("plain");
    fs::write(&plain, "exit 0\n").unwrap();
    for path in [plain.as_path(), ground.path()] {
        let shown = path.display().to_string();
        ground.job().arg(path).run().exits(126).says(&shown).says("Permission denied");
    }
    ground.is_left_empty();
}

#[test]
fn a_program_for_another_machine_gives_126() {
    let ground = Ground::new();
    let bad = ground.path().join("bad");
    fs::write(&bad, "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(&bad, fs::Permissions::from_mode(0o755)).unwrap();
    // As in a shell: what is missing is the interpreter.
    ground.job().arg(&bad).run().exits(127);
}

#[test]
fn a_command_that_is_not_there_gives_127() {
    let ground = Ground::new();
    for command in ["./no-such-command", "no-such-command", "/etc/passwd/x"] {
        ground.job().arg(command).run().exits(127).says(command);
    }
    ground.job().env("PATH", "/nowhere").arg("ls").run().exits(127);
    ground.job().env("PATH", "/nowhere:/etc/passwd:/bin:/usr/bin").arg("true").run().exits(0);
    ground.is_left_empty();
}

#[test]
fn a_script_without_an_interpreter_runs_in_a_shell() {
    let ground = Ground::new();
    let script = ground.path().join("script");
    fs::write(&script, "echo \"$0 $1\"; exit 3\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let text = format!("{} word\n", script.display());
    ground.job().arg(&script).arg("word").run().exits(3).prints(&text);
    // And by its name, as from a crontab.
    ground.job().env("PATH", ground.path()).args(["script", "word"]).run().exits(3).prints(&text);
}

#[test]
fn a_folder_in_the_place_of_the_command_is_told() {
    let ground = Ground::new();
    let folder = ground.path().display().to_string();
    ground
        .job()
        .arg(&folder)
        .run()
        .exits(126)
        .says(&format!("{folder}: Permission denied (it is a"));
}

/// Without a retry: it makes no directory, as long as one tries.
#[test]
fn a_file_system_that_makes_no_directories_is_refused() {
    let ended = Elect::new(ELECT).args(["run", "-b", "file:///proc/elect", "true"]).run();
    let said = ended.exits(125).says("name a directory on a local disk with -b file:///DIR").stderr;
    assert!(!said.contains("again") && !said.contains("tried"), "{said}");
}

#[test]
fn wrong_usage_gives_125() {
    let ground = Ground::new();
    ground.job().arg("--no-such-flag").arg("true").run().exits(125).says("--no-such-flag");
    ground.job().run().exits(125).says("COMMAND");
    ground.elect("no-such-subcommand").run().exits(125).says("no-such-subcommand");
    assert!(!ground.state().exists(), "nothing was run");
}

#[test]
fn a_store_out_of_reach_gives_125_and_the_flag_that_tries_longer() {
    for (flag, said) in [
        ("--wait=500ms", "; the time of -w (500ms) is over: a longer -w tries longer"),
        ("--no-wait", "; tried for up to 10s: -w DUR in the place of -n tries longer"),
        ("--quiet", "; tried for up to 10s: -w DUR tries longer"),
    ] {
        let elect = Elect::new(ELECT).args(["run", "-b", "etcd://127.0.0.1:1", flag, "true"]);
        elect.run().exits(125).says("nothing listens there").says(said);
    }
}

/// It accepts connections, and says nothing.
#[test]
fn a_silent_store_is_named_with_what_to_type_next() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("an address").port();
    for scheme in ["etcd", "zk"] {
        let url = format!("{scheme}://127.0.0.1:{port}");
        let ended = Elect::new(ELECT).args(["run", "-b", &url, "-w", "500ms", "true"]).run();
        let ended = ended.exits(125).says(&url).says("; the time of -w (500ms) is over");
        ended.says(&format!("`elect doctor -b {url}"));
    }
}

#[test]
fn help_and_version_go_to_stdout() {
    let ground = Ground::new();
    for words in [&["run", "--help"][..], &["--help"], &["--version"], &["help", "status"]] {
        let elect = Elect::new(ELECT);
        let ended = elect.args(words).run().exits(0);
        assert!(ended.stderr.is_empty() && ended.stdout.contains("elect"), "{ended:?}");
    }
    assert!(ground.elect("run").arg("--help").run().stdout.contains("75"));
}

#[test]
fn not_acquired_exits_with_75_or_the_flags_code() {
    let ground = Ground::new();
    let _leader = ground.leader();
    let refused = |flags: &[&str]| ground.job().args(flags).sh("echo ran").run().prints("");
    for flags in [&["-n"][..], &["--no-wait"], &["-w", "0"], &["-w", "50ms"], &["--wait=0.05"]] {
        refused(flags).exits(75).says("another candidate leads");
    }
    refused(&["-n", "-E", "9"]).exits(9).says("another candidate leads");
    refused(&["-n", "--conflict-exit-code", "0"]).exits(0).is_silent();
    refused(&["-n", "-E", "0"]).exits(0).is_silent();
    refused(&["-w", "50ms", "-E", "0"]).exits(0).is_silent();
    assert_eq!(ground.queue().len(), 1, "those who gave up are gone");
}

#[test]
fn a_free_election_is_won_without_waiting() {
    let ground = Ground::new();
    ground.job().args(["-n"]).sh("echo ran").run().exits(0).prints("ran\n");
    ground.job().args(["-w", "0"]).sh("echo ran").run().exits(0).prints("ran\n");
}

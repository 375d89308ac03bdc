//! Habits that people bring from elsewhere: what elect makes of them, and the hint that helps.

use std::os::unix::fs::PermissionsExt as _;

use crate::guard::terminal::{does, shell};
use crate::prelude::*;

/// On the local disk of the ground, as people call it who name no store.
fn bare(ground: &Ground, words: &[&str]) -> Elect {
    Elect::new(ELECT).env("HOME", ground.path()).env("STATE_DIRECTORY", ground.state()).args(words)
}

#[test]
fn commands_of_other_programs_get_a_hint() {
    let ground = Ground::new();
    for (words, tip) in [
        (&["list"][..], "elect status shows who leads"),
        (&["ps"], "elect status shows who leads"),
        (&["stop"], "elect resign ELECTION makes the leader hand over"),
        (&["./backup.sh"], "to run a command: elect run ./backup.sh"),
        (&["backup.sh", "--fast"], "to run a command: elect run backup.sh"),
        (&["-n", "./backup.sh"], "flags come after the subcommand: elect run -n"),
        (&["run", "-max-run", "2h", "true"], "write two dashes: --max-run"),
        (&["run", "-once=x", "true"], "write two dashes: --once"),
        (&["run", "--timeout", "5", "true"], "--max-run DUR limits how long the command runs"),
        (&["run", "--timeout=5", "true"], "-w DUR how long elect waits"),
        (&["run", "-n", "-c", "true"], "elect run -e NAME -- sh -c 'COMMAND'"),
        (&["run", "-x", "/var/lock/x", "true"], "at most one candidate leads in any case"),
        (&["run", "-nX", "true"], "at most one candidate leads in any case"),
        (&["run", "--lockfile=/tmp/x", "true"], "elect needs no lock file"),
        (&["run", "--nice", "19", "true"], "put nice behind elect"),
        (&["run", "--nonblock", "true"], "write -n, or --no-wait"),
        (&["run", "--close", "true"], "leave it out"),
        (&["run", "-F", "true"], "leave it out"),
    ] {
        let said = bare(&ground, words).run().exits(125).prints("").says(tip).stderr;
        assert_eq!(said.matches("tip:").count(), 1, "{words:?}: {said}");
        assert!(!said.contains("similar"), "{words:?}: {said}");
    }
    assert!(!ground.state().exists(), "nothing took part");
}

/// The whole of it: what would stay in `elect status` for good.
#[test]
fn a_command_that_cannot_be_executed_takes_part_in_nothing() {
    let ground = Ground::new();
    let lock = ground.path().join("x.lock");
    fs::write(&lock, "").expect("a lock file");
    let lock = lock.to_str().expect("UTF-8");
    for (words, code, said) in [
        (&["-w", "6", "h"][..], 127, "write the duration as one word: -w 6h"),
        (&["--max-run", "120", "min"], 127, "write the duration as one word: --max-run 120min"),
        (&["--wait=6", "h"], 127, "write the duration as one word: --wait 6h"),
        (&["bakcup.sh"], 127, "cannot execute bakcup.sh: No such file or directory"),
        (&["./bakcup.sh"], 127, "(from "),
        (&["TZ=UTC", "date"], 127, "write a variable before elect: TZ=... elect run COMMAND"),
        (&["PGPASSWORD=hush", "date"], 127, "before elect: PGPASSWORD=... elect run"),
        (&["-n", "/no/such/x", "./job"], 127, "elect run -e x -- ./job"),
        (&["-n", "-w", "5", lock, "true"], 125, "exclude each other"),
        (
            &["-w", "5", lock, "true"],
            126,
            "elect needs no lock file, as flock does: elect run -e x.lock",
        ),
        (&["-n", lock, "-c", "true; false"], 126, "elect run -e x.lock -- sh -c ..."),
        (&["-n", "/etc", "true"], 126, "elect run -e etc -- true"),
        (&["-n", "no/such/x.lock", "true"], 127, "elect run -e x.lock -- true"),
        (&["5m", "true"], 127, "how long the command runs: --max-run 5m;"),
        (&["-e", "job", "echo some words"], 127, "leave out the quotes, or write sh -c before it"),
        (&["-e", "job", "--", ""], 127, "the command is an empty word"),
    ] {
        let ended = bare(&ground, &["run"]).args(words).run().exits(code).prints("").says(said);
        let said = ended.stderr;
        assert!(!said.contains("-e TZ") && !said.contains("hush"), "{words:?}: {said}");
    }
    assert!(!ground.state().exists(), "nothing took part");
    // It is told where a leader would have been waited for, and the outcome says it too.
    let _leader = ground.leader();
    let outcome = ground.path().join("outcome");
    let run = ground.job().arg("--outcome").arg(&outcome);
    run.clone().args(["-n", "no-such-command"]).run().exits(127);
    let found: Value = serde_json::from_slice(&fs::read(&outcome).expect("one")).expect("JSON");
    assert_eq!((&found["outcome"], &found["exit_code"]), (&"not_found".into(), &127.into()));
    assert!(found["id"].is_null() && found["token"].is_null(), "{found}");
    run.args(["-n", lock]).run().exits(126);
}

/// Looking for it beforehand refuses nothing that can be executed.
#[test]
fn every_executable_takes_part() {
    let ground = Ground::new();
    let bin = ground.path().join("bin");
    let other = ground.path().join("other");
    for folder in [&bin, &other] {
        fs::create_dir(folder).expect("a folder");
    }
    let program = |path: &Path, text: &str, mode: u32| {
        fs::write(path, text).expect("a program");
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("mine");
    };
    // Not to be executed in the first folder, but in the second; the folder of the name counts as neither.
    program(&bin.join("tool"), "#!/bin/sh\necho first\n", 0o644);
    program(&other.join("tool"), "#!/bin/sh\necho second\n", 0o755);
    let path = format!("{}:{}:/usr/bin:/bin", bin.display(), other.display());
    ground.job().env("PATH", &path).arg("tool").run().exits(0).prints("second\n");
    // Without a first line, which the shell runs.
    program(&bin.join("plain"), "echo plain\n", 0o755);
    ground.job().env("PATH", &path).arg("plain").run().exits(0).prints("plain\n");
    // An empty folder in PATH is the current one.
    let here =
        Elect::new("sh").args(["-c", "cd \"$D\" && PATH=: exec \"$E\" run -b \"$B\" -e job plain"]);
    let here = here.env("D", &bin).env("E", ELECT);
    here.env("B", format!("file://{}", ground.state().display())).run().exits(0).prints("plain\n");
}

#[test]
fn a_flag_after_the_command_is_told_unless_it_is_meant() {
    let ground = Ground::new();
    let job = |words: &[&str]| ground.job().args(words).run().exits(0);
    let said = "echo gets --max-run: elect takes its own flags before the command";
    let ended = job(&["echo", "0", "--max-run", "2h"]).prints("0 --max-run 2h\n").says(said);
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
    job(&["echo", "--once", "today", "--hold=1m"]).says("echo gets --once and --hold");
    for meant in [
        &["--", "echo", "0", "--max-run", "2h"][..],
        &["-q", "echo", "--max-run", "2h"],
        // Many programs have these.
        &["echo", "-n", "-v", "--config", "x", "--verbose"],
        &["echo", "--wait", "--max-run"],
        &["echo", "ssh", "--", "--max-run", "2h"],
    ] {
        assert_eq!(job(meant).stderr, "", "{meant:?}");
    }
    job(&["-v", "echo", "--config", "x"]).says("echo gets --config");
}

/// A pager shows what the command prints, on the screen that is also our stderr.
#[test]
fn nothing_is_written_over_a_pager() {
    let ground = Ground::new();
    let mut terminal = shell(&ground);
    let shown = does(&mut terminal, "$E run -e job echo ran | cat");
    assert!(shown.contains("ran") && !shown.contains("elect:"), "{shown}");
    let shown = does(&mut terminal, "$E run -e job echo ran >$D/out");
    assert!(!shown.contains("elect:"), "{shown}");
    // A user who asks for them gets them, and so does a terminal alone. A warning comes in any case.
    for line in ["$E run -v -e job echo ran | cat", "$E run -e job echo ran"] {
        let shown = does(&mut terminal, line);
        assert!(shown.contains("the command exited with code 0"), "{line}: {shown}");
    }
    let shown = does(&mut terminal, "$E run -e job echo --max-run 2h | cat");
    assert!(shown.contains("gets --max-run"), "{shown}");
}

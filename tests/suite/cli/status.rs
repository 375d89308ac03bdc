//! `elect status`: who leads and who waits.

use std::os::unix::fs::PermissionsExt;

use elect_testkit::program::state;

use crate::prelude::*;

#[test]
fn an_election_without_a_leader_is_shown() {
    let ground = Ground::new();
    let ended = ground.elect("status").run().exits(0).says("there are no elections");
    assert_eq!(ended.stdout.lines().count(), 2, "{ended:?}");
    assert!(!ground.state().exists(), "a look creates nothing");
    let ended = ground.elect("status").arg("job").run().exits(1).says("no election job at ");
    assert!(ended.stdout.contains("no-leader"), "{ended:?}");
    ground.job().arg("true").run().exits(0);
    ground.elect("status").arg("job").run().exits(1).is_quiet();
    ground.elect("status").run().exits(0).is_quiet();
}

#[test]
fn leader_and_waiters_in_their_places() {
    let ground = Ground::new();
    let mut leader = ground.job().args(["--id", "first"]).sh(crate::usage::STAY).spawn();
    ground.said("started");
    let mut second = ground.job().args(["--id", "second", "true"]).spawn();
    ground.awaits(1);
    let _third = ground.job().args(["--id", "third", "true"]).spawn();
    ground.awaits(2);
    let status = ground.status();
    let (head, waiting) = (&status["leader"], &status["waiting"]);
    assert!(head["id"].as_str().unwrap().starts_with("first-"), "{status}");
    assert_eq!((&head["pid"], &head["command"]), (&leader.pid().into(), &"sh".into()));
    assert_eq!((&head["remaining_ms"], &head["containment"]), (&Value::Null, &"scan".into()));
    assert!(head["token"].is_u64() && head["since"].is_string() && head["joined"].is_string());
    assert_eq!(status["backend"], format!("file://{}", ground.state().display()));
    assert_eq!((&waiting[0]["place"], &waiting[1]["place"]), (&1.into(), &2.into()));
    assert_eq!(waiting[0]["pid"], second.pid());
    assert!(waiting[1]["id"].as_str().unwrap().starts_with("third-"), "{status}");
    let host = nix::unistd::gethostname().unwrap().into_string().unwrap();
    assert!(head["host"] == *host && waiting[0]["host"] == *host, "{status}");
    // The one in the middle leaves: the places close up.
    second.ended_by(Signal::SIGTERM).exits(143);
    let status = ground.status();
    assert!(status["waiting"][0]["id"].as_str().unwrap().starts_with("third-"), "{status}");
    assert_eq!(status["waiting"].as_array().unwrap().len(), 1);
    ground.elect("status").arg("job").run().exits(0);
    ground.elect("status").args(["job", "vacant"]).run().exits(1);
    // A crash of the leader leaves no leader behind.
    leader.ended_by(Signal::SIGKILL);
    ground.is_left_empty();
}

#[test]
fn all_three_forms_tell_the_same() {
    let ground = Ground::new();
    let _leader = ground.leader();
    let _waiter = ground.job().arg("true").spawn();
    ground.awaits(1);
    let text = |form: &str| ground.elect("status").args(["-o", form, "job"]).run().exits(0).stdout;
    let json: Value = serde_json::from_str(&text("json")).unwrap();
    assert_eq!(serde_yaml::from_str::<Value>(&text("yaml")).unwrap(), json);
    let table = text("table");
    let rows: Vec<Vec<&str>> =
        table.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
    let heading = [
        "ELECTION",
        "ROLE",
        "PLACE",
        "ID",
        "HOST",
        "PID",
        "COMMAND",
        "SINCE",
        "TOKEN",
        "LEFT",
        "CONTAINMENT",
    ];
    assert_eq!(rows[0], heading);
    assert!(table.starts_with(&format!("backend: file://{}\n", ground.state().display())));
    let leader = &json["elections"][0]["leader"];
    assert_eq!((rows[1][1], rows[1][3]), ("leader", leader["id"].as_str().unwrap()));
    assert_eq!((rows[1][8], rows[1][9]), (&*leader["token"].to_string(), "unlimited"));
    assert_eq!(rows[2][..3], ["job", "waiting", "1"]);
}

#[test]
fn all_elections_if_none_is_named() {
    let ground = Ground::new();
    let _leader = ground.leader();
    ground.elect("run").args(["-e", "another", "true"]).run().exits(0);
    fs::create_dir(ground.state().join("not an election")).unwrap();
    fs::write(ground.state().join("file"), "").unwrap();
    let ended = ground.elect("status").args(["-o", "json"]).run().exits(0).is_quiet();
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    let names: Vec<&str> = report["elections"]
        .as_array()
        .unwrap()
        .iter()
        .map(|election| election["election"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["another", "job"]);
}

#[test]
fn a_store_that_cannot_be_read_gives_125() {
    let ground = Ground::new();
    fs::write(ground.state(), "a file in the directory's place").unwrap();
    for form in ["table", "json", "yaml"] {
        let ended = ground.elect("status").args(["-o", form, "job"]).run();
        ended.exits(125).prints("").says(&ground.state().display().to_string());
    }
    ground.elect("status").args(["-o", "xml"]).run().exits(125).says("table");
}

#[test]
fn a_reader_that_is_gone_does_no_harm() {
    let ground = Ground::new();
    let _leader = ground.leader();
    for form in ["table", "json", "yaml"] {
        let script = "\"$@\" | head -n 0; echo ${PIPESTATUS[0]}";
        let elect = ground.elect("status").args(["-o", form]).under(["bash", "-c", script, "bash"]);
        for _ in 0..10 {
            let ended = elect.run().exits(0);
            assert!(!ended.stderr.contains("panicked"), "{ended:?}");
        }
    }
    // Nothing can be written from the start: the device is full, or the reader is gone.
    let elect = ground.elect("status").under(["bash", "-c", "\"$@\" >/dev/full", "bash"]);
    elect.run().exits(125).says("cannot write to stdout");
    let closed = Elect::new("bash").args(["-c", "exec 3> >(:); wait $!; \"$@\" >&3", "bash"]);
    let closed = closed.args([ELECT, "status", "-b"]);
    let ended = closed.arg(format!("file://{}", ground.state().display())).run();
    assert!(!ended.stderr.contains("panicked"), "{ended:?}");
}

#[test]
fn foreign_text_cannot_drive_a_terminal() {
    let ground = Ground::new();
    let odd = ground.path().join("a\u{1b}[2J\nb");
    fs::write(&odd, "#!/bin/sh\necho $$ >\"$D/started\"; exec sleep 3600\n").unwrap();
    fs::set_permissions(&odd, fs::Permissions::from_mode(0o755)).unwrap();
    let _leader = ground.job().arg(&odd).spawn();
    ground.said("started");
    for form in ["table", "json", "yaml"] {
        let shown = ground.elect("status").args(["-o", form]).run().exits(0).stdout;
        assert!(!shown.contains('\u{1b}'), "{form}: {shown:?}");
    }
    let command = elect_api::text::escape(&odd.display().to_string());
    assert_eq!(ground.status()["leader"]["command"], command);
    let table = ground.elect("status").run().stdout;
    assert_eq!(table.lines().count(), 3, "{table}");
}

/// A stopped candidate is not shown as if it were well.
#[test]
fn a_stopped_candidate_is_shown_as_stopped() {
    let ground = Ground::new();
    let mut leader = ground.job().args(["--id", "first"]).sh(crate::usage::STAY).spawn();
    ground.said("started");
    let mut second = ground.job().args(["--id", "second", "true"]).spawn();
    ground.awaits(1);
    let table = || ground.elect("status").arg("job").run().exits(0).stdout;
    assert!(!table().contains("SUSPICION") && !table().contains("stopped"), "{}", table());
    let is_stopped = |words: [&str; 2]| {
        let line =
            |words: &&str| table().lines().any(|it| it.contains(words) && it.contains("stopped"));
        let status = ground.status();
        let told = [&status["leader"]["stopped"], &status["waiting"][0]["stopped"]];
        words.iter().map(line).eq(told.map(|it| it == true)).then(|| told.map(|it| it == true))
    };
    let seen = || is_stopped(["first-", "second-"]).expect("table and JSON agree");
    assert_eq!(seen(), [false, false]);
    let stop = |running: &mut Running| {
        running.signal(Signal::SIGSTOP);
        let pid = running.pid();
        eventually("it to be stopped", || (state(pid) == Some('T')).then_some(()));
    };
    stop(&mut leader);
    assert_eq!(seen(), [true, false]);
    let way_out = format!("its process is stopped: `kill -CONT {}` on ", leader.pid());
    ground.elect("status").run().exits(0).says("first-").says(" leads job, and ").says(&way_out);
    ground.job().args(["-n", "true"]).run().exits(75).says("; its process is stopped");
    stop(&mut second);
    assert_eq!(seen(), [true, true]);
    for running in [&mut leader, &mut second] {
        running.signal(Signal::SIGCONT);
    }
    eventually("them to go on", || (seen() == [false, false]).then_some(()));
}

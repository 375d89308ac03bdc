//! The details of a key: the candidate that did it, the time, the outcome, and changes that people make.

use serde_json::Value;

use super::{BRIEF, STAY, Scene, on_every_store, was_done_already};

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

fn a_done_key_shows_host_time_and_exit_code(scene: &Scene) {
    scene.once("today").sh("sleep 0.2; exit 3").run().exits(3);
    scene.once("today").args(["--id", "web3"]).sh("sleep 0.2").run().exits(0);
    let key = scene.key("today");
    let host = nix::unistd::gethostname().expect("a name").to_string_lossy().into_owned();
    assert_eq!(
        (&key["done"], &key["by_hand"], &key["exit_code"]),
        (&true.into(), &false.into(), &0.into())
    );
    assert_eq!(key["host"], *host);
    assert!(key["id"].as_str().is_some_and(|id| id.starts_with("web3-")), "{key}");
    assert!(key["took_ms"].as_u64().is_some_and(|took| (200..20_000).contains(&took)), "{key}");
    let table = scene.elect("done").arg("nightly").run().exits(0).stdout;
    let row = table.lines().nth(2).expect("a row");
    assert!(row.starts_with("today  done    web3-") && row.ends_with("  0"), "{table}");

    let known = json(&scene.elect("history").args(["-o", "json", "nightly"]).run().exits(0).stdout);
    let [failed, done] = [&known["leaderships"][0], &known["leaderships"][1]];
    assert_eq!((&failed["key"], &failed["exit_code"]), (&"today".into(), &3.into()), "{known}");
    assert_eq!(
        (&done["key"], &done["exit_code"], &done["took_ms"]),
        (&"today".into(), &0.into(), &key["took_ms"])
    );
    let status = json(&scene.elect("status").args(["-o", "json", "nightly"]).run().exits(1).stdout);
    assert_eq!(&status["elections"][0]["last"], done);
    let table = scene.elect("status").arg("nightly").run().exits(1).stdout;
    assert!(table.contains("  last: web3, ") && table.contains(", exit 0, key today"), "{table}");
}

/// Also without `--once-attempts`: a night on which the run failed differs from a night without a run.
fn runs_that_failed_are_told_of(scene: &Scene) {
    let shown = |key: &str| scene.elect("done").args(["nightly", key]).run();
    for code in ["3", "4"] {
        let run = scene.once("today").args(["--id", "web3"]).sh(&format!("exit {code}"));
        run.run().exits(code.parse().expect("a code"));
    }
    let key = scene.key("today");
    assert_eq!((&key["done"], &key["exit_code"]), (&false.into(), &4.into()), "{key}");
    assert_eq!(
        (&key["failed"][0]["exit_code"], &key["host"]),
        (&3.into(), &"web3".into()),
        "{key}"
    );
    assert!(key["failed"][1].is_null() && key["start"].is_string(), "{key}");
    let told = shown("today").exits(1).is_quiet().stdout;
    let rows: Vec<_> = told.lines().skip(2).collect();
    assert!(rows[0].starts_with("today  not done  web3-") && rows[0].ends_with("  4"), "{told}");
    assert!(rows[1].starts_with("today  failed    web3-") && rows[1].ends_with("  3"), "{told}");
    let undone = scene.elect("done").args(["nightly", "today", "--undo"]).run().exits(1);
    undone.says("so the next run with it runs");
    scene.once("today").arg("true").run().exits(0);
    let told = shown("today").exits(0).stdout;
    let states: Vec<_> = told.lines().skip(2).filter_map(|row| row.split("  ").nth(1)).collect();
    assert_eq!(states, ["done", "failed", "failed"], "{told}");
}

fn a_key_that_is_undone_is_done_again(scene: &Scene) {
    let done = |args: &[&str]| scene.elect("done").arg("nightly").args(args).run();
    done(&["today"]).exits(1).says("no election nightly at ");
    done(&["today", "--undo"]).exits(1).says("nothing to undo").says("no election nightly at ");
    for host in ["a", "b"] {
        scene.once("today").sh(BRIEF).arg(host).run().exits(0);
        was_done_already(scene.once("today").sh(BRIEF).arg("c").run());
        done(&["today"]).exits(0);
        done(&["today", "--undo"]).exits(0);
        done(&["today"]).exits(1);
    }
    assert_eq!(scene.word(), "a\nb\n");
    let states = || {
        let told = done(&[]).exits(0).stdout;
        let states = told.lines().skip(2).filter_map(|row| row.split("  ").nth(1));
        states.map(ToOwned::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(states(), ["not done", "undone", "undone"]);
    scene.once("today").arg("true").run().exits(0);
    assert_eq!(states(), ["done", "undone", "undone"]);
    let key = scene.key("today");
    assert_eq!((&key["failed"], key["undone"].as_array().map(Vec::len)), (&Value::Null, Some(2)));
    done(&["today", "--undo"]).exits(0);
    // No candidate is left in the election, and the history shows no leadership that did not exist.
    scene.elect("status").arg("nightly").run().exits(1);
    let known = json(&scene.elect("history").args(["-o", "json", "nightly"]).run().exits(0).stdout);
    assert!(!known.to_string().contains("elect-done"), "{known}");
}

fn a_key_recorded_by_hand_is_not_run(scene: &Scene) {
    let record =
        || scene.elect("done").args(["nightly", "today", "--record"]).run().exits(0).stdout;
    scene.once("yesterday").arg("true").run().exits(0);
    assert_eq!(record(), "nightly: the key today is recorded as done\n");
    assert_eq!(record(), "nightly: the key today is done already\n");
    was_done_already(scene.once("today").sh(BRIEF).arg("a").run());
    assert_eq!(scene.word(), "");
    let key = scene.key("today");
    assert_eq!(
        (&key["done"], &key["by_hand"], &key["took_ms"]),
        (&true.into(), &true.into(), &Value::Null)
    );
    assert!(key["id"].as_str().is_some_and(|id| id.contains('@')), "{key}");
    scene.elect("pause").arg("nightly").run().exits(0);
    scene.elect("done").args(["nightly", "today", "--undo"]).run().exits(0);
}

/// A record stays under its name for good, also under a misspelt one.
fn nothing_is_recorded_under_an_unknown_name(scene: &Scene) {
    scene.once("monday").arg("true").run().exits(0);
    let record = |more: &[&str]| {
        let elect = scene.elect("done").args(["nigthly", "today", "--record"]);
        elect.args(more).run()
    };
    let refused = record(&[]).exits(125).prints("").says("no election nigthly at ");
    refused.says("did you mean nightly? --create records the key all the same");
    let names = scene.elect("status").args(["-o", "json"]).run().exits(0).stdout;
    assert!(!names.contains("nigthly"), "{names}");
    record(&["--create"]).exits(0).prints("nigthly: the key today is recorded as done\n");
    record(&[]).exits(0).prints("nigthly: the key today is done already\n");
}

/// It writes all that is done when it ends.
fn nothing_is_changed_while_a_candidate_leads(scene: &Scene) {
    scene.once("yesterday").arg("true").run().exits(0);
    let leader = scene.once("today").sh(STAY).arg("a").spawn();
    scene.awaits("a\n");
    let undo = || scene.elect("done").args(["nightly", "yesterday", "--undo"]);
    undo().args(["--timeout", "500ms"]).run().exits(75).says("nothing is changed");
    was_done_already(scene.once("yesterday").arg("true").run());
    let undoing = undo().spawn();
    scene.awaits_line(1);
    scene.raise("end");
    leader.wait().exits(0);
    undoing.wait().exits(0).says(" leads, and only a leader may write: waiting until it ends");
    scene.elect("done").args(["nightly", "yesterday"]).run().exits(1);
    scene.elect("done").args(["nightly", "today"]).run().exits(0);
}

on_every_store! {
    a_done_key_shows_host_time_and_exit_code
    runs_that_failed_are_told_of
    a_key_that_is_undone_is_done_again
    a_key_recorded_by_hand_is_not_run
    nothing_is_recorded_under_an_unknown_name
    nothing_is_changed_while_a_candidate_leads
}

/// Releases of elect share elections with each other: what is done is what it always was.
#[test]
fn the_cell_of_done_keys_keeps_its_bytes() {
    let scene = Scene::new(None);
    scene.once("a").args(["--once-attempts", "2", "true"]).run().exits(0);
    scene.once("b").arg("true").run().exits(0);
    scene.elect("done").args(["nightly", "c", "--record"]).run().exits(0);
    scene.elect("done").args(["nightly", "a", "--undo"]).run().exits(0);
    let cell = std::fs::read_to_string(scene.folder.path().join("state/nightly/note-once"));
    assert_eq!(cell.expect("a cell"), r#"{"done":["b","c"]}"#);
}

#[test]
fn a_change_is_of_one_key() {
    let done = |args: &[&str]| Scene::new(None).elect("done").arg("nightly").args(args).run();
    done(&["--undo"]).exits(125).says("--undo requires KEY");
    done(&["--record"]).exits(125).says("--record requires KEY");
    done(&["a", "--undo", "--record"])
        .exits(125)
        .says("--undo and --record exclude each other; remove one of them");
}

#[test]
fn a_period_is_no_key() {
    let scene = Scene::new(None);
    scene.once("today").arg("true").run().exits(0);
    let done = |key: &str| scene.elect("done").args(["nightly", key]).run().exits(1);
    done("day@02:40").says("day@02:40 is a period: its keys look like 20");
    assert!(!done("tomorrow").stderr.contains("period"));
}

#[test]
fn an_interrupted_change_leaves_no_place_behind() {
    let scene = Scene::new(None);
    let leader = scene.once("today").sh(STAY).arg("a").spawn();
    scene.awaits("a\n");
    let waiter = scene.elect("done").args(["nightly", "x", "--record"]).spawn();
    scene.awaits_line(1);
    waiter.ended_by(nix::sys::signal::Signal::SIGTERM).exits(143);
    scene.awaits_line(0);
    scene.raise("end");
    leader.wait().exits(0);
    scene.elect("done").args(["nightly", "x"]).run().exits(1);
}
